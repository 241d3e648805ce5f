"""Evidence: how well passages cover a question, so that an answer can be declined.

Measured by `benchmarks/answers.py`; the table is in `docs/answers.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq

from sleuth.answer.meaning import ask, unit_query, unit_vectors
from sleuth.answer.names import names_and_numbers_of
from sleuth.answer.sentences import split_sentences
from sleuth.protocols import Embedder
from sleuth.types import RetrievedItem

Analyze = Callable[[str], Sequence[str]]
Rarity = Callable[[Iterable[str]], Mapping[str, float]]
"""Terms to what each is worth: its idf in the corpus, the largest for a term that the corpus does not hold."""

RELATED = 0.2
"""Cosine of two words below which they have nothing to do with each other, in WordLlama's vectors."""

STEM = 4
"""First letters that two forms of a word share at least."""

ALIKE = 0.6
"""Share of the letters of two words that they begin with together, from which they count as forms of one word."""

RIVALS = 3
"""Passages with which the best one is compared."""

_IDENTIFIER = re.compile(r"([a-z0-9])(?=[A-Z])|(?<![_./])[_./]+(?=\w)")
"""Where the words of an identifier or a path meet."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best passage as an answer. Each value lies in 0 to 1.

    Attributes:
        passage: share of the question's words that the passage and its title hold, each weighed by how much it says in
            any corpus, where an embedder has learnt that; else by its idf. A word that is missing counts by its nearest
            word of the passage: in meaning, where an embedder compares words, else by its first letters.
        sentence: the same for the best sentence of the passage, without the title, weighed by idf.
        meaning: cosine of the question with the sentence nearest to it; 0 without an embedder.
        lead: by how much the best passage beats the mean of the next three, as a share of its score, times `passage`:
            in a small corpus, a passage leads that has little to do with the question.
        names: share of the idf of the question's names and numbers that the passage and its title hold as written; 1 if
            it has none. A near word stands for no name: "Germany" does not answer for "France".
    """

    passage: float = 0.0
    sentence: float = 0.0
    meaning: float = 0.0
    lead: float = 0.0
    names: float = 0.0


@dataclass(frozen=True, slots=True)
class Threshold:
    """A logistic model of "the passages answer this question", over `Evidence`.

    Attributes:
        passage, sentence, meaning, lead, names: weight of each value.
        bias: its constant: at a probability of .5, a question is declined.
    """

    passage: float
    sentence: float
    meaning: float
    lead: float
    names: float
    bias: float

    def probability(self, evidence: Evidence) -> float:
        """Return how likely the passages answer the question, 0 to 1."""
        logit = (
            self.bias
            + self.passage * evidence.passage
            + self.sentence * evidence.sentence
            + self.meaning * evidence.meaning
            + self.lead * evidence.lead
            + self.names * evidence.names
        )
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


def weigh_evidence(
    question: str,
    items: Sequence[RetrievedItem],
    *,
    analyze: Analyze,
    rarity: Rarity,
    embedder: Embedder | None = None,
) -> Evidence:
    """Measure how well the best of `items` covers the question.

    Args:
        items: passages, best first.
        analyze: text to terms, as the passages were indexed.
        rarity: idf of terms in the corpus.
        embedder: compares words that differ; a local one, since it sees every word of the passage.
    """
    words = question_words(question, analyze)
    if not items or not words:
        return Evidence()
    idf = rarity(words)
    weights = {term: idf.get(term, 0.0) for term in words}
    total = sum(weights.values()) or 1.0
    heading, text = readable(items[0])
    title = set(analyze(heading))
    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    covers = _coverage(words, sentences, analyze, embedder)
    salience = _salience(words, embedder) or weights
    held = {term: max(float(term in title), *(cover[term] for cover in covers)) for term in words}
    passage = sum(weight * held[term] for term, weight in salience.items()) / (sum(salience.values()) or 1.0)
    sentence = max(sum(weight * cover[term] for term, weight in weights.items()) for cover in covers)
    names = question_names(question, analyze, str(items[0].metadata.get("language") or ""))
    return Evidence(
        passage=passage,
        sentence=sentence / total,
        meaning=_meaning(question, sentences, embedder),
        lead=passage * _lead(items),
        names=_held(names, weights, title.union(*map(analyze, sentences))),
    )


def readable(item: RetrievedItem) -> tuple[str, str]:
    """Return title and text of a passage as words; of code, its path and its text with identifiers cut into words."""
    if item.metadata.get("source_type") != "code":
        return str(item.metadata.get("title") or ""), item.text
    heading = f"{item.metadata.get('path', '')} {item.metadata.get('symbol', '')}"
    heading, words = (_IDENTIFIER.sub(r"\1 ", text) for text in (heading, item.text))
    return heading, f"{item.text}\n\n{words}"


def terms_of(item: RetrievedItem, analyze: Analyze) -> set[str]:
    """Return the terms of a passage and its title."""
    return {term for text in readable(item) for term in analyze(text)}


def question_words(question: str, analyze: Analyze) -> dict[str, str]:
    """Return the terms of a question, each with the word that it comes from; stop words have no terms."""
    words: dict[str, str] = {}
    for word in _WORD.findall(question):
        for term in analyze(word):
            words.setdefault(term, word.lower())
    return words


def question_names(question: str, analyze: Analyze, language: str = "") -> set[str]:
    """Return the terms of a question's names and numbers.

    Args:
        language: ISO 639-1 code of the question; "" for English.
    """
    return {term for name in names_and_numbers_of(question, language) for term in analyze(name)}


def _salience(words: Mapping[str, str], embedder: Embedder | None) -> dict[str, float]:
    """Return how much each word says in any corpus; nothing without an embedder that has learnt it."""
    measure = getattr(embedder, "salience", None)
    if measure is None:
        return {}
    return dict(zip(words, map(float, ask(embedder, measure, list(words.values()))), strict=True))


def _held(terms: set[str], weights: Mapping[str, float], passage: Set[str]) -> float:
    """Return the share of the terms' weight that a passage has; 1 without terms."""
    total = sum(weights.get(term, 0.0) for term in terms)
    return sum(weights.get(term, 0.0) for term in terms & passage) / total if total else 1.0


def _coverage(
    words: Mapping[str, str], sentences: Sequence[str], analyze: Analyze, embedder: Embedder | None
) -> list[dict[str, float]]:
    """Return for each sentence how far it holds each term, 0 to 1."""
    held = [set(analyze(sentence)) for sentence in sentences]
    covers = [{term: 1.0 if term in terms else 0.0 for term in words} for terms in held]
    missing = [term for term in words if not all(term in terms for terms in held)]
    tokens = [list(dict.fromkeys(_WORD.findall(sentence.lower()))) for sentence in sentences]
    if embedder is None:
        for cover, sentence in zip(covers, tokens, strict=True):
            cover |= {term: max(cover[term], _nearest_form(words[term], sentence)) for term in missing}
        return covers
    import numpy as np

    vocabulary = list(dict.fromkeys(token for sentence in tokens for token in sentence))
    if not missing or not vocabulary:
        return covers
    asked = unit_vectors(embedder, [words[term] for term in missing])
    near = asked @ unit_vectors(embedder, vocabulary).T
    near = np.clip((near - RELATED) / (1 - RELATED), 0.0, 1.0)
    column = {token: i for i, token in enumerate(vocabulary)}
    for cover, sentence in zip(covers, tokens, strict=True):
        columns = [column[token] for token in sentence]
        if columns:
            for term, value in zip(missing, near[:, columns].max(axis=1).tolist(), strict=True):
                cover[term] = max(cover[term], value)
    return covers


def _nearest_form(word: str, others: Sequence[str]) -> float:
    """Return how far the nearest of other words may be a form of a word, such as "located" of "location", 0 to 1."""
    forms = (
        2 * sum(takewhile(bool, map(eq, word, other))) / (len(word) + len(other))
        for other in others
        if len(word) >= STEM and other.startswith(word[:STEM])
    )
    nearest = max(forms, default=0.0)
    return nearest if nearest >= ALIKE else 0.0


def _meaning(question: str, sentences: Sequence[str], embedder: Embedder | None) -> float:
    if embedder is None:
        return 0.0
    near = unit_vectors(embedder, list(sentences)) @ unit_query(embedder, question)
    return max(0.0, float(near.max()))


def _lead(items: Sequence[RetrievedItem]) -> float:
    scores = [item.score or 0.0 for item in items[: RIVALS + 1]]
    if scores[0] <= 0:
        return 0.0
    return min(1.0, max(0.0, 1 - sum(scores[1:]) / RIVALS / scores[0]))


WORDS_AND_MEANING = Threshold(passage=3.2, sentence=4.04, meaning=3.68, lead=4.48, names=0.85, bias=-6.83)
"""With an embedder that compares words."""
WORDS_ONLY = Threshold(passage=0.52, sentence=2.75, meaning=0.0, lead=9.3, names=1.13, bias=-3.594)
"""Without one."""
WORDS_ELSEWHERE = replace(WORDS_ONLY, bias=-2.975)
"""In other languages than English: their words have more forms and compounds, so that fewer are shared."""
