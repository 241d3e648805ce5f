"""A transformer of PyTerrier, without Terrier itself: `make conformance`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest

from sleuth import Document, Engine
from sleuth.plugins.frameworks.pyterrier import SleuthRetriever

TEXTS = {"a": "A bucket is refilled every second.", "b": "A user logs in.", "c": "A bucket holds tokens."}
TOPICS = pd.DataFrame({"qid": ["2", "1"], "query": ["user logs in", "refilled bucket"], "split": ["x", "y"]})
QRELS = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "b"], "label": [1, 1]})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An index of three documents, one of them of many passages."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(Document(text, id=id) for id, text in TEXTS.items())
        engine.add(
            [Document("\n\n".join(f"Bucket {n}. " + "Water is wet. " * 60 for n in range(9)), id="long")]
        )
        yield engine


def test_each_query_has_its_ranked_documents(engine: Engine) -> None:
    """A document comes once, best first, with ranks from 0; columns of the topics stay."""
    results = SleuthRetriever(engine, num_results=2)(TOPICS)
    pt.validate.result_frame(results)
    assert list(results["qid"].unique()) == ["2", "1"]
    assert set(results.columns) == {"qid", "query", "split", "docno", "score", "rank"}
    for _, rows in results.groupby("qid"):
        assert list(rows["rank"]) == list(range(len(rows)))
        assert rows["score"].is_monotonic_decreasing
        assert rows["docno"].is_unique
    assert results[results["qid"] == "1"]["docno"].iloc[0] == "a"


def test_it_is_inspected(engine: Engine) -> None:
    """It needs queries, and gives a result frame: also for the static checks of pipelines."""
    retriever = SleuthRetriever(engine)
    assert pt.inspect.transformer_inputs(retriever) == [["qid", "query"]]
    assert set(pt.inspect.transformer_outputs(retriever, ["qid", "query"])) == {
        "qid", "query", "docno", "score", "rank",
    }  # fmt: skip
    with pytest.raises(pt.validate.InputValidationError):
        retriever(pd.DataFrame({"qid": ["1"]}))


def test_an_experiment_compares_it(engine: Engine) -> None:
    """`Experiment` and operators of PyTerrier take it beside other systems."""
    words = pt.Transformer.from_df(
        pd.DataFrame({"qid": ["1"], "query": ["x"], "docno": ["c"], "score": [1.0]})
    )
    table = pt.Experiment(
        [SleuthRetriever(engine), SleuthRetriever(engine) % 1, words],
        TOPICS[["qid", "query"]],
        QRELS,
        ["recip_rank", "ndcg_cut_10"],
        names=["sleuth", "first", "words"],
    )
    assert list(table["recip_rank"]) == [1.0, 1.0, 0.0]
