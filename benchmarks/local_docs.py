"""`retrieve_local_docs` beside scikit-learn's fit and query; both must give the same scores.

    python -m benchmarks.local_docs [--sizes 100 4000 100000]

A first call indexes the evidence; repeated calls on the same evidence find it indexed. Both take turns with
scikit-learn, which fits on every call, as document 001 has it; figures are medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from benchmarks.passages import passages, queries
from sleuth.lexical import retrieve_local_docs

Evidence = list[dict[str, Any]]


def sklearn(query: str, evidence: Evidence, k: int = 5) -> list[tuple[int, float]]:
    """Fit, transform, cosine, best k."""
    vectorizer = TfidfVectorizer()
    matrix = vectorizer.fit_transform([document["content"] for document in evidence])
    scores = cosine_similarity(vectorizer.transform([query]), matrix).ravel()
    return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k] if scores[i] > 0]


def seconds(call: Callable[..., Any], query: str, evidence: Evidence) -> float:
    started = time.perf_counter()
    call(query, evidence)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 4_000, 100_000])
    options = parser.parse_args()
    source = passages(max(300_000, *options.sizes))
    lines = source.read_text("utf8").splitlines()
    sample = queries(source, 20)
    print("| documents | scikit-learn ms | first call ms | times faster | repeated ms | times faster |")
    print("|---|---|---|---|---|---|")
    for size in options.sizes:
        took: dict[str, list[float]] = {"sklearn": [], "first": [], "again": []}
        for number in range(3 if size > 10_000 else 15):
            query = sample[number]
            part = lines[number : size + number]  # another list each time: one that was seen is found indexed
            evidence = [{"id": i, "content": line} for i, line in enumerate(part)]
            took["sklearn"].append(seconds(sklearn, query, evidence))
            took["first"].append(seconds(retrieve_local_docs, query, evidence))
            took["again"] += [seconds(retrieve_local_docs, other, evidence) for other in sample]
            results = retrieve_local_docs(query, evidence)
            expected = sklearn(query, evidence)
            assert np.allclose([d["score"] for d in results], [s for _, s in expected], atol=1e-6)
        theirs, first, again = (statistics.median(took[name]) * 1e3 for name in ("sklearn", "first", "again"))
        print(
            f"| {size:,} | {theirs:.1f} | {first:.2f} | {theirs / first:.1f} | {again:.3f} | {theirs / again:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
