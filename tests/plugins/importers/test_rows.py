"""Importing rows with their vectors from files."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError, EmbedderMismatchError
from sleuth.plugins.importers import import_vectors, read_vectors
from tests.commands import python, sleuth
from tests.plugins.importers.test_import import Counted

TEXTS = [f"tide {word} moon" for word in ("one", "two", "three", "four", "five", "six")]
VECTORS = np.array(Counted().embed_documents(TEXTS), np.float32)


def write_rows(folder: Path, texts: list[str]) -> Path:
    values = [{"id": f"t{n}", "text": text, "year": n} for n, text in enumerate(texts)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, values)))
    return folder / "rows.jsonl"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path, TEXTS)


def test_a_failed_import_leaves_no_empty_index(rows: Path, tmp_path: Path) -> None:
    """`sleuth index import vectors` that fails deletes the index that it made, and no other."""
    np.save(tmp_path / "few.npy", VECTORS[:4])
    command = ("index", "import", "vectors", rows.name, "--vectors", "few.npy", "--re-embed", "--index")
    process = sleuth(*command, "new", cwd=tmp_path)
    assert process.returncode == 2, process.stderr
    assert "vectors must be as many as rows" in process.stderr
    assert not (tmp_path / "new").exists()
    Engine.open(tmp_path / "old", create=True, embedder="").close()
    assert sleuth(*command, "old", cwd=tmp_path).returncode == 2
    assert (tmp_path / "old").exists()


def test_what_does_not_fit_is_refused(rows: Path, tmp_path: Path) -> None:
    """Another number of vectors, rows without text, other files and vectors of another model are refused by name."""
    np.save(tmp_path / "few.npy", VECTORS[:4])
    np.save(tmp_path / "many.npy", np.vstack((VECTORS, VECTORS)))
    np.save(tmp_path / "flat.npy", VECTORS[0])
    np.save(tmp_path / "other.npy", VECTORS[::-1])
    (tmp_path / "bad.npy").write_bytes(b"x")
    with Engine.open(tmp_path / "index", create=True, embedder=Counted()) as engine:
        for name, message in {
            "few.npy": "vectors must be as many as rows, got 4 for at least 5",
            "many.npy": "vectors must be as many as rows, got 12 for 6",
            "flat.npy": "vectors must be floats of shape",
            "bad.npy": "vectors must be a numpy file",
        }.items():
            with pytest.raises(ArgumentError, match=message):
                import_vectors(engine, read_vectors(rows, tmp_path / name))
        with pytest.raises(EmbedderMismatchError, match="embedder must be the one"):
            import_vectors(engine, read_vectors(rows, tmp_path / "other.npy"))
        with pytest.raises(ArgumentError, match=r"row 1 of .* must have a 'body'"):
            import_vectors(engine, read_vectors(rows, tmp_path / "many.npy", text_field="body"))
        with pytest.raises(ArgumentError, match="must have a 'vector'"):
            import_vectors(engine, read_vectors(rows))
        with pytest.raises(ArgumentError, match="path must be a file of"):
            import_vectors(engine, read_vectors(tmp_path / "few.npy"))


KILLED_IMPORT = """
import os, signal
from sleuth import Engine
from sleuth.plugins.importers import import_vectors, read_vectors
from sleuth.plugins.importers.stored import StoredVectors
from tests.plugins.importers.test_import import Counted

source = read_vectors("rows.jsonl", "vectors.npy")

def dying():
    for number, row in enumerate(source):
        if number == 1_200:
            os.kill(os.getpid(), signal.SIGKILL)
        yield row

with Engine.open("index", create=True, embedder=Counted()) as engine:
    import_vectors(engine, StoredVectors("rows", dying(), source.count))
"""


def test_an_import_that_was_killed_goes_on_where_its_last_commit_ended(tmp_path: Path) -> None:
    """Documents of committed batches are neither written nor embedded again, and the counts agree at the end."""
    texts = [f"tide {number} moon" for number in range(1_300)]
    rows = write_rows(tmp_path, texts)
    np.save(tmp_path / "vectors.npy", np.array(Counted().embed_documents(texts), np.float32))
    process = python(KILLED_IMPORT, cwd=tmp_path)
    assert process.returncode == -signal.SIGKILL, process.stderr
    embedder = Counted()
    with Engine.open(tmp_path / "index", embedder=embedder) as engine:
        assert engine.count().documents == 1_000
        report = import_vectors(engine, read_vectors(rows, tmp_path / "vectors.npy"))
        assert (report.unchanged, report.added, report.read, report.stored) == (1_000, 300, 1_300, 1_300)
        assert len(embedder.texts) == 3  # a sample, to compare
        assert engine.count("year<2").documents == 2
        vector = embedder.embed_query(texts[-1])
        (nearest,) = engine.nearest(vector, 1)
        assert embedder.embed_query(nearest.text) == vector
