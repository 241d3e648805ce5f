"""A record with damaged pages is rebuilt from its readable pages."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth.errors import IndexDamagedError, IndexUnsafeError
from sleuth.store import Repair, Store, text_hash
from sleuth.store.disk import DOCUMENTS
from sleuth.store.record import codebook
from tests.store.test_codebook import prose
from tests.store.words import SumsLeg, faults, put, read

DOCUMENTS_ADDED = 150
PAGE = 8192
WORDS = [
    "record",
    "page",
    "salvage",
    "checksum",
    "document",
    "chunk",
    "segment",
    "reader",
    "writer",
    "commit",
]


@pytest.fixture(scope="module", params=[1])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of documents of one to three chunks, some of them deleted or replaced."""
    rng = random.Random(request.param)
    path = tmp_path_factory.mktemp("original") / "index"
    with Store.open(path, create=True, settings={"analyzer": "plain"}) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for at in range(DOCUMENTS_ADDED):
                texts = [
                    " ".join(rng.choices(WORDS, k=rng.randint(20, 60))) for _ in range(rng.randint(1, 3))
                ]
                put(writer, f"{at:04}.txt", *texts, metadata={"about": " ".join(rng.choices(WORDS, k=40))})
        with store.writer() as writer:
            writer.delete([f"{at:04}.txt" for at in range(0, 60, 2)])
            put(writer, "0100.txt", "replaced")
        store.compact()
    return path


@pytest.fixture
def damaged(original: Path, tmp_path: Path) -> Callable[[int], Path]:
    """Copy the index and zero one page of its record."""

    def copy(page: int) -> Path:
        folder = tmp_path / f"page-{page}"
        (folder / DOCUMENTS.segments).mkdir(parents=True)
        for file in original.rglob("*"):
            if file.is_file():
                (folder / file.relative_to(original)).write_bytes(file.read_bytes())
        zero(folder, page)
        return folder

    return copy


def zero(path: Path, page: int) -> None:
    content = bytearray((path / DOCUMENTS.record).read_bytes())
    content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    (path / DOCUMENTS.record).write_bytes(content)


def texts_of(path: Path) -> dict[str, str]:
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        return read(store)


def documents_in(path: Path) -> int:
    with Store.open(path) as store:
        return store.status().counts.documents


def leaves(path: Path) -> Iterator[tuple[str, int]]:
    """Return table and number of all leaf pages of `documents` and `chunks`, as their parents name them."""
    content = (path / DOCUMENTS.record).read_bytes()
    with sqlite3.connect(path / DOCUMENTS.record) as connection:
        roots = connection.execute(
            "SELECT name, rootpage FROM sqlite_schema WHERE name IN ('documents', 'chunks')"
        ).fetchall()
    connection.close()
    for table, root in roots:
        at = (root - 1) * PAGE
        assert content[at] == 5, "the root is to be an interior page"
        cells = int.from_bytes(content[at + 3 : at + 5], "big")
        pointers = [int.from_bytes(content[at + 12 + 2 * i : at + 14 + 2 * i], "big") for i in range(cells)]
        yield table, int.from_bytes(content[at + 8 : at + 12], "big")
        for pointer in pointers:
            yield table, int.from_bytes(content[at + pointer : at + pointer + 4], "big")


def pages_of(path: Path) -> int:
    return (path / DOCUMENTS.record).stat().st_size // PAGE


def salvage(path: Path) -> list[Repair]:
    """Run what `sleuth doctor --repair` runs."""
    repairs = Store.salvage(path)
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        return repairs + store.repair()


def test_any_zeroed_page_costs_only_what_it_held(original: Path, damaged: Callable[[int], Path]) -> None:
    """After the loss of any page, a repair succeeds, remaining rows are unchanged, and lost documents are named."""
    before = texts_of(original)
    rows = set(dict(leaves(original)).values()) | {page for _, page in leaves(original)}
    for page in range(1, pages_of(original) + 1):
        path = damaged(page)
        content = (path / DOCUMENTS.record).read_bytes()
        repairs = salvage(path)
        after = texts_of(path)
        assert after.items() <= before.items(), page
        with Store.open(path) as store:
            store.attach([SumsLeg()])
            assert faults(store) == [], page
        if any("its structure was damaged" in repair.why for repair in repairs):
            (aside,) = path.glob("record.sqlite.damaged-*")
            assert aside.read_bytes()[PAGE:] == content[PAGE:]  # the first page counts the writes of the file
            assert aside.stat().st_mode & 0o777 == 0o600
        gone = {name.rpartition("#")[0] for name in before.keys() - after.keys()}
        assert gone <= {repair.what for repair in repairs}, page
        assert not gone or page in rows, page


def test_a_leaf_costs_few_documents(original: Path, damaged: Callable[[int], Path]) -> None:
    """At least seven of ten documents survive the loss of one leaf page, and the others are named."""
    total = documents_in(original)
    for _, page in leaves(original):
        path = damaged(page)
        repairs = salvage(path)
        left = documents_in(path)
        assert 0.7 * total <= left < total, page
        named = [repair for repair in repairs if repair.what.endswith(".txt")]
        assert len(named) == total - left


def test_a_record_that_does_not_open_is_replaced(damaged: Callable[[int], Path]) -> None:
    """Without the first page SQLite cannot open the record, but no row is lost."""
    path = damaged(1)
    content = (path / DOCUMENTS.record).read_bytes()
    repairs = salvage(path)
    assert any("its structure was damaged" in repair.why for repair in repairs)
    assert (path / "record.sqlite.damaged-1").read_bytes() == content
    assert (path / DOCUMENTS.record).stat().st_mode & 0o777 == 0o600
    assert not [repair for repair in repairs if repair.what.endswith(".txt")]
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "new", "a new text")
        assert read(store)["new#0"] == "a new text"


@pytest.mark.parametrize("name", ["record.sqlite.new", "record.sqlite.damaged-1"])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_links_where_a_salvage_writes(damaged: Callable[[int], Path], name: str, ending: str) -> None:
    """A salvage follows no link that stands where it or SQLite would make a file."""
    path = damaged(1)
    precious = path.parent / "precious"
    precious.write_text("precious" * 1_000)
    (path / f"{name}{ending}").symlink_to(precious)
    with suppress(IndexUnsafeError):
        salvage(path)
    assert precious.read_text() == "precious" * 1_000


def test_a_record_that_was_cut_off(original: Path, damaged: Callable[[int], Path]) -> None:
    """Documents before the end of a truncated file are kept, and the others are named."""
    before = texts_of(original)
    path = damaged(pages_of(original))
    file = path / DOCUMENTS.record
    file.write_bytes(file.read_bytes()[: pages_of(path) * 2 // 3 * PAGE])
    repairs = salvage(path)
    after = texts_of(path)
    assert after
    assert after.items() < before.items()
    gone = {name.rpartition("#")[0] for name in before.keys() - after.keys()}
    subjects = {repair.what for repair in repairs}
    assert gone <= subjects or any("ids cannot be read" in repair.why for repair in repairs)


def test_a_record_without_a_page_of_its_own(original: Path, damaged: Callable[[int], Path]) -> None:
    """A record without any valid page is refused and stays unchanged."""
    path = damaged(1)
    file = path / DOCUMENTS.record
    file.write_bytes(bytes(pages_of(original) * PAGE))
    with pytest.raises(IndexDamagedError, match="restore it from a copy"):
        Store.salvage(path)
    assert not any(file.read_bytes())
    assert not list(path.glob("*.damaged-*"))


def test_an_open_store_goes_on_after_a_salvage(original: Path, damaged: Callable[[int], Path]) -> None:
    """After repairing its record, a store keeps its settings, reads and writes; each repair keeps its own copy."""
    path = damaged(next(page for _, page in leaves(original)))
    for number in (1, 2):
        with Store.open(path) as store:
            version = store.version
            repairs = store.repair()
            assert any(f"kept as record.sqlite.damaged-{number}" in repair.why for repair in repairs)
            assert store.version > version
            assert store.settings == {"analyzer": "plain"}
            store.attach([SumsLeg()])
            with store.writer() as writer:
                put(writer, f"new {number}", "a new text")
            assert read(store)[f"new {number}#0"] == "a new text"
            assert faults(store) == []
            store.compact()
        assert (path / f"record.sqlite.damaged-{number}").is_file()
        zero(path, next(page for _, page in leaves(path)))


def test_a_sound_record_is_left_alone(original: Path) -> None:
    """A sound record is not salvaged, and no copy is made."""
    assert Store.salvage(original) == []
    assert not list(original.glob("*.damaged-*"))


def test_a_torn_write_costs_no_codebook(tmp_path: Path) -> None:
    """Wherever 64 kB are lost, more than a disk writes at once, one copy of the codebook is left, and so are the texts
    that lie elsewhere: all copies together would cost every text."""
    torn = 64 << 10
    texts = prose(codebook.LEARNING_BYTES // 300)
    with Store.open(tmp_path / "original", create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            writer.put_passages(
                [f"d{i}" for i in range(len(texts))], texts, [text_hash(text) for text in texts]
            )
        assert store._database.checkpoint(force=True)
        with store._connection() as connection:
            (content,) = connection.execute("SELECT symbols FROM codebooks").fetchone()
    whole = (tmp_path / "original" / DOCUMENTS.record).read_bytes()
    first = whole.index(content[2_000:2_050])
    second = whole.index(content[2_000:2_050], first + 50)
    for number, place in enumerate((0, first, second)):
        path = tmp_path / f"torn-{number}"
        shutil.copytree(tmp_path / "original", path)
        start = max(0, place - torn // 2)
        record = whole[:start] + bytes(len(whole[start : start + torn])) + whole[start + torn :]
        (path / DOCUMENTS.record).write_bytes(record)
        salvage(path)
        left = set(texts_of(path).values())
        assert left <= set(texts)
        assert len(left) > len(texts) / 2
