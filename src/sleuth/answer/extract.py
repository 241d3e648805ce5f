"""Scores the parts of passages as answers to a question.

Measured by `benchmarks/answers.py`; the table is in `docs/measured/answers.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import add, attrgetter
from typing import NamedTuple

from sleuth.answer.parts import Part, answer_parts, code_part
from sleuth.answer.questions import ENTRIES, QuestionType, holds_polarity, question_type, suits
from sleuth.answer.words import Analyze, language_of, page_of, plain_words, readable, terms_by_text
from sleuth.protocols import Embedder
from sleuth.types import RetrievedItem

NEAR = 0.25
"""Cosine from which on a sentence may answer without sharing a word with the question: with WordLlama, 19 of
20 evidence sentences of Climate-FEVER lie above it, and every sentence about climate lies below it for a
question about bread.
"""


_PROSE = frozenset({"asciidoc", "markdown", "org", "rst", "text"})
"""Languages of files in a repository that are written for people."""
_IDENTIFIER = re.compile(r"\b\w+(?:[._]|::|[a-z](?=[A-Z]))[\w.:]*\w")
"""Words that only code has: `Flask.run`, `url_for`, `errorHandler`."""
REFERS = re.compile(r"(?:Both|He|It|Its|She|That|Their|Then|These|They|This|Those)\b")
"""How a sentence begins that says something of the one before it."""


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
            best sentence; definitions and options count `entry` instead.
        entry: the same for a sentence that defines the subject of the question, or the entry of an option.
        polarity: what a part loses that says the contrary of the question, in scores of the best sentence.
        context: what a word of the question is worth, in its idf, that is not in a part but in the heading above it, or
            in the sentence before it, if the part is code or refers to that sentence ("It", "This").
        heading: what a part is worth below a heading that asks the same as the question, in scores of the best
            sentence; less, the fewer words both have in common.
        page: the same for a word that only the title of the page or the headings around the passage hold.
        named: what a definition is worth whose name the question writes out, in scores of the best sentence.
    """

    k1: float = 1.2
    b: float = 0.75
    passage: float = 1.2
    pairs: float = 0.3
    meaning: float = 0.5
    form: float = 0.3
    entry: float = 1.0
    polarity: float = 1.0
    context: float = 0.42
    heading: float = 0.6
    page: float = 0.2
    named: float = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of a passage, mostly a sentence, as an answer to a question.

    Attributes:
        item: its passage, by place in the ranking, from 0.
        part: what it says, and where in the passage.
        score: higher is better.
        matches: terms of the question that it holds.
        terms: all terms that it is scored by: of code, those of its first line.
        parts: all parts of its passage, in order.
        language: of its passage, an ISO 639-1 code; "" for English.
        meaning: cosine with the question, -1 to 1; 0 without an embedder.
        form: how far it has the form that the question asks for, 0 to 1.
    """

    item: int
    part: Part
    score: float
    matches: frozenset[str]
    terms: frozenset[str]
    parts: Sequence[Part] = field(repr=False, compare=False)
    language: str = ""
    meaning: float = 0.0
    form: float = 0.0

    @property
    def text(self) -> str:
        """What it says, without markup."""
        return self.part.text


def score_sentences(
    question: str,
    items: Sequence[RetrievedItem],
    *,
    analyze: Analyze = plain_words,
    embedder: Embedder | None = None,
    weights: Weights | None = None,
) -> list[Sentence]:
    """Return the sentences of `items`, best first; equal ones in their order.

    Only those that share a word with the question, or whose meaning is near it; no code.

    Args:
        items: passages, best first.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: scores the meaning of sentences beside their words. It embeds every sentence, so use a local one.
    """
    use = weights or Weights()
    kind = question_type(question)
    parts = _candidates(items, kind)
    # Code that follows a colon is judged by the sentence above it.
    texts = [part.text.split("\n", 1)[0] if part.kind == "code" else part.text for _, part, _, _ in parts]
    around = (text for candidate in parts for text in (candidate.page, candidate.part.heading))
    terms_of = terms_by_text((question, *texts, *around), analyze)
    terms, question_terms = [terms_of[text] for text in texts], terms_of[question]
    terms_asked = frozenset(question_terms)
    counts_asked = Counter(question_terms)
    n_sentences = len(terms)
    df: Counter[str] = Counter()
    for sentence_terms in terms:
        df.update(counts_asked.keys() & set(sentence_terms))
    idf = {term: math.log(1 + (n_sentences - df[term] + 0.5) / (df[term] + 0.5)) for term in counts_asked}
    context = _score_context(parts, terms, idf, terms_of, use)
    words = list(map(add, score_words(question_terms, terms, idf, use), context))
    best = max(words, default=0.0) or 1.0
    prior = passage_priors(items)
    meaning = cosines(embedder, question, texts) if embedder is not None else [0.0] * len(texts)
    # A question may write out a definition, also beginning with a step of its file or class, as "textwrap.wrap" does.
    names = [re.split(r"\.|::", name.rstrip(".:")) for name in _IDENTIFIER.findall(question)]
    is_named = [bool(names) and _is_named(item, names) for item in items]
    headings = {
        part.heading: _overlap(terms_asked, frozenset(terms_of[part.heading])) for _, part, _, _ in parts
    }
    sentences: list[Sentence] = []
    for number, (place, part, siblings, _) in enumerate(parts):
        if words[number] <= 0 and meaning[number] < NEAR:
            continue
        form = max(suits(kind, part, question), float(kind == "definition" and is_named[place]))
        extra = (
            use.passage * prior[place]
            + use.meaning * meaning[number]
            + (use.entry if kind in ENTRIES else use.form) * form
            + use.named * is_named[place]
            + use.heading * headings[part.heading]
            - use.polarity * (not holds_polarity(question, part.text))
        )
        score, bag = words[number] + best * extra, frozenset(terms[number])
        language = language_of(items[place])
        sentences.append(
            Sentence(place, part, score, bag & terms_asked, bag, siblings, language, meaning[number], form)
        )
    sentences.sort(key=attrgetter("item", "part.start"))
    return sorted(sentences, key=attrgetter("score"), reverse=True)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of terms, 0 to 1."""
    return len(one & other) / len(one | other) if one and other else 0.0


class _Candidate(NamedTuple):
    """A part that may answer: the place of its passage, all parts of that, and its title and headings."""

    place: int
    part: Part
    siblings: Sequence[Part]
    page: str


def _candidates(items: Sequence[RetrievedItem], kind: QuestionType) -> list[_Candidate]:
    """Return the parts of passages that may answer such a question; of the pieces of one definition the first."""
    definitions = set()
    candidates: list[_Candidate] = []
    for place, item in enumerate(items):
        parts, page = parts_of(item), page_of(item)
        for full_part in parts:
            if full_part.kind == "definition":
                definition = (item.metadata.get("source"), full_part.text)
                if definition in definitions:
                    continue
                definitions.add(definition)
            part = _without_code(full_part) if full_part.kind == "code" and kind != "steps" else full_part
            if part is not None:
                candidates.append(_Candidate(place, part, parts, page))
    return candidates


def _without_code(part: Part) -> Part | None:
    """Return the sentence before code, if it is whole."""
    sentence = part.text.partition("\n")[0]
    return replace(part, text=sentence, kind="sentence") if sentence.endswith((".", "!")) else None


def _score_context(
    parts: Sequence[_Candidate],
    terms: Sequence[Sequence[str]],
    idf: Mapping[str, float],
    terms_of: Mapping[str, Sequence[str]],
    use: Weights,
) -> list[float]:
    """Return for each part the weight of the terms next to it and of those of its page.

    A term counts once, at its nearest place.
    """
    scores: list[float] = []
    terms_before, last_place = frozenset[str](), -1
    for (place, part, _, page), part_terms in zip(parts, map(frozenset, terms), strict=True):
        nearby_terms = frozenset(terms_of[part.heading])
        if last_place == place and (part.kind == "code" or REFERS.match(part.text)):
            nearby_terms |= terms_before
        around = sum(map(idf.__getitem__, idf.keys() & nearby_terms - part_terms))
        beyond = sum(map(idf.__getitem__, idf.keys() & frozenset(terms_of[page]) - nearby_terms - part_terms))
        scores.append(use.context * around + use.page * beyond)
        terms_before, last_place = part_terms, place
    return scores


def parts_of(item: RetrievedItem) -> list[Part]:
    """Return the parts of a passage; a piece of code is one part at most, prose among code is read as prose."""
    if item.metadata.get("source_type") != "code" or item.metadata.get("language") in _PROSE:
        return answer_parts(item.text)
    part = code_part(item.text, *(str(item.metadata.get(key) or "") for key in ("signature", "doc")))
    return [replace(part, heading=readable(item)[0])] if part.text else []


def _is_named(item: RetrievedItem, names: Sequence[Sequence[str]]) -> bool:
    """Return whether a name in the question is the name of the passage's definition.

    It must end with the same last part, and its other parts must occur in order in the path and symbol: `Flask.run`
    for `run` of class `Flask`.

    Args:
        names: names in the question, each as its parts.
    """
    symbol = str(item.metadata.get("symbol") or "")
    if not symbol:
        return False
    path = re.findall(r"\w+", str(item.metadata.get("path") or ""))
    # Without the file's extension.
    steps = [*path[:-1], *symbol.split(".")]
    return any(name[-1] == steps[-1] and _are_in_order(name, steps) for name in names)


def _are_in_order(name: Sequence[str], steps: Sequence[str]) -> bool:
    unread_steps = iter(steps)
    return all(step in unread_steps for step in name)


def score_words(
    question_terms: Sequence[str], terms: Sequence[Sequence[str]], idf: Mapping[str, float], use: Weights
) -> list[float]:
    """BM25 of each sentence over all of them, and its pairs of words.

    Args:
        question_terms: terms of the question.
        terms: terms of each sentence.
        idf: of the terms of the question among the sentences.
    """
    question_counts = Counter(question_terms)
    pairs = {(a, b): (idf[a] + idf[b]) / 2 for a, b in pairwise(question_terms)}
    mean = (sum(map(len, terms)) / len(terms) if terms else 0.0) or 1.0
    scores: list[float] = []
    for sentence_terms in terms:
        norm = use.k1 * (1 - use.b + use.b * len(sentence_terms) / mean)
        score = 0.0
        for term, count in Counter(sentence_terms).items():
            if term in idf:
                score += idf[term] * question_counts[term] * count / (count + norm)
        shared = pairs.keys() & set(pairwise(sentence_terms))
        scores.append(score + use.pairs * sum(map(pairs.__getitem__, sorted(shared))))
    return scores


def cosines(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    """Cosine of each text's vector with the question's, -1 to 1; 0 for a vector of length 0."""
    from sleuth.vectors import unit_query, unit_vectors

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
