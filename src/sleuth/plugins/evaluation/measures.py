"""Measures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sleuth.errors import EvaluationError, MissingPackageError
from sleuth.plugins.evaluation.collections import Qrels
from sleuth.plugins.evaluation.runs import Run

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""The default measures, in the spelling of ir_measures; all its spellings are accepted."""


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
    try:
        import ir_measures
    except ImportError as error:
        raise MissingPackageError("ir-measures", "eval", "measuring a run") from error
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
