"""Document 002: the retrieval of code, as written there."""

import dataclasses
import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from sleuth.code import (
    CodeRetriever,
    CodeStorage,
    EmbeddingProvider,
    GraphStorage,
    RetrievedContext,
    Snapshot,
    index_path,
)
from sleuth.code.snapshots.record import Repository, SnapshotInfo
from sleuth.engine import open_code
from sleuth.errors import (
    ArgumentError,
    CodeError,
    FilterError,
    RetrievalError,
    UnknownRepositoryError,
    UnknownSnapshotError,
)
from tests.code.conftest import write
from tests.code.projects import SHOP
from tests.embedders import Letters


class Hashing(Letters):
    """An embedder whose vectors count hashed words."""

    fingerprint = "hashing/32"

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * 32
        for word in text.lower().replace("_", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 32] += 1.0
        return vector


class Broken(Hashing):
    def embed_query(self, text: str) -> list[float]:
        raise OSError("no route to the model")


class Odd(Hashing):
    """An embedder whose vectors of queries are multiplied by a number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def embed_query(self, text: str) -> list[float]:
        return [self.number * x for x in super().embed_query(text)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return Hashing().embed_documents(texts)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CodeStorage, str, Path]]:
    root = tmp_path_factory.mktemp("shop")
    write(root, dict(SHOP))
    with open_code(tmp_path_factory.mktemp("index"), create=True) as storage:
        yield storage, index_path(storage, root, workers=1).repository, root


def test_the_seams_are_the_documents(place: tuple[CodeStorage, str, Path]) -> None:
    """`GraphStorage` and `EmbeddingProvider` are runtime-checkable protocols; a storage may be wrapped."""
    storage, repo_id, _ = place

    class Wrapped:
        def repository(self, name: str) -> Repository:
            return storage.repository(name)

        def snapshot(self, repository: Repository, name: str | None = None) -> SnapshotInfo:
            return storage.snapshot(repository, name)

        def open_snapshot(self, repository: Repository, info: SnapshotInfo) -> Snapshot:
            return storage.open_snapshot(repository, info)

    assert get_type_hints(GraphStorage.snapshot)["return"] is SnapshotInfo
    assert isinstance(storage, GraphStorage)
    assert isinstance(Hashing(), EmbeddingProvider)
    assert not isinstance(Hashing(), GraphStorage)
    assert CodeRetriever(Wrapped(), Hashing()).retrieve("charge an order", repo_id)


def test_the_fields_are_the_documents() -> None:
    """`RetrievedContext` is a dataclass whose first fields are the documented ones, in order."""
    names = [field.name for field in dataclasses.fields(RetrievedContext)]
    assert names[:8] == [
        "file_path", "content", "start_line", "end_line", "score", "semantic_labels", "parent_context",
        "outgoing_definitions",
    ]  # fmt: skip


def test_render_gives_the_documents_block() -> None:
    """`render()` prints the document's example exactly."""
    hit = RetrievedContext(
        "src/main.py", "def run(): ...", 10, 20, 1.0, [], {"type": "class", "name": "App", "line": 3},
        [{"name": "logger.info", "role": "call"}, {"name": "db.connect", "role": "call"}],
    )  # fmt: skip
    assert hit.render() == (
        "### File: src/main.py (L10-20)\n"
        "[CONTEXT] Inside class App\n"
        "[CODE]\n"
        "def run(): ...\n"
        "[RELATIONS] Calls: logger.info, db.connect"
    )


def test_render_leaves_out_what_is_not_there() -> None:
    """Without a container or relations, `render()` omits their lines."""
    assert RetrievedContext("a.py", "x = 1", 1, 1, 0.5).render() == "### File: a.py (L1-1)\n[CODE]\nx = 1"


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "keyword"])
def test_every_strategy_answers(place: tuple[CodeStorage, str, Path], strategy: str) -> None:
    """Scores lie in [0, 1], best first; content equals the named lines of the file."""
    storage, repo_id, root = place
    retriever = CodeRetriever(storage, Hashing())
    hits = retriever.retrieve("Charge a card for an order", repo_id, limit=5, strategy=strategy)
    assert 0 < len(hits) <= 5
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    for hit in hits:
        lines = (root / hit.file_path).read_bytes().split(b"\n")
        assert hit.content.encode() == b"\n".join(lines[hit.start_line - 1 : hit.end_line])


def test_a_method_comes_with_its_class_and_what_it_uses(place: tuple[CodeStorage, str, Path]) -> None:
    """`parent_context` and `outgoing_definitions` have the documented form, resolved inside the repository."""
    storage, repo_id, _ = place
    hit = CodeRetriever(storage, None).retrieve("give up on an order", repo_id, None, 10, "keyword")[0]
    assert hit.file_path == "shop/payment.py"
    uses = {(d["name"], d["role"]): d for h in [hit] for d in h.outgoing_definitions}
    assert ("Refund", "instantiation") in uses
    assert uses["Refund", "instantiation"]["file_path"] == "shop/models.py"
    assert uses["Refund", "instantiation"]["line"] == 17
    assert all(set(d) >= {"name", "role"} for d in hit.outgoing_definitions)
    roles = {"call", "instantiation", "import", "inheritance", "reference"}
    assert {d["role"] for d in hit.outgoing_definitions} <= roles


def test_filters_choose_files(place: tuple[CodeStorage, str, Path]) -> None:
    """Path filters match whole parts, languages are names or extensions, and tests can be excluded."""
    storage, repo_id, _ = place
    retriever = CodeRetriever(storage, None)

    def paths(**filters: object) -> set[str]:
        query = "charge checkout order newest again"
        return {h.file_path for h in retriever.retrieve(query, repo_id, None, 50, "keyword", filters)}

    assert paths(path_prefix="src/api") == {"src/api/routes.ts", "src/api/client.ts"}
    assert {p.rpartition(".")[2] for p in paths(language=["py"])} == {"py"}
    assert paths(language="python") == paths(language=[".py"])
    visible_paths = paths(exclude_category=["test"])
    assert "tests/test_payment.py" not in visible_paths
    assert "shop/latest.py" in visible_paths
    assert paths(path_prefix=["shop", "server"], exclude_language="go") == paths(path_prefix="shop")
    assert paths(category="docs") == {"README.md"}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"strategy": "psychic"}, ArgumentError, "hybrid, vector, keyword"),
        ({"filters": {"colour": "red"}}, FilterError, "path_prefix, language"),
        ({"filters": {"language": ["klingon"]}}, ArgumentError, "python"),
        ({"filters": {"category": "poetry"}}, FilterError, "code, test, docs"),
        ({"snapshot_id": "ffff0000"}, UnknownSnapshotError, "content-"),
        ({"snapshot_id": 5}, ArgumentError, "snapshot_id must be"),
        ({"repo_id": "8ba7"}, UnknownRepositoryError, "shop"),
        ({"repo_id": "no\0path"}, UnknownRepositoryError, "shop"),
        ({"repo_id": "~nobody-of-this-name/x"}, UnknownRepositoryError, "shop"),
        ({"limit": -1}, ArgumentError, "limit must be"),
        ({"strategy": "hybrid"}, ArgumentError, "strategy='keyword'"),
    ],
)
def test_errors_say_what_there_is(
    place: tuple[CodeStorage, str, Path], arguments: dict[str, object], error: type[Exception], words: str
) -> None:
    """An unknown repository, snapshot, strategy or filter raises a typed error that lists the known ones."""
    storage, repo_id, _ = place
    options: dict[str, object] = {"repo_id": repo_id, "strategy": "keyword", **arguments}
    with pytest.raises(error, match=words.replace("=", ".")):
        CodeRetriever(storage, None).retrieve("order", **options)  # type: ignore[arg-type]


def test_no_snapshot_yet_is_an_error(place: tuple[CodeStorage, str, Path], tmp_path: Path) -> None:
    """A repository whose only run failed raises an error instead of returning no hits."""
    with open_code(tmp_path, create=True) as storage:
        repository = storage.add_repository("/somewhere", "")
        storage.begin(repository.id, "c0ffee", "", [])
        storage.fail(repository.id, "c0ffee", "disk full")
        with pytest.raises(UnknownSnapshotError, match="no completed snapshot"):
            CodeRetriever(storage, None).retrieve("x", repository.id, strategy="keyword")
        with pytest.raises(UnknownSnapshotError, match="failed: disk full"):
            CodeRetriever(storage, None).retrieve("x", repository.id, "c0ffee", strategy="keyword")
        assert issubclass(UnknownSnapshotError, CodeError)


def test_a_run_that_completes_meanwhile_hides_no_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest completed snapshot is one of the list that was read, even if another completes meanwhile."""
    with open_code(tmp_path, create=True) as storage:
        repository = storage.add_repository("/somewhere", "")

        def complete(id: str) -> None:
            storage.begin(repository.id, id, "", [])
            storage.complete(repository.id, id, [], np.zeros(0, np.int64))

        complete("before")
        snapshots_of = storage.snapshots

        def reading(repository: str) -> list[SnapshotInfo]:
            snapshots = snapshots_of(repository)
            complete("meanwhile")
            return snapshots

        monkeypatch.setattr(storage, "snapshots", reading)
        assert storage.snapshot(repository).id == "before"
        assert storage.snapshot(repository).id == "meanwhile"


@pytest.mark.parametrize(
    ("embedder", "reason"),
    [(Broken(), "no route"), (Odd(float("nan")), "not finite"), (Odd(float("inf")), "not finite")],
    ids=["broken", "nan", "inf"],
)
def test_a_failing_leg_is_reported(
    place: tuple[CodeStorage, str, Path],
    embedder: EmbeddingProvider,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Words rank as they do alone; the other leg is named, and logged by the name of its error; alone, it raises."""
    storage, repo_id, _ = place
    hits = CodeRetriever(storage, embedder).retrieve("charge an order", repo_id)
    words = CodeRetriever(storage, None).retrieve("charge an order", repo_id, strategy="keyword")
    assert [hit.id for hit in hits] == [hit.id for hit in words] != []
    assert [(p.name, p.status) for p in hits.parts] == [("keyword", "ok"), ("vector", "failed")]
    assert reason in hits.parts[1].error
    (message,) = (record.getMessage() for record in caplog.records if record.name == "sleuth.code")
    assert re.fullmatch(r"the leg 'vector' failed with \w+Error", message)
    with pytest.raises(RetrievalError, match=reason):
        CodeRetriever(storage, embedder).retrieve("charge an order", repo_id, strategy="vector")


def test_reports_stay_with_their_results(place: tuple[CodeStorage, str, Path]) -> None:
    """A later call leaves the reports of an earlier one as they were."""
    storage, repo_id, _ = place
    retriever = CodeRetriever(storage, Broken())
    first = retriever.retrieve("charge an order", repo_id)
    assert retriever.retrieve(" ", repo_id).parts == ()
    assert [p.status for p in retriever.retrieve("order", repo_id, strategy="keyword").parts] == ["ok"]
    assert [p.status for p in first.parts] == ["ok", "failed"]


def test_the_path_names_the_repository_too(place: tuple[CodeStorage, str, Path]) -> None:
    """`repo_id` may be the repository's folder, and its UUID in capitals, with the same hits."""
    storage, repo_id, root = place
    retrieve = partial(CodeRetriever(storage, None).retrieve, "ledger", strategy="keyword")
    assert retrieve(repo_id) == retrieve(str(root)) == retrieve(repo_id.upper()) != []


def test_each_leg_gives_twice_the_limit(tmp_path: Path) -> None:
    """A hybrid search fetches twice as many of each leg as it returns, however many these are."""
    root = write(tmp_path / "many", {f"order{n}.py": f"def order(): return {n}\n" for n in range(70)})
    with open_code(tmp_path / "index", create=True) as storage:
        repo_id = index_path(storage, root, workers=1).repository
        hits = CodeRetriever(storage, Hashing()).retrieve("order", repo_id, limit=30, weights="vector=0")
    assert [part.hits >= 60 for part in hits.parts] == [True, True]


def test_a_blank_query_finds_nothing(place: tuple[CodeStorage, str, Path]) -> None:
    """A blank query, a limit of 0 and a leg that alone counts and finds none give no hits; a huge limit gives all."""
    storage, repo_id, _ = place
    assert CodeRetriever(storage, Odd(0), weights="keyword=0").retrieve("charge an order", repo_id) == []
    retriever = CodeRetriever(storage, None)
    assert retriever.retrieve("  ", repo_id, strategy="keyword") == []
    assert retriever.retrieve("order", repo_id, limit=0, strategy="keyword") == []
    assert 0 < len(retriever.retrieve("order", repo_id, limit=10_000, strategy="keyword")) < 100
