"""A file is proven once for all processes, until it changes or the machine restarts."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from sleuth.store import DOCUMENTS, ProofNotes, Store
from sleuth.store.catalogue import building, manifest, proof_notes, watch
from tests.store.words import SumsLeg, put
from tests.waiting import wait_until

PARTS = ["record", "segment"]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with one segment file; files need no age to be noted, and proofs begin at once."""
    monkeypatch.setattr(building, "INLINE_BYTES", 0)
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "a", *(["text"] * 500))
    monkeypatch.setattr(watch, "PATIENCE", 0.0)  # not before: the writer's own process would prove and note
    monkeypatch.setattr(watch, "SHARE", 1e9)
    monkeypatch.setattr(proof_notes, "_SETTLED_NS", -(1 << 62))
    return path


def segment_of(index: Path) -> Path:
    """Return the file of the segment."""
    (file,) = (index / "segments").iterdir()
    return file


def proofs(index: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], tuple[str, ...]]:
    """Open the index until its proof has ended: the parts whose bytes were read, and the damage."""
    parts: list[str] = []
    prove, prove_rows = manifest.Views.prove, Store._prove_rows

    def segment(views: manifest.Views, name: str, *more: object) -> bool:
        parts.append("segment")
        return prove(views, name, *more)  # type: ignore[arg-type]

    def rows(store: Store, *more: object) -> str:
        parts.append("record")
        return prove_rows(store, *more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(manifest.Views, "prove", segment)
        patch.setattr(Store, "_prove_rows", rows)
        with Store.open(index) as store:
            store.attach([SumsLeg()])
            with store.reader():
                pass
            wait_until(lambda: store._watch._thread is None)
            return sorted(parts), store.status().damage


def test_what_is_proven_is_not_proven_again(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process that opens the index reads nothing for a proof."""
    assert proofs(index, monkeypatch) == (PARTS, ())
    assert proofs(index, monkeypatch) == ([], ())


def test_a_change_is_proven(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed byte is found although the file has its old size and modification time; damage is never noted."""
    proofs(index, monkeypatch)
    file = segment_of(index)
    status, content = file.stat(), bytearray(file.read_bytes())
    content[-5] ^= 4
    with file.open("r+b") as stream:
        stream.write(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(2):
        parts, (damage,) = proofs(index, monkeypatch)
        assert parts == ["segment"]
        assert "sums not as written" in damage


def test_a_file_in_the_place_of_another_is_proven(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a proven file is another file."""
    proofs(index, monkeypatch)
    file = segment_of(index)
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.rename(file)
    assert proofs(index, monkeypatch) == (["segment"], ())


def test_commits_are_proven(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that came later are proven, and a segment that is the same is not."""
    proofs(index, monkeypatch)
    with Store.open(index) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            writer.note("name", "value")
    assert proofs(index, monkeypatch)[0] == ["record"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot": "other"}', '{"boot": "now", "files": 7}'])
def test_other_notes_do_not_count(index: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    """Notes of another start of the machine, and what is no note, prove nothing."""
    monkeypatch.setattr(proof_notes, "_boot", lambda: "now")
    proofs(index, monkeypatch)
    file = index / "proofs"
    assert json.loads(file.read_text())["boot"] == "now"
    if content.endswith('"other"}'):
        content = file.read_text().replace("now", "other")
    file.write_text(content)
    assert proofs(index, monkeypatch) == (PARTS, ())


def test_a_machine_without_a_name_for_its_start_notes_nothing(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process proves for itself where nobody can tell when the machine was started."""
    monkeypatch.setattr(proof_notes, "_boot", lambda: "")
    for _ in range(2):
        assert proofs(index, monkeypatch) == (PARTS, ())


def test_young_files_are_not_noted(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second change within the same tick of the file system would not show in the times."""
    monkeypatch.setattr(proof_notes, "_SETTLED_NS", 1 << 62)
    for _ in range(2):
        assert proofs(index, monkeypatch) == (PARTS, ())


def test_one_proves_at_a_time(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process waits for the first one."""
    monkeypatch.setattr(proof_notes, "_TURN", 0.01)
    other = ProofNotes(index, DOCUMENTS, lambda _: None)
    with other.turn(time.sleep), Store.open(index) as store:
        store.attach([SumsLeg()])
        with store.reader():
            pass
        time.sleep(0.1)
        assert store._watch._thread is not None
        assert not store._watch.proven
