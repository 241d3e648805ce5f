"""Runs, which documents a system ranked for which query, and their measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.arguments import MOST_K
from sleuth.errors import EvaluationError, requires
from sleuth.plugins.evaluation.collections import Qrels
from sleuth.protocols import Retriever
from sleuth.types import Ranking

Run = dict[str, dict[str, float]]
"""Query id to document id to score; higher is better."""

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""The default measures, in the spelling of ir_measures; all its spellings are accepted."""


def make_run(retriever: Retriever, queries: Mapping[str, str], *, k: int = 100) -> Run:
    """Rank documents for every query: a document has the score of its best passage.

    Two passages are requested per document wanted, since several may be of one document. So a k of up to 100 requests
    no more than the 200 candidates per leg that `Engine.retrieve` fuses by default, and the judged ranking begins with
    what it returns for any smaller k; beyond that, the rankings may differ.

    Args:
        k: documents per query, at most.
    """
    passages = max(k, min(2 * k, MOST_K))
    return {id: best_passages(retriever.retrieve(query, passages), k) for id, query in queries.items()}


def best_passages(ranking: Ranking, k: int) -> dict[str, float]:
    """Return the scores of the first `k` documents of a ranking of passages."""
    scores: dict[str, float] = {}
    for place, item in enumerate(ranking):
        id = item.document_id
        if id not in scores:
            if len(scores) == k:
                break
            scores[id] = -float(place) if item.score is None else item.score
    return in_order(scores)


def in_order(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, lowered just enough that each is less than the one before it in single precision.

    TREC's tools sort by score and ignore order, with equal scores in reverse order of id: they would judge another
    ranking than users see.
    """
    import numpy as np

    lowered: dict[str, float] = {}
    last_score = np.float32(np.inf)
    for id, score in scores.items():
        last_score = min(np.float32(score), np.nextafter(last_score, np.float32(-np.inf)))
        lowered[id] = score if np.float32(score) == last_score else float(last_score)
    return lowered


@dataclass(frozen=True, slots=True)
class Scores:
    """Measures of one run.

    Attributes:
        per_query: measure to query id to value; holds every judged query, with 0 if the run has no hits for it.
    """

    per_query: Mapping[str, Mapping[str, float]]

    @property
    def means(self) -> dict[str, float]:
        """Mean over queries, by measure."""
        return {name: sum(values.values()) / len(values) for name, values in self.per_query.items()}


def score(run: Run, qrels: Qrels, measures: Sequence[str] = MEASURES) -> Scores:
    """Measure a run with ir_measures.

    Raises:
        EvaluationError: no judgements, or a measure that ir_measures does not know.
        MissingPackageError: ir_measures is not installed.
    """
    measure_by_name = parse_measures(measures)
    import ir_measures

    if not qrels:
        raise EvaluationError("qrels must judge at least one query, got none")
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in measure_by_name}
    judged = {query: dict(documents) for query, documents in qrels.items()}
    try:
        metrics = list(ir_measures.iter_calc(list(measure_by_name.values()), judged, run))
    except Exception as error:  # whatever the tools behind ir_measures raise
        reason = str(error) or type(error).__name__
        raise EvaluationError(
            f"measures must be ones that this run can be given, got {list(measures)} ({reason})"
        ) from error
    for metric in metrics:
        for name, measure in measure_by_name.items():
            if measure == metric.measure:
                values[name][metric.query_id] = float(metric.value)
    return Scores(values)


def parse_measures(measures: Sequence[str]) -> dict[str, Any]:
    """Parse measures in the spelling of ir_measures.

    Raises:
        EvaluationError: one that ir_measures does not know, or a cutoff that is not a count above 0.
        MissingPackageError: ir_measures is not installed.
    """
    with requires("ir-measures", "eval", "measuring a run"):
        import ir_measures
    measure_by_name = {}
    for name in measures:
        try:
            measure_by_name[name] = ir_measures.parse_measure(name)
        except (AssertionError, NameError, ValueError, SyntaxError) as error:
            raise EvaluationError(
                f"measures must be spelled as in nDCG@10 or R@100, got {name!r} ({error})"
            ) from error
        cutoff = measure_by_name[name].params.get("cutoff", 1)
        if isinstance(cutoff, bool) or not 1 <= cutoff < 2**31:  # trec_eval would end the process
            raise EvaluationError(f"a measure's cutoff must be from 1 to 2**31 - 1, got {name!r}")
    return measure_by_name
