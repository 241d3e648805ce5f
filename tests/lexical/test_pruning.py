"""Pruned search over 30,000 rows equals an exhaustive scorer, bit by bit."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.store import LegRequest, Rows
from sleuth.store.legs.leg import pack
from tests.segments import segment_of

N = 30_000
VOCABULARY = 4_000
LEG = LexicalLeg({"text": FieldSpec("plain")})
K1, B = LEG.k1, LEG.b


@dataclass(frozen=True)
class Corpus:
    """Rows whose words follow Zipf's law, and whose ids are in another order than their keys.

    Attributes:
        rows, counts: per word, the rows that hold it, ascending, and how often.
        lengths, ranks: words, and the place in order of id, of each row; shape (N,).
    """

    rows: list[NDArray[np.int64]]
    counts: list[NDArray[np.float32]]
    lengths: NDArray[np.int64]
    ranks: NDArray[np.uint32]
    searcher: LexicalSearcher

    def scores(self, words: list[int]) -> NDArray[np.float32]:
        """Return BM25 of every row in single precision, the heaviest term first, as `LexicalSearcher` adds them."""
        weights = {}
        for word in words:
            df = len(self.rows[word])
            weights[word] = math.log1p((N - df + 0.5) / (df + 0.5)) * words.count(word)
        norms = np.float32(K1 * (1 - B)) + np.float32(K1 * B / self.lengths.mean()) * self.lengths.astype(
            np.float32
        )
        scores = np.zeros(N, np.float32)
        for word in sorted(weights, key=lambda word: (-weights[word], name_of(word))):
            at, tf = self.rows[word], self.counts[word]
            scores[at] += np.float32(weights[word]) * (tf / (tf + norms[at]))
        return scores

    def best(self, scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Return the best k rows above 0, ties by id."""
        at = np.flatnonzero(scores >= max(np.partition(scores, -k)[-k], np.finfo(np.float32).tiny))
        return at[np.lexsort((self.ranks[at], -scores[at]))][:k]


def name_of(word: int) -> str:
    return f"w{word}"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Return short rows of few lengths, so that many scores tie; some words repeat in a row."""
    rng = np.random.default_rng(7)
    law = 1 / np.arange(1, VOCABULARY + 1)
    lengths = rng.choice([6, 9, 12, 20], N)
    words = rng.choice(VOCABULARY, int(lengths.sum()), p=law / law.sum())
    owners = np.repeat(np.arange(N), lengths)
    repeated = rng.choice(len(words) - 1, len(words) // 10, replace=False)
    repeated = repeated[owners[repeated] == owners[repeated + 1]]
    words[repeated + 1] = words[repeated]
    pairs, counts = np.unique(words * N + owners, return_counts=True)
    borders = np.searchsorted(pairs, np.arange(VOCABULARY + 1) * N)
    ranks = rng.permutation(N).astype(np.uint32)
    ends = np.cumsum(lengths)
    texts = [" ".join(map(name_of, words[end - n : end])) for end, n in zip(ends, lengths, strict=True)]
    view = segment_of(LEG, Rows(np.arange(N), ranks, {"text": texts}))
    assert 0 < len(view.arrays["text.dense_terms"]) < VOCABULARY / 10
    spans = list(zip(borders, borders[1:], strict=False))
    return Corpus(
        [pairs[a:b] % N for a, b in spans],
        [counts[a:b].astype(np.float32) for a, b in spans],
        lengths,
        ranks,
        LexicalSearcher(LEG, [view]),
    )


def queries(n: int, seed: int) -> list[list[int]]:
    """Return queries of one to five words: rare ones, frequent ones, both; and of a hundred, most of them rare."""
    rng = np.random.default_rng(seed)
    kinds: list[Callable[[], NDArray[np.int64]]] = [
        lambda: rng.integers(300, VOCABULARY, rng.integers(1, 6)),
        lambda: rng.integers(0, 30, rng.integers(1, 4)),
        lambda: np.concatenate([rng.integers(40, 1500, rng.integers(1, 4)), rng.integers(0, 40, 2)]),
        lambda: np.concatenate([rng.integers(300, VOCABULARY, 98), rng.integers(0, 40, 2)]),
    ]
    return [kinds[i % len(kinds)]().tolist() for i in range(n)]


@pytest.mark.parametrize("k", [1, 10, 100, 4000])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.002])
def test_hits_are_those_of_the_exhaustive_scorer(corpus: Corpus, k: int, share: float) -> None:
    """With rare and frequent terms, ties and filters, keys and scores are equal to the bit."""
    rng = np.random.default_rng(int(share * 1000))
    for words in queries(60 if k < 1000 else 9, k):
        allowed = rng.random(N) < share
        scores = np.where(allowed, corpus.scores(words), np.float32(0))
        expected = corpus.best(scores, k)
        request = LegRequest(k, None if share == 1 else [pack(allowed)])
        hits = corpus.searcher.pool(" ".join(map(name_of, words)), request)
        np.testing.assert_array_equal(hits.keys, expected)
        np.testing.assert_array_equal(hits.scores, scores[expected])
