"""Ranks a short list of texts for a query by TF-IDF and cosine, without an index.

The formulas and tokens are those of scikit-learn's `TfidfVectorizer()` defaults: words of two characters and more in
lower case, idf = ln((1 + n) / (1 + df)) + 1, weight = tf * idf, rows and query of length 1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count, check_kind, check_query
from sleuth.errors import ArgumentError
from sleuth.lexical.evidence import read_contents, weigh_by_term
from sleuth.remote import async_twin
from sleuth.store.legs.recent import RecentValues
from sleuth.text.tokens import TermCounter

_WORD = re.compile(r"(?u)\b\w\w+\b")
_FOLD = bytes(
    i if i >= 128 else ord(chr(i).lower()) if chr(i).isalnum() or chr(i) == "_" else 0 for i in range(256)
)


@dataclass(frozen=True, slots=True)
class _Index:
    """TF-IDF weights by term, rows of length 1.

    Attributes:
        hashes: of each content, shape (n,), int64: what was indexed, so that a changed list is noticed.
        numbers: of terms.
        idf: shape (n_terms,).
        starts: shape (n_terms + 1,): term t has rows[starts[t]:starts[t + 1]], with weights of the same shape.
    """

    hashes: NDArray[np.int64]
    numbers: Mapping[str, int]
    idf: NDArray[np.float64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    weights: NDArray[np.float64]

    def scores(self, query: str) -> NDArray[np.float64]:
        """Cosine of the query and each row, shape (n,)."""
        scores = np.zeros(len(self.hashes))
        times = Counter(_words(query))
        counts = [
            (number, count) for word, count in times.items() if (number := self.numbers.get(word)) is not None
        ]
        length = math.sqrt(sum((count * self.idf[number]) ** 2 for number, count in counts))
        for number, count in counts:
            span = slice(self.starts[number], self.starts[number + 1])
            scores[self.rows[span]] += self.weights[span] * (count * self.idf[number] / length)
        return np.minimum(scores, 1.0)  # which rounding exceeds by an ulp


_indexes = RecentValues[int, _Index](4)
"""Of the lists that were searched last. It holds neither the lists nor their texts."""


def _index_of(contents: list[str], hashes: NDArray[np.int64]) -> _Index:
    """Return the index of these texts: the cached one if they were searched lately, else a new one."""
    key = hash(hashes.tobytes())
    entry = _indexes.get(key)
    if entry is not None and np.array_equal(entry.hashes, hashes):
        return entry
    counter = TermCounter(
        _FOLD,
        lambda runs: [(run if len(run) > 1 else []) if run.isascii() else _words(run) for run in runs],
        # Sigma has two lower cases, and the right one depends on more than its run.
        lambda text: " ".join(_words(text)) if "Σ" in text else text,
    )
    ends, terms, counts, _ = counter.count([contents], [1])
    n_texts = len(contents)
    df = np.bincount(terms, minlength=len(counter))
    idf = np.log((1 + n_texts) / (1 + df)) + 1
    starts, rows, weights = weigh_by_term(ends, terms, counts, idf)
    data, offsets = counter.dictionary()
    index = _Index(hashes, _numbers(data.tobytes(), offsets.tolist()), idf, starts, rows, weights)
    _indexes.put(key, index)
    return index


def retrieve_local_docs(
    query: str, evidence: Sequence[Mapping[str, Any]], k: int = 5
) -> list[dict[str, Any]]:
    """Return the best `k` documents of a list by TF-IDF and cosine similarity.

    The same list searched again is not indexed again; a list that changed is noticed.

    Args:
        query: free text.
        evidence: documents with `id` and `content`; other keys are kept.
        k: at least 1; more than there are documents gives all that match.

    Returns:
        Copies of the documents with `score`, in (0, 1], best first, equal scores in order of the evidence. Documents
        that share no word with the query are left out.

    Raises:
        ArgumentError: k below 1, a document without id, a content that is not a string. It is a ValueError.
    """
    k = check_count(k, least=1)
    check_query(query)
    check_kind(evidence, Sequence, "evidence", "a list of documents")
    try:
        contents, hashes = read_contents(evidence, len(evidence))
    except KeyError as error:
        i = error.args[1]
        raise ArgumentError(f"evidence[{i}] must have an id and a content, got {evidence[i]!r}") from error
    except TypeError as error:
        i = error.args[1]
        content = evidence[i]["content"]
        raise ArgumentError(f"evidence[{i}]['content'] must be a string, got {content!r}") from error
    if not contents or not query.strip():
        return []
    scores = _index_of(contents, hashes).scores(query)
    lowest_score = np.partition(scores, len(scores) - k)[len(scores) - k] if k < len(scores) else 0.0
    matches = np.flatnonzero((scores >= lowest_score) & (scores > 0))
    best = matches[np.argsort(-scores[matches], kind="stable")[:k]]
    return [{**evidence[i], "score": float(scores[i])} for i in best.tolist()]


aretrieve_local_docs = async_twin(retrieve_local_docs)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _numbers(data: bytes, offsets: list[int]) -> dict[str, int]:
    """Terms to their numbers."""
    if data.isascii():
        text = data.decode("ascii")
        return {text[a:b]: i for i, (a, b) in enumerate(pairwise(offsets))}
    return {data[a:b].decode("utf-8", "surrogatepass"): i for i, (a, b) in enumerate(pairwise(offsets))}
