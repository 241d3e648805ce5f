"""An engine after any sequence of operations answers as a dict and a slow scorer do."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from sleuth import Document, Engine
from sleuth.engine import WITHOUT_VARIETY
from sleuth.filters import as_filter, matches
from sleuth.text.analyzers import get_analyzer
from tests.reference.bm25 import bm25

WORDS = ["refill", "token", "bucket", "limit", "cat", "dog", "naïve", "検索", "x1", "burst"]
EXAMPLES = int(os.environ.get("SLEUTH_MODEL_RUNS", "12"))

texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=12).map(" ".join)
names = st.sampled_from([f"doc{i}" for i in range(12)])
metadatas = st.fixed_dictionaries(
    {"language": st.just("en")},
    optional={"year": st.integers(2019, 2022), "lang": st.sampled_from(["en", "de"])},
)
filters = st.sampled_from(
    [None, {"year": {"$gte": 2021}}, {"lang": "en"}, {"year": 2020, "lang": {"$ne": "de"}}, "-lang:en"]
)


class EngineModel(RuleBasedStateMachine):
    """An engine and a dict with the same documents."""

    ids = Bundle("ids")

    @initialize()
    def create(self) -> None:
        self.root = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.moves = 0
        self.engine = Engine.open(self.root / "0", create=True)
        self.model: dict[str, Document] = {}
        self.analyzer = get_analyzer("english")

    @rule(batch=st.lists(st.tuples(names, texts, metadatas), min_size=1, max_size=4))
    def add(self, batch: list[tuple[str, str, dict[str, Any]]]) -> None:
        documents = [Document(text, dict(metadata), id=id) for id, text, metadata in batch]
        self.engine.add(documents)
        self.model.update({str(d.id): d for d in documents})

    @rule(ids=st.lists(names, min_size=1, max_size=3))
    def delete(self, ids: list[str]) -> None:
        deleted = self.engine.delete(ids)
        assert sorted(deleted) == sorted({id for id in ids if id in self.model})
        for id in deleted:
            del self.model[id]

    @rule(query=texts, k=st.sampled_from([0, 1, 3, 100]), filter=filters)
    def search(self, query: str, k: int, filter: Any) -> None:
        passages = {
            id: self.analyzer.tokens(d.page_content) for id, d in self.model.items() if d.page_content.strip()
        }
        expected = bm25(passages, self.analyzer.tokens(query), k1=1.5)
        tree = as_filter(filter)
        if tree is not None:
            expected = {id: s for id, s in expected.items() if matches(tree, self.model[id].metadata)}
        ranking = self.engine.retrieve(query, k, filter=filter, legs=["lexical"], **WITHOUT_VARIETY)
        got = {item.id.rpartition("#")[0]: item.score for item in ranking}
        assert len(got) == len(ranking) == min(k, len(expected))
        for id, score in got.items():
            assert score is not None
            assert abs(score - expected[id]) < 1e-4
        scores = [item.score or 0.0 for item in ranking]
        assert scores == sorted(scores, reverse=True)
        if got:
            missed = [score for id, score in expected.items() if id not in got]
            assert max(missed, default=0.0) <= min(scores) + 1e-4
        for before, after in zip(ranking, ranking[1:], strict=False):
            assert (-(before.score or 0), before.id) < (-(after.score or 0), after.id)

    @rule()
    def reopen(self) -> None:
        path = self.engine.path
        self.engine.close()
        self.engine = Engine.open(path)
        assert self.engine.repairs == ()

    @rule()
    def crash(self) -> None:
        """What is on disk at this moment is all that is left, as after kill -9. (Copying takes a while: nothing may
        move meanwhile, so merges and checkpoints are waited for; tests/faults kills in the midst of them.)
        """
        self.moves += 1
        self.engine.wait()
        copy = self.root / str(self.moves)
        shutil.copytree(self.engine.path, copy, ignore=shutil.ignore_patterns("*-shm"))
        self.engine.close()
        self.engine = Engine.open(copy)

    @rule()
    def compact(self) -> None:
        self.engine.compact()

    @invariant()
    def holds_what_was_added(self) -> None:
        if hasattr(self, "engine"):
            status = self.engine.status()
            assert status["documents"] == len(self.model)
            passages = sum(bool(d.page_content.strip()) for d in self.model.values())
            assert all(leg["passages"] == passages for leg in status["legs"].values())

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            findings = self.engine.check(full=True)
            self.engine.close()
            shutil.rmtree(self.root)
            assert [f for f in findings if f.level == "error"] == []


TestEngineModel = EngineModel.TestCase
TestEngineModel.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
