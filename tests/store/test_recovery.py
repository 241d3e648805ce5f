"""A record with damaged pages is replaced by one with the rows that the program sqlite3 still reads."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth.errors import IndexDamagedError, IndexUnsafeError
from sleuth.store import DOCUMENTS, Repair, Store
from tests.store.programs import PROGRAMS, provide
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


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return which program recovers."""
    provide(request.param, tmp_path, monkeypatch)
    return str(request.param)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of documents of one to three chunks, some of them deleted or replaced."""
    rng = random.Random(1)
    path = tmp_path_factory.mktemp("original") / "index"
    with Store.open(path, create=True, settings={"analyzer": "plain"}) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for at in range(DOCUMENTS_ADDED):
                texts = [
                    "\n;'".join(rng.choices(WORDS, k=rng.randint(20, 60))) for _ in range(rng.randint(1, 3))
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


def recover(path: Path) -> list[Repair]:
    """Run what `sleuth doctor --repair` runs."""
    repairs = Store.recover(path)
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        return repairs + store.repair()


def test_any_zeroed_page_costs_only_what_it_held(
    original: Path, damaged: Callable[[int], Path], program: str
) -> None:
    """After the loss of any page, a repair succeeds, remaining rows are unchanged, and lost documents are named."""
    before = texts_of(original)
    rows = set(dict(leaves(original)).values()) | {page for _, page in leaves(original)}
    for page in range(1, pages_of(original) + 1):
        path = damaged(page)
        content = (path / DOCUMENTS.record).read_bytes()
        try:
            repairs = recover(path)
        except IndexDamagedError as error:
            assert "none of its rows can be recovered" in str(error)
            assert program == "stand-in"  # it needs the pages that lead to rows
            assert (path / DOCUMENTS.record).read_bytes() == content
            assert not list(path.glob("record.sqlite.*"))
            continue
        after = texts_of(path)
        assert after.items() <= before.items(), page
        with Store.open(path) as store:
            store.attach([SumsLeg()])
            assert faults(store) == [], page
        if any("its structure was damaged" in repair.why for repair in repairs):
            (aside,) = path.glob("record.sqlite.*")
            assert aside.name == "record.sqlite.damaged-1"
            assert aside.read_bytes() == content
            assert aside.stat().st_mode & 0o777 == 0o600
        lost_documents = {name.rpartition("#")[0] for name in before.keys() - after.keys()}
        assert lost_documents <= {repair.what for repair in repairs}, page
        assert not lost_documents or page in rows or program == "stand-in", page


@pytest.mark.usefixtures("program")
def test_a_leaf_costs_few_documents(original: Path, damaged: Callable[[int], Path]) -> None:
    """At least seven of ten documents survive the loss of one leaf page, and the others are named."""
    total = documents_in(original)
    for _, page in leaves(original):
        path = damaged(page)
        repairs = recover(path)
        count = documents_in(path)
        assert 0.7 * total <= count < total, page
        names = [repair for repair in repairs if repair.what.endswith(".txt")]
        assert len(names) == total - count


@pytest.mark.parametrize("program", ["sqlite3"], indirect=True)
@pytest.mark.usefixtures("program")
def test_a_record_that_does_not_open_is_replaced(damaged: Callable[[int], Path]) -> None:
    """Without the first page SQLite cannot open the record, but no row is lost."""
    path = damaged(1)
    repairs = recover(path)
    assert any("its structure was damaged" in repair.why for repair in repairs)
    assert (path / DOCUMENTS.record).stat().st_mode & 0o777 == 0o600
    assert not [repair for repair in repairs if repair.what.endswith(".txt")]
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        assert store.settings == {"analyzer": "plain"}
        with store.writer() as writer:
            put(writer, "new", "a new text")
        assert read(store)["new#0"] == "a new text"


@pytest.mark.parametrize("name", ["record.sqlite.new", "record.sqlite.damaged-1"])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.usefixtures("program")
def test_links_where_a_recovery_writes(
    original: Path, damaged: Callable[[int], Path], name: str, ending: str
) -> None:
    """A recovery follows no link that stands where it or SQLite would make a file."""
    path = damaged(next(page for _, page in leaves(original)))
    precious = path.parent / "precious"
    precious.write_text("precious" * 1_000)
    (path / f"{name}{ending}").symlink_to(precious)
    with suppress(IndexUnsafeError):
        recover(path)
    assert precious.read_text() == "precious" * 1_000


@pytest.mark.usefixtures("program")
def test_commits_in_the_log_are_recovered(
    original: Path, damaged: Callable[[int], Path], tmp_path: Path
) -> None:
    """What was committed and not yet copied into the damaged file is kept."""
    page = next(page for table, page in leaves(original) if table == "chunks")
    path = damaged(page)
    shutil.copytree(original, tmp_path / "open")
    with Store.open(tmp_path / "open") as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "new", "a new text")
        log = (tmp_path / "open" / f"{DOCUMENTS.record}-wal").read_bytes()
        shutil.copytree(tmp_path / "open", path, dirs_exist_ok=True)
    assert log
    zero(path, page)
    (path / f"{DOCUMENTS.record}-shm").unlink()
    recover(path)
    assert texts_of(path)["new#0"] == "a new text"


@pytest.mark.parametrize("program", ["sqlite3"], indirect=True)
@pytest.mark.usefixtures("program")
def test_a_record_that_was_cut_off(original: Path, damaged: Callable[[int], Path]) -> None:
    """Documents before the end of a truncated file are kept, and the others are named."""
    before = texts_of(original)
    path = damaged(pages_of(original))
    file = path / DOCUMENTS.record
    file.write_bytes(file.read_bytes()[: pages_of(path) * 2 // 3 * PAGE])
    repairs = recover(path)
    after = texts_of(path)
    assert after
    assert after.items() < before.items()
    lost_documents = {name.rpartition("#")[0] for name in before.keys() - after.keys()}
    subjects = {repair.what for repair in repairs}
    assert lost_documents <= subjects or any("ids cannot be read" in repair.why for repair in repairs)


@pytest.mark.usefixtures("program")
def test_a_record_without_a_page_of_its_own(original: Path, damaged: Callable[[int], Path]) -> None:
    """A record without any valid page is refused and stays unchanged."""
    path = damaged(1)
    file = path / DOCUMENTS.record
    file.write_bytes(bytes(pages_of(original) * PAGE))
    with pytest.raises(IndexDamagedError, match="restore a backup"):
        Store.recover(path)
    assert not any(file.read_bytes())
    assert not list(path.glob("*.damaged-*"))


@pytest.mark.usefixtures("program")
def test_each_recovery_keeps_its_own_copy(original: Path, damaged: Callable[[int], Path]) -> None:
    """After a recovery a store has its settings and a later version, reads and writes; a second copy has its number."""
    path = damaged(next(page for _, page in leaves(original)))
    for number in (1, 2):
        with Store.open(path) as store:
            version = store.version
            with pytest.raises(IndexDamagedError, match="is damaged"):
                store.repair()
        repairs = recover(path)
        assert any(f"kept as record.sqlite.damaged-{number}" in repair.why for repair in repairs)
        with Store.open(path) as store:
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
    """A sound record is not replaced, and no copy is made."""
    assert Store.recover(original) == []
    assert not list(original.glob("*.damaged-*"))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("", "the program sqlite3 would recover its rows, but it is not installed"),
        ("#!/bin/sh\necho THREADSAFE=1\n", "built without ENABLE_DBPAGE_VTAB"),
    ],
)
def test_without_the_program(
    original: Path,
    damaged: Callable[[int], Path],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    message: str,
) -> None:
    """Without a program that recovers, nothing changes; the error says how to get one and names the other remedies."""
    path = damaged(next(page for _, page in leaves(original)))
    programs = path / "programs"
    programs.mkdir()
    if script:
        (programs / "sqlite3").write_text(script)
        (programs / "sqlite3").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    content = (path / DOCUMENTS.record).read_bytes()
    with pytest.raises(IndexDamagedError, match=message) as error:
        Store.recover(path)
    for remedy in ("https://sqlite.org/download.html", "restore a backup", "`sleuth index`"):
        assert remedy in str(error.value)
    assert (path / DOCUMENTS.record).read_bytes() == content
    assert not list(path.glob("*.damaged-*"))


def test_a_flood_of_rows_is_cut_off(
    original: Path, damaged: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose pages repeat their rows without end is refused; the program stops."""
    path = damaged(next(page for _, page in leaves(original)))
    programs = path / "programs"
    programs.mkdir()
    (programs / "sqlite3").write_text(
        '#!/bin/sh\ncase "$*" in *options*) echo ENABLE_DBPAGE_VTAB ;; *) exec /usr/bin/yes "INSERT $(pwd)'
        + " " * 2_000
        + ';" ;; esac\n'
    )
    (programs / "sqlite3").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(IndexDamagedError, match="none of its rows can be recovered"):
        Store.recover(path)
