"""Evidence: how well a quote and its passage fit a question, and the grade that follows from it.

Measured by `benchmarks/answers.py`; the table is in `docs/measured/answers.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from typing import Final

from sleuth.answer.questions import fits_question, program_of, question_type
from sleuth.answer.quotes import Quote
from sleuth.answer.sentences import split_sentences
from sleuth.answer.words import Analyze, language_of, names_and_numbers_of, page_of, readable
from sleuth.protocols import Embedder
from sleuth.results import Grade
from sleuth.types import RetrievedItem

Rarity = Callable[[Iterable[str]], Mapping[str, float]]
"""Terms to what each is worth: its idf in the corpus, the largest for a term that the corpus does not hold."""

RELATED = 0.2
"""Cosine of two words below which they have nothing to do with each other, in WordLlama's vectors."""

STEM = 4
"""First letters that two forms of a word share at least."""

ALIKE = 0.6
"""Share of the letters of two words that they begin with together, from which they count as forms of one word."""

ENOUGH = 5
"""Words of a question from which on no further one makes a quote truer."""

RIVALS = 3
"""Passages with which the best one is compared."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a quote as an answer. Each value lies in 0 to 1.

    Attributes:
        passage: share of the question's words that the passage and its title hold, each weighed by how much it says in
            any corpus, where an embedder has learnt that; else by its idf. A word that is missing counts by its nearest
            word of the passage: in meaning, where an embedder compares words, else by its first letters.
        held: how many words of the question the quoted sentence and the headings above it hold, as a share of
            `ENOUGH`. Many sentences match a question of two words, and do not answer it.
        meaning: cosine of the question with the quoted sentence; 0 without an embedder.
        lead: by how much the best passage beats the mean of the next three, as a share of its score, times `passage`:
            in a small corpus, a passage leads that has little to do with the question.
        names: share of the idf of the question's names and numbers that the passage and its title hold as written; 1
            without names. A near word does not replace a name: "Germany" does not answer for "France".
        defines: 1 if the question asks what something is, and the quote defines it.
        fits: 0 if the quote lacks the form that the question asks for, such as a number, says the contrary, or is of
            another program's page than the option that is asked for, else 1.
    """

    passage: float = 0.0
    held: float = 0.0
    meaning: float = 0.0
    lead: float = 0.0
    names: float = 0.0
    defines: float = 0.0
    fits: float = 0.0


NO_EVIDENCE: Final = Evidence()


@dataclass(frozen=True, slots=True)
class Grader:
    """A logistic model of "the quotes answer this question", over `Evidence`, and the grades by its probability.

    Attributes:
        passage, held, meaning, lead, names, defines: weight of each value.
        bias: its constant.
        likely: probability from which on quotes that fit are likely to answer.
        may_help: the same for quotes that may help.
    """

    passage: float
    held: float
    meaning: float
    lead: float
    names: float
    defines: float
    bias: float
    likely: float
    may_help: float

    def probability(self, evidence: Evidence) -> float:
        """Return how likely the quotes answer the question, 0 to 1."""
        logit = (
            self.bias
            + self.passage * evidence.passage
            + self.held * evidence.held
            + self.meaning * evidence.meaning
            + self.lead * evidence.lead
            + self.names * evidence.names
            + self.defines * evidence.defines
        )
        # Beyond 60 nothing changes, and far beyond it exp overflows.
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))

    def grade(self, evidence: Evidence) -> Grade:
        """Return the grade of quotes with this evidence."""
        probability = self.probability(evidence)
        if probability < self.may_help:
            return Grade.NOTHING_CLOSE
        return Grade.LIKELY if evidence.fits and probability >= self.likely else Grade.MAY_HELP


def weigh_evidence(
    question: str,
    items: Sequence[RetrievedItem],
    quote: Quote,
    *,
    analyze: Analyze,
    rarity: Rarity | None = None,
    embedder: Embedder | None = None,
) -> Evidence:
    """Measure how well a quote of one of `items` fits the question.

    Args:
        items: passages, best first.
        analyze: text to terms, as the passages were indexed.
        rarity: idf of terms in the corpus; without it, words that the embedder does not weigh count alike.
        embedder: compares words that differ; a local one, since it sees every word of the passage.
    """
    words = question_words(question, analyze)
    if not words:
        return NO_EVIDENCE
    sentence = quote.sentence
    item = items[sentence.item]
    weights: Mapping[str, float] = rarity(words) if rarity else dict.fromkeys(words, 1.0)
    heading, text = readable(item)
    sentences = [text[start:end] for start, end in split_sentences(text)] or [text]
    around = f"{sentence.text} {sentence.part.heading} {heading} {page_of(item)}"
    title, nearby, *terms = map(set, analyze([heading, around, *sentences]))
    covers = _coverage(words, sentences, terms, embedder)
    salience = _salience(words, embedder) or weights
    shares = {term: max(float(term in title), *(cover[term] for cover in covers)) for term in words}
    passage = sum(salience.get(term, 0.0) * shares[term] for term in words) / (sum(salience.values()) or 1.0)
    names = question_names(question, analyze, language_of(item))
    scores = [rival.score or 0.0 for rival in items[: RIVALS + 1]]
    lead = min(1.0, max(0.0, 1 - sum(scores[1:]) / RIVALS / scores[0])) if scores[0] > 0 else 0.0
    return Evidence(
        passage=passage,
        held=min(1.0, len(words.keys() & nearby) / ENOUGH),
        meaning=max(0.0, sentence.meaning),
        lead=passage * lead,
        names=_held(names, weights, title.union(*terms)),
        defines=float(question_type(question) == "definition" and sentence.form == 1),
        fits=float(
            fits_question(question, replace(sentence.part, text=quote.text))
            and _is_its_page(question, items, item)
        ),
    )


def _is_its_page(question: str, items: Sequence[RetrievedItem], item: RetrievedItem) -> bool:
    """Return False if a question asks for an option of a program that other passages have as their title, not this."""
    program = program_of(question)
    if not program or program in _WORD.findall(page_of(item).lower()):
        return True
    return not any(program in _WORD.findall(str(rival.metadata.get("title")).lower()) for rival in items)


def question_words(question: str, analyze: Analyze) -> dict[str, str]:
    """Return the terms of a question, each with the word that it comes from; stop words have no terms."""
    words = _WORD.findall(question)
    word_by_term: dict[str, str] = {}
    for word, terms in zip(words, analyze(words), strict=True):
        for term in terms:
            word_by_term.setdefault(term, word.lower())
    return word_by_term


def question_names(question: str, analyze: Analyze, language: str = "") -> set[str]:
    """Return the terms of a question's names and numbers.

    Args:
        language: ISO 639-1 code of the question; "" for English.
    """
    names = names_and_numbers_of(question, language)
    return set().union(*analyze(names)) if names else set()


def _salience(words: Mapping[str, str], embedder: Embedder | None) -> dict[str, float]:
    """Return how much each word says in any corpus; nothing without an embedder that has learnt it."""
    if embedder is None:
        return {}
    from sleuth.vectors import ask_if_able

    values = ask_if_able(embedder, "salience", list(words.values()))
    return {} if values is None else dict(zip(words, map(float, values), strict=True))


def _held(terms: set[str], weights: Mapping[str, float], passage: Set[str]) -> float:
    """Return the share of the terms' weight that a passage has; 1 without terms."""
    total = sum(weights.get(term, 0.0) for term in terms)
    return sum(weights.get(term, 0.0) for term in terms & passage) / total if total else 1.0


def _coverage(
    words: Mapping[str, str],
    sentences: Sequence[str],
    terms_of_sentences: Sequence[Set[str]],
    embedder: Embedder | None,
) -> list[dict[str, float]]:
    """Return for each sentence how far it holds each term, 0 to 1."""
    covers = [{term: 1.0 if term in terms else 0.0 for term in words} for terms in terms_of_sentences]
    missing = [term for term in words if not all(term in terms for terms in terms_of_sentences)]
    tokens = [list(dict.fromkeys(_WORD.findall(sentence.lower()))) for sentence in sentences]
    if embedder is None:
        for cover, sentence in zip(covers, tokens, strict=True):
            cover |= {term: max(cover[term], _nearest_form(words[term], sentence)) for term in missing}
        return covers
    import numpy as np

    from sleuth.vectors import unit_vectors

    vocabulary = list(dict.fromkeys(token for sentence in tokens for token in sentence))
    if not missing or not vocabulary:
        return covers
    vectors = unit_vectors(embedder, [*(words[term] for term in missing), *vocabulary])
    nearness = vectors[: len(missing)] @ vectors[len(missing) :].T
    nearness = np.clip((nearness - RELATED) / (1 - RELATED), 0.0, 1.0)
    column = {token: i for i, token in enumerate(vocabulary)}
    for cover, sentence in zip(covers, tokens, strict=True):
        columns = [column[token] for token in sentence]
        if columns:
            for term, value in zip(missing, nearness[:, columns].max(axis=1).tolist(), strict=True):
                cover[term] = max(cover[term], value)
    return covers


def _nearest_form(word: str, others: Sequence[str]) -> float:
    """Return how far the nearest of other words may be a form of a word, such as "located" of "location", 0 to 1."""
    forms = (
        2 * sum(takewhile(bool, map(eq, word, candidate))) / (len(word) + len(candidate))
        for candidate in others
        if len(word) >= STEM and candidate.startswith(word[:STEM])
    )
    nearest = max(forms, default=0.0)
    return nearest if nearest >= ALIKE else 0.0


WORDS_AND_MEANING = Grader(3.26, 1.98, 1.67, 2.81, 1.35, 2.7, bias=-7.07, likely=0.44, may_help=0.12)
"""With an embedder that compares words."""
WORDS_ONLY = Grader(2.99, 2.43, 0.0, 3.04, 1.1, 2.62, bias=-5.85, likely=0.44, may_help=0.12)
"""Without one, and for passages in other languages than English."""
