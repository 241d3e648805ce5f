"""Sleuth in PyTerrier: a transformer, which `pt.Experiment` compares with others.

import pyterrier as pt
from sleuth.plugins.frameworks.pyterrier import SleuthRetriever

pt.Experiment([SleuthRetriever(engine), other], topics, qrels, ["ndcg_cut_10"])
"""

from __future__ import annotations

from typing import Any

from sleuth.errors import requires
from sleuth.plugins.evaluation import make_run

with requires("pyterrier", "pyterrier", "a transformer of PyTerrier"):
    import pandas as pd
    import pyterrier as pt

_COLUMNS = ("docno", "score", "rank")


class SleuthRetriever(pt.Transformer):
    """Any retriever of Sleuth as a transformer from queries to ranked documents.

    A document has the score of its best passage. Columns of the input, such as `qid`, stay in each row.

    Args:
        source: has `retrieve(query, k, ...)`: an `Engine`, a `CodeRetriever`, `Sources`, a client of Chroma.
        num_results: documents of a query, at most.
    """

    def __init__(self, source: Any, num_results: int = 1000) -> None:
        self.source, self.num_results = source, num_results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return `docno`, `score` and `rank` (from 0) of each query's documents, best first."""
        pt.validate.query_frame(inp, ["query"])
        queries = {str(place): query for place, query in enumerate(inp["query"])}
        run = make_run(self.source, queries, k=self.num_results)
        rows = [
            (place, id, score, rank)
            for place, scores in enumerate(run.values())
            for rank, (id, score) in enumerate(scores.items())
        ]
        results = pd.DataFrame(rows, columns=["place", *_COLUMNS]).astype(
            {"docno": str, "score": float, "rank": int}
        )
        topics = inp.drop(columns=[name for name in _COLUMNS if name in inp]).reset_index(drop=True)
        rankings: pd.DataFrame = topics.merge(results, left_index=True, right_on="place")
        return rankings.drop(columns="place").reset_index(drop=True)
