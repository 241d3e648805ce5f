"""A reader that opens beside merges reports no damage where a merge has just replaced files."""

import threading
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import index_path
from sleuth.engine import open_code
from sleuth.store.catalogue import building, manifest
from sleuth.store.catalogue.manifest import SegmentMissingError
from sleuth.store.store import Store
from tests.store.words import SumsLeg, put, read


@pytest.mark.parametrize("merges", [1, 3])
@pytest.mark.parametrize("is_writable", [True, False])
def test_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merges: int, is_writable: bool
) -> None:
    """Merges between reading the manifest and opening its files are no damage, in any number."""
    monkeypatch.setattr(building, "INLINE_BYTES", 0)
    with Store.open(tmp_path / "index", create=True) as writing:
        writing.attach([SumsLeg()])
        real, merges_left, is_merging = manifest.open_segment, merges, False
        reader = threading.get_ident()

        def merged_meanwhile(*arguments: Any, **options: Any) -> Any:
            nonlocal merges_left, is_merging
            # The thread that merges opens segments, too, and cannot wait for itself.
            if merges_left and not is_merging and threading.get_ident() == reader:
                merges_left, is_merging = merges_left - 1, True
                for number in (1, 2):
                    with writing.writer() as writer:
                        put(writer, f"document {merges_left} {number}", "some words")
                writing.compact()
                is_merging = False
            return real(*arguments, **options)

        with writing.writer() as writer:
            put(writer, "first", "text")
        with Store.open(tmp_path / "index") as reading:
            reading.writable = is_writable
            monkeypatch.setattr(manifest, "open_segment", merged_meanwhile)
            assert reading.attach([SumsLeg()]) == []
            assert merges_left == 0
            assert len(read(reading)) == 1 + 2 * merges


def test_a_segment_in_the_database_that_was_merged_meanwhile(tmp_path: Path) -> None:
    """A small segment whose entry is gone is missing as a file is, so that a reader of code looks for the new one."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("def first():\n    return 1\n", "utf-8")
    with open_code(tmp_path / "index", create=True) as storage:
        index_path(storage, tmp_path / "root", vectors=False)
        with storage.transaction() as connection:
            entry = next(entry for entry in manifest.entries(connection, "files") if entry.inline)
            manifest.drop(connection, [entry.name])
            with pytest.raises(SegmentMissingError):
                manifest.open_segment(connection, storage.path, entry)
