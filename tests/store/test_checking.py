"""A check distinguishes damage from the work of a concurrent writer."""

from pathlib import Path
from typing import Any

import pytest

from sleuth.store.catalogue import manifest, segment_files, segments
from sleuth.store.store import Store
from tests.store.words import faults, put_passages, read

ROWS = 1_000


@pytest.fixture(autouse=True)
def segments_are_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every segment into a file rather than into the record."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)


def add(store: Store, name: str, rows: int = ROWS) -> None:
    """Add a document in its own commit, and thus a segment."""
    ids = [f"{name}{i:06}" for i in range(rows)]
    with store.writer() as writer:
        put_passages(writer, ids, ids, ["00"] * rows)
    store.wait()


def test_a_merge_during_a_check_is_no_damage(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that a merge deletes during a check are not reported."""
    add(store, "a", 8 * ROWS)  # too large to be merged with the next one by itself
    add(store, "b")
    assert len(list((store.path / "segments").iterdir())) == 4
    really = manifest.open_segment

    def after_a_merge(*where: Any, **how: Any) -> segments.Opened:
        monkeypatch.setattr(manifest, "open_segment", really)
        for kind in ("passages", "sums"):
            merge_result = store._merge([kind], whole=True)
            assert merge_result
            store._merges.ready.append(merge_result)
        with store.writer():
            pass
        assert len(list((store.path / "segments").iterdir())) == 2
        return really(*where, **how)

    monkeypatch.setattr(manifest, "open_segment", after_a_merge)
    assert faults(store) == []


def test_a_commit_during_a_check_leaves_no_orphan(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment that is committed during a check is not an orphan."""
    add(store, "a")
    really = segment_files.orphans

    def after_a_commit(folder: Path, names: set[str]) -> list[Path]:
        monkeypatch.setattr(segment_files, "orphans", really)
        add(store, "b", 8 * ROWS)
        return really(folder, names)

    monkeypatch.setattr(segment_files, "orphans", after_a_commit)
    assert faults(store) == []


@pytest.mark.parametrize("kind", ["sums", "passages"])
def test_a_file_that_is_gone_is_missed(store: Store, kind: str) -> None:
    """A missing file of the newest version is an error, also without its folder; a file of no version is reported.

    Documents whose passages are gone are named, and a repair removes them.
    """
    add(store, "a")
    (file,) = (store.path / "segments").glob(f"{kind}-*")
    file.rename(file.with_name("other.seg"))
    lost = [f"error record: {ROWS} documents are not as they were written: 'a000000', 'a000001', 'a000002', 'a000003', "
            "'a000004', ..."]  # fmt: skip
    assert faults(store) == [
        *(lost if kind == "passages" else []),
        f"error {kind}: segment {file.stem}: its file is missing",
        f"error {kind}: {ROWS} of {ROWS} chunks are in no sound segment",
        "warning other.seg: Sleuth did not write this file, and leaves it alone",
    ]
    file.with_name("other.seg").unlink()
    assert store.repair()
    assert faults(store) == []
    assert len(read(store)) == (0 if kind == "passages" else ROWS)
