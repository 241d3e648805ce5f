"""MTEB: its own mock tasks, and a local task without a download: `make conformance-mteb`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import pytest
from datasets import Dataset
from mteb import ResultCache
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.models_protocols import SearchProtocol
from mteb.results.task_result import TaskError, TaskResult

from sleuth.errors import ArgumentError
from sleuth.plugins.frameworks.mteb import SleuthSearch
from tests.documents import check_examples

CORPUS = [
    {"id": "a", "title": "Buckets", "text": "A bucket is refilled every second."},
    {"id": "b", "title": "", "text": "A user logs in with a link."},
    {"id": "c", "title": "Tides", "text": "The sea rises and falls with the moon."},
]
QUERIES = [{"id": "1", "text": "how often is a bucket refilled"}, {"id": "2", "text": "moon and tides"}]


class LocalTask(AbsTaskRetrieval):
    """Three documents and two queries."""

    metadata = TaskMetadata(
        name="SleuthLocal", description="A small task.", reference="https://example.org",
        dataset={"path": "none", "revision": "none"}, type="Retrieval", category="t2t", modalities=["text"],
        eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
    )  # fmt: skip

    def load_data(self, num_proc: int | None = None, **_: Any) -> None:
        """Make the data."""
        split = RetrievalSplitData(
            corpus=Dataset.from_list(CORPUS),
            queries=Dataset.from_list(QUERIES),
            relevant_docs={"1": {"a": 1}, "2": {"c": 1}},
            top_ranked=None,
        )
        self.dataset = {"default": {"test": split}}
        self.data_loaded = True


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_the_mock_tasks_of_mteb() -> None:
    """Every mock task that a search model of texts can run passes; the others are not for it."""
    model = SleuthSearch()
    assert isinstance(model, SearchProtocol)
    results = mteb.mock_run(model)
    failures = {name: status for name, status in results.items() if isinstance(status, TaskError)}
    assert failures == {}
    passed = {name for name, status in results.items() if isinstance(status, TaskResult)}
    assert {"MockRetrievalTask", "MockRerankingTask", "MockInstructionRetrieval"} <= passed


def test_a_local_task(tmp_path: Path) -> None:
    """The right documents come first, and the results name the model and its version."""
    model = SleuthSearch(tmp_path / "indexes", legs=["lexical"])
    results = mteb.evaluate(model, LocalTask(), cache=None)
    model.close()
    assert results.task_results[0].get_score() == 1.0
    assert results.model_name == "sleuth/sleuth"
    assert model.mteb_model_meta.experiment_kwargs == {"embedder": "default", "legs": "['lexical']"}


def test_only_given_documents_are_ranked(tmp_path: Path) -> None:
    """`top_ranked` restricts each query before the cut, so that none is lost; a wrong option is named."""
    model = SleuthSearch(tmp_path)
    with pytest.raises(ArgumentError, match="index must be called"):
        model.search(QUERIES, top_k=1)
    model.index(CORPUS, task_metadata=LocalTask.metadata, hf_split="test", hf_subset="default")
    run = model.search(QUERIES[:1], top_k=1, top_ranked={"1": ["b", "c"]})
    with pytest.raises(TypeError, match="no argument 'similarity_top_k'; did you mean 'k'"):
        wrong = SleuthSearch(tmp_path, similarity_top_k=3)
        wrong.index((), task_metadata=LocalTask.metadata, hf_split="test", hf_subset="default")
        wrong.search(QUERIES, top_k=1)
    model.close()
    assert len(run["1"]) == 1
    assert set(run["1"]) <= {"b", "c"}


def test_results_are_kept_and_ranked_again(tmp_path: Path) -> None:
    """The cache of MTEB gives what was measured before; what one search found, another one ranks again."""
    words, cache = (
        SleuthSearch(tmp_path / "words", legs=["lexical"], name="sleuth/words"),
        ResultCache(tmp_path),
    )
    predictions = tmp_path / "predictions"
    first = mteb.evaluate(words, LocalTask(), cache=cache, prediction_folder=predictions)
    again = mteb.evaluate(words, LocalTask(), cache=cache, overwrite_strategy="only-cache")
    words.close()
    assert again.task_results[0].get_score() == first.task_results[0].get_score() == 1.0
    second_stage = LocalTask().convert_to_reranking(predictions, top_k=1)
    both = SleuthSearch(tmp_path / "both")
    (result,) = mteb.evaluate(both, second_stage, cache=None).task_results
    both.close()
    assert result.get_score() == 1.0
    with pytest.raises(TypeError, match="no argument 'top_n'; did you mean"):
        mteb.evaluate(SleuthSearch(tmp_path / "wrong", top_n=1), LocalTask(), cache=None)


def test_the_guide_is_true(tmp_path: Path) -> None:
    """The examples print what the guide says."""
    check_examples("MTEB", tmp_path)
