"""What is kept beside the record: the salt that proves rows of an index, and the note of its newest version."""

import errno
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest
from sleuth.store.disk.files import DOCUMENTS
from sleuth.store.passages.blocks import Passages
from sleuth.store.record import mark
from sleuth.store.store import Store
from tests.store.words import SumsLeg, add, faults, opened, put

RECORD, PAGE = "record.sqlite", 8192
SIGN = 1 << 31
"""Checksums are stored as numbers with a sign."""


def make(path: Path, of: str) -> None:
    """An index whose documents have the ids and keys of any other, and other texts."""
    rng = random.Random(of)
    with Store.open(path, create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for i in range(120):
                put(writer, f"d{i}", " ".join([of, *rng.choices("abcdefghi", k=200)]))
            writer.put_embeddings("model", {f"{i:02x}": of.encode() * 9 for i in range(120)})


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexes, segments in files."""
    home = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "INLINE_BYTES", 0)
        make(home / "own", "own")
        make(home / "foreign", "foreign")
    return home


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of the first one."""
    return Path(shutil.copytree(sound / "own", tmp_path / "index"))


def texts(path: Path) -> Iterator[str]:
    """Texts of an index as far as they can be read."""
    with opened(path) as store, store.reader() as snapshot:
        for i in range(120):
            try:
                yield from (row.text for row in snapshot.chunks_of(f"d{i}"))
                yield from (vector.decode() for vector in snapshot.embeddings("model", [f"{i:02x}"]).values())
            except IndexDamagedError:
                continue


def test_no_page_of_another_index_gives_a_text(sound: Path, path: Path) -> None:
    """Whichever page is swapped with that of another index: its texts are never shown, before a repair and after it."""
    own, foreign = ((sound / name / RECORD).read_bytes() for name in ("own", "foreign"))
    assert len(own) > 5 * PAGE
    count = 0
    for start in range(0, len(own), PAGE):
        (path / RECORD).write_bytes(own[:start] + foreign[start : start + PAGE] + own[start + PAGE :])
        for step in ("damaged", "repaired"):
            try:
                if step == "repaired":
                    with opened(path) as store:
                        store.repair()
                        assert faults(store) == []
                page_texts = list(texts(path))
            except IndexDamagedError:
                continue
            assert all(text.startswith("own") for text in page_texts), (start, step)
            count += len(page_texts)
        shutil.rmtree(path)
        shutil.copytree(sound / "own", path)
    assert count > 1000


@pytest.mark.parametrize("change", ["value = '7'", "value = 'x'", "name = 'other'", "value = x'37'"])
def test_a_damaged_salt(path: Path, change: str) -> None:
    """A damaged salt is read from the file beside the record; a check reports it, and a repair restores it."""
    with closing(sqlite3.connect(path / RECORD)) as connection, connection:
        assert connection.execute(f"UPDATE meta SET {change} WHERE name = 'salt'").rowcount == 1
    with opened(path) as store:
        assert faults(store) == ["error record: its copy of the salt is damaged"]
        assert len(list(texts(path))) == 240
        assert any("salt" in repair.why for repair in store.repair())
    (path / "version").unlink()
    assert len(list(texts(path))) == 240
    with opened(path) as store:
        assert (
            store.check(full=True)[0].message
            == "the note of the newest version is missing; nothing is lost by that"
        )


@pytest.mark.parametrize("note", [None, b"damaged"])
def test_both_copies_of_the_salt_are_damaged(path: Path, note: bytes | None) -> None:
    """Without any copy of the salt no row can be proven: opening, checking and repairing say so."""
    with closing(sqlite3.connect(path / RECORD)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE name = 'salt'")
    (path / "version").unlink() if note is None else (path / "version").write_bytes(note)
    with pytest.raises(IndexDamagedError, match="both copies of the salt of the index"):
        list(texts(path))


@pytest.mark.parametrize("part", [RECORD, "version"])
def test_a_part_of_another_index(sound: Path, path: Path, part: str) -> None:
    """A record or a note in the place of another's is refused; without the note, the record is taken as it is."""
    shutil.copy(sound / "foreign" / part, path / part)
    with pytest.raises(IndexDamagedError, match="is of another index than its file version"):
        Store.open(path)
    (path / "version").unlink()
    if part == RECORD:
        with Store.open(path) as store, store.reader() as snapshot:
            assert snapshot.counts().documents == 120
            with pytest.raises(IndexDamagedError, match="'d7' is not as it was written"):
                snapshot.chunks_of("d7")
    else:
        assert [text.startswith("own") for text in texts(path)].count(True) == 240


def test_a_row_of_an_index_without_a_salt_is_damaged(path: Path) -> None:
    """A document whose checksum lacks the salt is of another index, and so are passages under another salt."""
    with opened(path) as store, store.reader() as snapshot:
        key = int(snapshot.segments("sums")[0].keys[0])
        salt = snapshot._connection.salt
        assert salt
        rows = snapshot.rows([key])
        (view,) = snapshot.segments("passages")
        segment = (view.key_list, view.arrays["offsets"], view.arrays["records"], -1, 0)
        assert Passages([segment], salt).rows([key]) == rows
        assert Passages([segment], salt ^ 1).damaged(view.keys) == list(range(120))
    with closing(sqlite3.connect(path / RECORD)) as connection, connection:
        connection.create_function("unsalted", 1, lambda checksum: ((checksum + SIGN) ^ salt) - SIGN)
        connection.execute("UPDATE documents SET checksum = unsalted(checksum) WHERE key = ?", (key,))
    with (
        Store.open(path) as store,
        store.reader() as snapshot,
        pytest.raises(IndexDamagedError, match="not as it was written"),
    ):
        snapshot.documents_at([key])


def test_a_note_that_cannot_be_read_counts_as_damaged(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk does not give the note, a check says that it is damaged; a missing one is version 0."""
    add(store, "a", "some words")
    assert mark.read(store.path).version == store.version
    with monkeypatch.context() as broken:
        broken.setattr(os, "pread", Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO))))
        assert mark.read(store.path) == mark.Mark(None)
    (store.path / DOCUMENTS.mark).unlink()
    assert mark.read(store.path) == mark.Mark(0)


@pytest.mark.parametrize("change", [b"", b"00", b"x" * 40], ids=["empty", "cut off", "other bytes"])
def test_a_damaged_note(store: Store, change: bytes) -> None:
    """A check reports a damaged note, and the next commit writes it again."""
    add(store, "a", "some words")
    (store.path / DOCUMENTS.mark).write_bytes(change)
    assert faults(store) == [
        "warning version: the note of the newest version is damaged; nothing is lost by that"
    ]
    add(store, "b", "some words")
    assert faults(store) == []


def test_any_other_digit_of_a_note_is_damage(store: Store) -> None:
    """A version or a salt that differs in one digit has another checksum."""
    add(store, "a", "some words")
    note = store.path / DOCUMENTS.mark
    whole = note.read_bytes()
    for place in range(len(whole) - 1):
        digit = b"8" if whole[place : place + 1] == b"7" else b"7"
        note.write_bytes(whole[:place] + digit + whole[place + 1 :])
        assert mark.read(store.path) == mark.Mark(None), place


def test_a_damaged_note_without_a_record_is_a_lost_index(store: Store) -> None:
    """A folder that holds a note, damaged or not, held an index: no new one is made there without a word."""
    add(store, "a", "some words")
    store.close()
    for file in (*store.path.glob("record.sqlite*"), *store.path.glob("segments/*")):
        file.unlink()
    for content in ((store.path / DOCUMENTS.mark).read_bytes(), b"damaged"):
        (store.path / DOCUMENTS.mark).write_bytes(content)
        with pytest.raises(IndexDamagedError, match="a note of version"):
            Store.open(store.path, create=True)
