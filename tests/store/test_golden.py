"""This version reads, searches, checks and writes an index of each released format."""

import json
import shutil
from pathlib import Path

import pytest

from sleuth.store.catalogue import manifest
from sleuth.store.health.replacing import rebuilding, take_over
from sleuth.store.store import Store
from tests.store.golden.make import HERE, NEWEST, facts, legs
from tests.store.words import faults, put


@pytest.mark.parametrize("folder", sorted(HERE.glob("format-*")), ids=lambda folder: folder.name)
def test_golden_index(folder: Path, tmp_path: Path) -> None:
    """Rows, documents, vectors and hits equal the recorded ones, and segments are used unchanged."""
    path = tmp_path / "index"
    shutil.copytree(folder / "index", path)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf8"))
    with Store.open(path) as store:
        with store._connection() as connection:
            fingerprints = {entry.fingerprint for entry in manifest.entries(connection)}
        repairs = store.attach(legs())
        assert {repair.what for repair in repairs} == {
            leg.name for leg in legs() if leg.fingerprint not in fingerprints
        }
        with store.reader() as snapshot:
            assert json.loads(json.dumps(facts(snapshot))) == expected
        assert faults(store) == []
        with store.writer() as writer:
            put(writer, "new", "words")
            writer.delete(["p1"])
        assert faults(store) == []


def test_an_index_is_taken_over(tmp_path: Path) -> None:
    """Passages and vectors of an index are those of the index in its place."""
    path = tmp_path / "index"
    shutil.copytree(NEWEST / "index", path)
    with rebuilding(path) as beside, Store.open(beside) as store, store.writer() as writer:
        take_over(path, writer)
    expected = json.loads((NEWEST / "expected.json").read_text(encoding="utf8"))
    with Store.open(path) as store:
        store.attach(legs())
        with store.writer():
            pass  # removes segments of the earlier index
        with store.reader() as snapshot:
            taken = json.loads(json.dumps(facts(snapshot)))
        assert faults(store) == []
    assert {name: taken[name] for name in ("rows", "vectors", "hits")} == {
        name: expected[name] for name in ("rows", "vectors", "hits")
    }
