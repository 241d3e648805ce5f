"""Imports that need no other package: dumps of Elasticsearch, the pickle of FAISS, counts, progress and going on."""

import datetime
import io
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.errors import ArgumentError, MissingPackageError, StoreError
from sleuth.plugins.importers import import_vectors, read_elasticsearch, read_faiss, read_qdrant
from sleuth.plugins.importers.faiss import DataUnpickler
from sleuth.plugins.importers.stored import StoredVector, StoredVectors
from tests.commands import sleuth
from tests.vector_store.conftest import Words

TEXTS = [f"tide {word} moon" for word in ("one", "two", "three", "four", "five", "six")]


def rows(count: int | None = len(TEXTS), stop: int = len(TEXTS)) -> StoredVectors:
    """Return documents with their vectors, of which some are read."""
    vectors = Words().embed_documents(TEXTS)
    documents = [Document(text, {"n": n}, id=f"t{n}") for n, text in enumerate(TEXTS)]
    return StoredVectors("a store", map(StoredVector, documents[:stop], vectors), count)


class Once(Words):
    """An embedder that may embed the sample alone."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        assert len(texts) <= 3
        return super().embed_documents(texts)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "index", create=True, embedder=Once()) as engine:
        yield engine


def test_counts_are_compared_at_the_end(engine: Engine) -> None:
    """Another number than the store says is an error that names both; what was read stays."""
    with pytest.raises(StoreError, match="must give the 9 documents that it says it has, got 6"):
        import_vectors(engine, rows(9))
    assert engine.count().documents == 6
    steps: list[int] = []
    report = import_vectors(engine, rows(), progress=lambda now: steps.append(now.read))
    assert (report.stored, report.read, report.unchanged, steps) == (6, 6, 6, [6])


def test_documents_without_text_are_counted(engine: Engine) -> None:
    """They are left out, and the report says how many."""
    blank = StoredVector(Document(" ", id="blank"), [1.0] * 64)
    report = import_vectors(engine, StoredVectors("a store", [*rows(), blank], 7))
    assert (report.read, report.added, report.blank) == (7, 6, 1)


def test_an_import_with_vectors_needs_the_whole_index(engine: Engine) -> None:
    """A view of some documents refuses rows with vectors, and adds nothing."""
    with pytest.raises(ArgumentError, match=r"scope must be None to|re_embed must be True"):
        import_vectors(engine.scoped("tenant:us"), rows())
    assert engine.count().documents == 0


SOURCES = [
    {"doc": {"body": text, "lang": "en"}, "ml": {"v": [1.0, n]}, "year": n} for n, text in enumerate(TEXTS)
]
HITS = [{"_index": "x", "_id": f"d{n}", "_source": source} for n, source in enumerate(SOURCES)]


@pytest.mark.parametrize("pages", [False, True])
def test_a_dump_of_elasticsearch(tmp_path: Path, pages: bool) -> None:
    """Hits and pages of a scroll give the same documents; a path of names reaches into objects, and leaves them."""
    total = {"value": len(HITS), "relation": "eq"}
    chunks = [
        {"_scroll_id": "s", "hits": {"total": total, "hits": HITS[start : start + 4]}} for start in (0, 4)
    ]
    path = tmp_path / "dump.jsonl"
    path.write_text("\n".join(map(json.dumps, chunks if pages else HITS)))
    source = read_elasticsearch(path, text_field="doc.body", vector_field="ml.v")
    assert source.count == (len(HITS) if pages else None)
    first, *_, last = source
    assert first.document == Document(TEXTS[0], {"doc": {"lang": "en"}, "year": 0}, id="d0")
    assert (last.document.id, last.vector) == ("d5", [1.0, 5])


def test_a_total_that_is_a_bound_is_no_count(tmp_path: Path) -> None:
    """Elasticsearch stops counting at 10,000 hits."""
    path = tmp_path / "dump.jsonl"
    path.write_text(json.dumps({"hits": {"total": {"value": 10_000, "relation": "gte"}, "hits": []}}))
    assert read_elasticsearch(path).count is None


def test_the_command_imports_a_dump(tmp_path: Path) -> None:
    """Without a vector field the index makes the vectors; a second run changes nothing, and wrong fields are named."""
    (tmp_path / "dump.jsonl").write_text("\n".join(map(json.dumps, HITS)))
    command = ("index", "import", "elasticsearch", "dump.jsonl", "--index", "ix", "--text-field")
    done = sleuth(*command, "doc.body", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 documents read: 6 added" in " ".join(done.stdout.split())
    again = sleuth(*command, "doc.body", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["unchanged"] == 6
    wrong = sleuth(*command, "body", cwd=tmp_path)
    assert (wrong.returncode, "must have a 'body'" in wrong.stderr) == (2, True)
    other = sleuth(*command, "doc.body", "--vector-field", "v", cwd=tmp_path)
    assert (other.returncode, "must have a 'v'" in other.stderr) == (2, True)


class Hostile:
    """An object whose pickle calls a function when it is read as usual."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize(
    "value",
    [Hostile(eval, "1/0"), Hostile(getattr, str, "join"), Hostile(io.BytesIO), [Document("x")], Path("x")],
)
def test_a_pickle_runs_nothing(value: object) -> None:
    """Functions and classes other than those of values are refused before they are called."""
    with pytest.raises(pickle.UnpicklingError, match="which is not read"):
        DataUnpickler(io.BytesIO(pickle.dumps(value))).load()


def test_a_pickle_holds_values() -> None:
    """Texts, numbers, lists, sets, dates and times are read."""
    values = {"a": [1, 2.5, None, b"x"], "day": datetime.date(2026, 1, 2), "set": {1}}
    assert DataUnpickler(io.BytesIO(pickle.dumps(values))).load() == values


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A folder of another kind is named, or the package that is missing."""
    with pytest.raises(ArgumentError, match=r"index\.faiss"):
        read_faiss(tmp_path)
    with pytest.raises((ArgumentError, MissingPackageError), match=r"meta\.json|'sleuth\[imports\]'"):
        read_qdrant(tmp_path)
