"""Choose the parts of passages that answer a question best.

Measured by `benchmarks/sentence_choice.py` and `benchmarks/answers.py`; the tables are in `docs/answers.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from sleuth.answer.evidence import readable
from sleuth.answer.meaning import unit_query, unit_vectors
from sleuth.answer.names import names_of
from sleuth.answer.parts import Kind, Part, answer_parts, code_part
from sleuth.answer.questions import question_type, suits
from sleuth.protocols import Embedder
from sleuth.types import RetrievedItem

Analyze = Callable[[str], Sequence[str]]

NEAR = 0.25
"""Cosine from which on a sentence may answer without sharing a word with the question: with WordLlama, 19 of
20 evidence sentences of Climate-FEVER lie above it, and every sentence about climate lies below it for a
question about bread.
"""


_PROSE = frozenset({"asciidoc", "markdown", "org", "rst", "text"})
"""Languages of files in a repository that are written for people."""
_NUMBER = re.compile(r"[-+]?\d[\d.,:]*(?:\s?(?:%|[kKMGT]i?B?\b|ms\b|s\b|[a-zA-Z]{1,12}\b))?")
_UNIT = re.compile(r"(?<=\d)\s*(?=[a-z%])")
_FULL_NAME = re.compile(r"\b[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)+|(?<![.!?:] )(?<!^)\b[A-Z][\w'-]+")
"""Names of several words, also where a sentence begins, and of one word inside it."""
_IDENTIFIER = re.compile(r"\b\w+(?:[._]|::|[a-z](?=[A-Z]))[\w.:]*\w")
"""Words that only code has: `Flask.run`, `url_for`, `errorHandler`."""
_REFERS = re.compile(r"(?:Both|He|It|Its|She|That|Their|Then|These|They|This|Those)\b")
"""How a sentence begins that says something of the one before it."""
_NEGATION = re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot|nothing)\b|n't\b", re.IGNORECASE)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case; characters of scripts without spaces one by one."""
    return re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+",
        text.casefold(),
    )


@dataclass(frozen=True, slots=True)
class Weights:
    """How the score of a sentence is made up.

    Attributes:
        k1, b: BM25's, over the sentences of all passages (Robertson and Zaragoza, 2009).
        passage: what the best passage's rank is worth, in scores of the best sentence.
        pairs: what two words that follow each other in the question too are worth, in their mean idf.
        meaning: what a cosine of 1 with the question is worth, in scores of the best sentence, where there is
            an embedder.
        form: what a part is worth that has the form which the question asks for (`questions.py`), in scores of the
            best sentence.
        context: what a word of the question is worth, in its idf, that is not in a part but in the heading above it, or
            in the sentence before it, if the part is code or refers to that sentence ("It", "This").
        named: what a definition is worth whose name the question writes out, in scores of the best sentence.
    """

    k1: float = 1.2
    b: float = 0.75
    passage: float = 1.0
    pairs: float = 0.3
    meaning: float = 1.0
    form: float = 0.15
    context: float = 0.42
    named: float = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of a passage, a sentence for the most, and where it stands.

    Attributes:
        item: its passage, by place in the ranking, from 0.
        start, end: characters in the passage's text, half open.
        text: what it says, without markup.
        score: higher is better.
        matches: terms of the question that it holds.
        kind: what it is.
        language: of its passage, an ISO 639-1 code; "" for English.
    """

    item: int
    start: int
    end: int
    text: str
    score: float
    matches: frozenset[str]
    kind: Kind = "sentence"
    language: str = ""


def score_sentences(
    question: str,
    items: Sequence[RetrievedItem],
    *,
    analyze: Analyze = plain_words,
    embedder: Embedder | None = None,
    weights: Weights | None = None,
) -> list[Sentence]:
    """Return the sentences of `items`, best first; equal ones as they stand.

    Only those that share a word with the question, or whose meaning is near it; no code.

    Args:
        items: passages, best first.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: adds what the sentences mean to which words they hold; one vector per sentence, so a local
            one.
    """
    use = weights or Weights()
    kind = question_type(question)
    parts = [(place, part) for place, part in _all_parts(items) if part.kind != "code" or kind == "steps"]
    # Code that follows a colon answers by what is said above it.
    texts = [part.text.split("\n", 1)[0] if part.kind == "code" else part.text for _, part in parts]
    terms = [list(analyze(text)) for text in texts]
    question_terms = list(analyze(question))
    words = [
        own + use.context * around
        for own, around in zip(
            score_words(question_terms, terms, use),
            _context(question_terms, parts, terms, analyze),
            strict=True,
        )
    ]
    best = max(words, default=0.0) or 1.0
    prior = passage_priors(items)
    meaning = cosines(embedder, question, texts) if embedder is not None else [0.0] * len(texts)
    names = {name.rstrip(".:") for name in _IDENTIFIER.findall(question)}
    is_named = [_is_named(item, names) for item in items]

    def score(number: int, place: int, part: Part) -> float:
        extra = (
            use.passage * prior[place]
            + use.meaning * meaning[number]
            + use.form * suits(kind, part, question)
            + use.named * is_named[place]
        )
        return words[number] + best * extra

    ranked = [
        Sentence(
            place,
            part.start,
            part.end,
            part.text,
            score(number, place, part),
            frozenset(question_terms) & frozenset(terms[number]),
            part.kind,
            str(items[place].metadata.get("language") or ""),
        )
        for number, (place, part) in enumerate(parts)
        if words[number] > 0 or meaning[number] >= NEAR
    ]
    return sorted(ranked, key=lambda sentence: (-sentence.score, sentence.item, sentence.start))


def _context(
    question_terms: Sequence[str],
    parts: Sequence[tuple[int, Part]],
    terms: Sequence[Sequence[str]],
    analyze: Analyze,
) -> list[float]:
    """Return for each part the idf of the question's words that stand around it, and not in it."""
    wanted = Counter(question_terms)
    idf = _idf(wanted, terms)
    sums: list[float] = []
    before, last = frozenset[str](), -1
    for (place, part), own in zip(parts, map(frozenset, terms), strict=True):
        around = set(analyze(part.heading))
        if last == place and (part.kind == "code" or _REFERS.match(part.text)):
            around |= before
        sums.append(sum(idf[term] for term in (around & wanted.keys()) - own))
        before, last = own, place
    return sums


def _all_parts(items: Sequence[RetrievedItem]) -> Iterator[tuple[int, Part]]:
    """Yield the parts of passages, each with the place of its passage; of the pieces of one definition the first."""
    seen = set()
    for place, item in enumerate(items):
        for part in _parts(item):
            definition = (item.metadata.get("source"), part.text)
            if part.kind == "definition":
                if definition in seen:
                    continue
                seen.add(definition)
            yield place, part


def _parts(item: RetrievedItem) -> list[Part]:
    """Return the parts of a passage; a piece of code is one part at most, prose among code is read as prose."""
    if item.metadata.get("source_type") != "code" or item.metadata.get("language") in _PROSE:
        return answer_parts(item.text)
    part = code_part(item.text, *(str(item.metadata.get(key) or "") for key in ("signature", "doc")))
    return [replace(part, heading=readable(item)[0])] if part.text else []


def _is_named(item: RetrievedItem, names: Set[str]) -> bool:
    """Return whether a passage is a definition with one of these names, or with the last steps of its own."""
    symbol = str(item.metadata.get("symbol") or "")
    return bool(symbol) and any(f".{symbol}".endswith(f".{name}") for name in names)


def score_words(question_terms: Sequence[str], terms: Sequence[Sequence[str]], use: Weights) -> list[float]:
    """BM25 of each sentence over all of them, and its pairs of words.

    Args:
        asked: terms of the question.
        terms: terms of each sentence.
    """
    question_counts = Counter(question_terms)
    idf = _idf(question_counts, terms)
    pairs = set(pairwise(question_terms))
    mean = (sum(map(len, terms)) / len(terms) if terms else 0.0) or 1.0
    return [
        _bm25(sentence_terms, question_counts, idf, mean, use)
        + use.pairs * _pairs(sentence_terms, pairs, idf)
        for sentence_terms in terms
    ]


def cosines(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    """Cosine of each text's vector with the question's, -1 to 1; 0 for a vector of length 0."""
    if not texts:
        return []
    values: list[float] = (unit_vectors(embedder, list(texts)) @ unit_query(embedder, question)).tolist()
    return values


def passage_priors(items: Sequence[RetrievedItem]) -> list[float]:
    """Return the worth of each passage's rank, 1 for the best: its score between the lowest and the highest.

    Where a retriever gives no scores, or equal ones, evenly down from 1.
    """
    scores = [item.score for item in items if item.score is not None]
    if len(scores) == len(items) and scores and max(scores) > min(scores):
        low, high = min(scores), max(scores)
        return [(score - low) / (high - low) for score in scores]
    return [1 - place / len(items) for place in range(len(items))]


SHARE = 0.7
"""Of the best part's score that a further part needs to be quoted. On the questions about Python's reference, no answer
is lost from .6 to .9, and quotes get an eighth shorter at .7.
"""


CONFLICT = 0.3
"""Of the best part's score that a part needs to contradict a statement in other words."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A chosen part, and the parts that say the same or contradict it.

    Attributes:
        sentence: the part as it is quoted.
        agreeing: parts of other passages that say the same, down to every number, negation and name.
        differing: parts that use mostly the same words and differ in a number, a negation or a name.
    """

    sentence: Sentence
    agreeing: tuple[Sentence, ...] = ()
    differing: tuple[Sentence, ...] = ()


def choose(sentences: Sequence[Sentence], count: int, *, analyze: Analyze = plain_words) -> list[Statement]:
    """Return up to `count` of the best parts as statements; a part that repeats or contradicts a better one joins it.

    Args:
        sentences: best first. Those below `SHARE` of the best score, or with less than half as many words of the
            question, are no statements of their own.
    """
    best = sentences[0].score if sentences else 0.0
    fewest = len(sentences[0].matches) / 2 if sentences else 0.0
    chosen: list[Statement] = []
    seen: list[frozenset[str]] = []
    for sentence in sentences:
        own = frozenset(analyze(sentence.text))
        for place, statement in enumerate(chosen):
            joined = _joined(statement, sentence, analyze, repeats=_is_repeat(own, seen[place]), best=best)
            if joined is not None:
                chosen[place] = joined
                break
        else:
            if len(chosen) < count and sentence.score >= SHARE * best and len(sentence.matches) >= fewest:
                chosen.append(Statement(sentence))
                seen.append(own)
    return chosen


def _is_repeat(own: frozenset[str], other: frozenset[str]) -> bool:
    return len(own & other) > 0.7 * min(len(own), len(other))


def _joined(
    statement: Statement, sentence: Sentence, analyze: Analyze, *, repeats: bool, best: float
) -> Statement | None:
    """Return the statement with a part that says the same or differs; None if the part is about something else.

    What overlaps in one passage is dropped.

    Args:
        repeats: whether the part has most words of the statement.
        best: score of the best part.
    """
    first = statement.sentence
    if sentence.item == first.item:
        return statement if repeats else None
    if repeats and claims(sentence.text, sentence.language) == claims(first.text, first.language):
        return replace(statement, agreeing=(*statement.agreeing, sentence))
    if sentence.kind == "definition" or 2 * len(sentence.matches & first.matches) < max(
        len(first.matches), 1
    ):
        return None  # two definitions of one name are two things
    differs = _same_shape(sentence.text, first.text, analyze)
    if differs or (sentence.score >= CONFLICT * best and _contradicts(sentence.text, first.text, analyze)):
        return replace(statement, differing=(*statement.differing, sentence))
    return None


def _contradicts(text: str, other: str, analyze: Analyze) -> bool:
    """Return whether two texts each give one number, of the same unit and not the same."""
    amounts, others = _amounts(text), _amounts(other)
    if len(amounts) != 1 or len(others) != 1:
        return False
    (amount,), (against,) = amounts, others
    return amount.unit == against.unit and bool(analyze(amount.unit)) and amount.value != against.value


class _Amount(NamedTuple):
    """A number as it is written, and the word after it; "" for none."""

    value: str
    unit: str


def _amounts(text: str) -> list[_Amount]:
    pieces = (_UNIT.split(number.strip().casefold(), maxsplit=1) for number in _NUMBER.findall(text))
    return [_Amount(value.rstrip(".,: "), "".join(unit)) for value, *unit in pieces]


def claims(text: str, language: str = "") -> frozenset[str]:
    """Return what two texts must share to say the same: numbers with their units, negations and names.

    Args:
        language: ISO 639-1 code; "" for English.
    """
    numbers = {"".join(number.split()).casefold() for number in _NUMBER.findall(text)}
    negations = {"not" for _ in _NEGATION.findall(text)}
    names = {name.casefold() for name in names_of(text, language)}
    return frozenset(numbers | negations | names)


def _same_shape(a: str, b: str, analyze: Analyze) -> bool:
    """Return whether two sentences say the same thing but for their claims: the words around those agree."""
    rest_a, rest_b = (
        frozenset(analyze(_NUMBER.sub(" ", _NEGATION.sub(" ", _FULL_NAME.sub(" ", text))))) for text in (a, b)
    )
    return len(rest_a & rest_b) >= 0.8 * max(len(rest_a), len(rest_b), 1)


def _idf(question_terms: Counter[str], terms: Sequence[Sequence[str]]) -> dict[str, float]:
    n = len(terms)
    df = Counter(term for sentence_terms in terms for term in set(sentence_terms) & question_terms.keys())
    return {term: math.log(1 + (n - df[term] + 0.5) / (df[term] + 0.5)) for term in question_terms}


def _bm25(
    sentence_terms: Sequence[str],
    question_counts: Counter[str],
    idf: dict[str, float],
    mean: float,
    use: Weights,
) -> float:
    tf = Counter(term for term in sentence_terms if term in question_counts)
    norm = use.k1 * (1 - use.b + use.b * len(sentence_terms) / mean)
    return sum(idf[term] * question_counts[term] * count / (count + norm) for term, count in tf.items())


def _pairs(
    sentence_terms: Sequence[str], question_pairs: set[tuple[str, str]], idf: dict[str, float]
) -> float:
    shared = set(pairwise(sentence_terms)) & question_pairs
    return sum((idf[a] + idf[b]) / 2 for a, b in shared)
