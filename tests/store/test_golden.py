"""This version reads, searches, checks and writes an index of each released format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sleuth.store.catalogue import manifest
from sleuth.store.store import Store
from tests.store.golden.make import HERE, facts, legs
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
