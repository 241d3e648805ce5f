"""The note of the newest version, which is kept beside the record."""

import errno
import os
from unittest.mock import Mock

import pytest

from sleuth.errors import IndexDamagedError
from sleuth.store.disk.files import DOCUMENTS
from sleuth.store.record import mark
from sleuth.store.store import Store
from tests.store.words import faults, put


def add(store: Store, name: str) -> None:
    """Commit a document."""
    with store.writer() as writer:
        put(writer, name, "some words")


def test_a_note_that_cannot_be_read_counts_as_damaged(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk does not give the note, a check says that it is damaged; a missing one is version 0."""
    add(store, "a")
    assert mark.read(store.path).version == store.version
    with monkeypatch.context() as broken:
        broken.setattr(os, "pread", Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO))))
        assert mark.read(store.path) == mark.Mark(None)
    (store.path / DOCUMENTS.mark).unlink()
    assert mark.read(store.path) == mark.Mark(0)


@pytest.mark.parametrize("change", [b"", b"00", b"x" * 40], ids=["empty", "cut off", "other bytes"])
def test_a_damaged_note(store: Store, change: bytes) -> None:
    """A check reports a damaged note, and the next commit writes it again."""
    add(store, "a")
    (store.path / DOCUMENTS.mark).write_bytes(change)
    assert faults(store) == [
        "warning version: the note of the newest version is damaged; nothing is lost by that"
    ]
    add(store, "b")
    assert faults(store) == []


def test_any_other_digit_of_a_note_is_damage(store: Store) -> None:
    """A version or a salt that differs in one digit has another checksum."""
    add(store, "a")
    note = store.path / DOCUMENTS.mark
    whole = note.read_bytes()
    for place in range(len(whole) - 1):
        digit = b"8" if whole[place : place + 1] == b"7" else b"7"
        note.write_bytes(whole[:place] + digit + whole[place + 1 :])
        assert mark.read(store.path) == mark.Mark(None), place


def test_a_damaged_note_without_a_record_is_a_lost_index(store: Store) -> None:
    """A folder that holds a note, damaged or not, held an index: no new one is made there without a word."""
    add(store, "a")
    store.close()
    for file in (*store.path.glob("record.sqlite*"), *store.path.glob("segments/*")):
        file.unlink()
    for content in ((store.path / DOCUMENTS.mark).read_bytes(), b"damaged"):
        (store.path / DOCUMENTS.mark).write_bytes(content)
        with pytest.raises(IndexDamagedError, match="a note of version"):
            Store.open(store.path, create=True)
