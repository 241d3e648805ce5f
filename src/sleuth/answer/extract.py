"""Choose the sentences of passages that answer a question best.

Measured, not guessed: `benchmarks/sentence_choice.py` and the table in `docs/answers.md`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sleuth.answer.sentences import FENCES, Span, split_sentences
from sleuth.protocols import Embedder
from sleuth.types import RetrievedItem

Analyze = Callable[[str], Sequence[str]]

NEAR = 0.25
"""Cosine from which on a sentence may answer without sharing a word with the question: with WordLlama, 19 of
20 evidence sentences of Climate-FEVER lie above it, and every sentence about climate lies below it for a
question about bread.
"""


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
    """

    k1: float = 1.2
    b: float = 0.75
    passage: float = 0.5
    pairs: float = 0.3
    meaning: float = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands.

    Attributes:
        item: its passage, by place in the ranking, from 0.
        start, end: characters in the passage's text, half open.
        score: higher is better.
        words: how many words of the question it holds.
    """

    item: int
    start: int
    end: int
    text: str
    score: float
    words: int


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
    spans = [(place, span) for place, item in enumerate(items) for span in prose(item.text)]
    texts = [items[place].text[start:end] for place, (start, end) in spans]
    terms = [list(analyze(text)) for text in texts]
    question_terms = list(analyze(question))
    words = score_words(question_terms, terms, use)
    best = max(words, default=0.0)
    prior = passage_priors(items)
    meaning = cosines(embedder, question, texts) if embedder is not None else [0.0] * len(texts)
    ranked = [
        Sentence(
            place,
            start,
            end,
            texts[number],
            words[number] + (best or 1.0) * (use.passage * prior[place] + use.meaning * meaning[number]),
            len(set(question_terms) & set(terms[number])),
        )
        for number, (place, (start, end)) in enumerate(spans)
        if words[number] > 0 or meaning[number] >= NEAR
    ]
    return sorted(ranked, key=lambda sentence: (-sentence.score, sentence.item, sentence.start))


def prose(text: str) -> list[Span]:
    """Return the sentences of a text, without fenced code: a piece of code answers nothing by itself."""
    return [(start, end) for start, end in split_sentences(text) if not text.startswith(FENCES, start, end)]


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
    query = [float(x) for x in embedder.embed_query(question)]
    return [_cosine(query, [float(x) for x in row]) for row in embedder.embed_documents(list(texts))]


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norm = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


def passage_priors(items: Sequence[RetrievedItem]) -> list[float]:
    """Return the worth of each passage's rank, 1 for the best: its score between the lowest and the highest.

    Where a retriever gives no scores, or equal ones, evenly down from 1.
    """
    scores = [item.score for item in items if item.score is not None]
    if len(scores) == len(items) and scores and max(scores) > min(scores):
        low, high = min(scores), max(scores)
        return [(score - low) / (high - low) for score in scores]
    return [1 - place / len(items) for place in range(len(items))]


def choose(sentences: Sequence[Sentence], count: int, *, analyze: Analyze = plain_words) -> list[Sentence]:
    """Return the first `count` sentences, without those that repeat most words of an earlier one."""
    chosen: list[Sentence] = []
    seen: list[frozenset[str]] = []
    for sentence in sentences:
        own = frozenset(analyze(sentence.text))
        if any(len(own & other) > 0.7 * min(len(own), len(other)) for other in seen):
            continue
        chosen.append(sentence)
        seen.append(own)
        if len(chosen) == count:
            break
    return chosen


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
