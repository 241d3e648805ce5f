"""A code database with damaged pages is replaced by one with the rows that the program sqlite3 still reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots import health
from sleuth.engine import Diagnosis, mend, open_code
from sleuth.errors import IndexDamagedError
from sleuth.store import CODE
from tests.store.programs import PROGRAMS, provide

PAGE = 8192


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a code index of two snapshots, beside the indexed folder."""
    home = tmp_path_factory.mktemp("original")
    (home / "root").mkdir()
    with open_code(home / "index", create=True) as storage:
        for n in range(2):
            for m in range(16):
                text = f"def refill_{m}_{n}(bucket):\n    return bucket + {m}\n\n\nclass Cart{m}:\n    size = {n}\n"
                (home / "root" / f"m{m}.py").write_text(text * (1 + m % 3))
            index_path(storage, home / "root")
    return home


def answers(path: Path) -> set[tuple[str, str]]:
    """Return the hits of queries at the newest snapshot."""
    with open_code(path) as storage:
        (repository,) = storage.repositories()
        retriever = CodeRetriever(storage, None)
        return {
            (hit.file_path, hit.content)
            for query in ("refill bucket 7", "class Cart12", "size")
            for hit in retriever.retrieve(query, repository.id, strategy="keyword", limit=50)
        }


def faults(path: Path) -> list[str]:
    with open_code(path) as storage:
        return [finding.message for finding in health.check(storage, full=True) if finding.level == "error"]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return which program recovers."""
    provide(request.param, tmp_path, monkeypatch)
    return str(request.param)


def was_replaced(repairs: list[Diagnosis]) -> bool:
    return any("its structure was damaged" in repair.message for repair in repairs)


def test_any_zeroed_page_costs_only_what_it_held(original: Path, tmp_path: Path, program: str) -> None:
    """After the loss of any page, a repair succeeds or changes nothing; indexing again restores what was lost."""
    whole = answers(original / "index")
    content = (original / "index" / CODE.record).read_bytes()
    replaced = 0
    for page in range(1, len(content) // PAGE + 1):
        path = tmp_path / f"page-{page}"
        shutil.copytree(original / "index", path)
        damaged = content[: (page - 1) * PAGE] + bytes(PAGE) + content[page * PAGE :]
        (path / CODE.record).write_bytes(damaged)
        try:
            repairs = mend(path)
        except IndexDamagedError as error:
            assert "none of its rows can be recovered" in str(error)
            assert (path / CODE.record).read_bytes() == damaged
            assert not list(path.glob(f"{CODE.record}.damaged-*"))
            continue
        assert faults(path) == [], page
        with open_code(path) as storage:
            assert [repository.path for repository in storage.repositories()] == [str(original / "root")], (
                page
            )
            index_path(storage, original / "root")
        assert answers(path) == whole, page
        if was_replaced(repairs):
            replaced += 1
            (aside,) = path.glob(f"{CODE.record}.damaged-*")
            assert aside.stat().st_mode & 0o777 == 0o600
        shutil.rmtree(path)
    assert replaced > (20 if program == "sqlite3" else 5)


@pytest.mark.parametrize("program", ["sqlite3"], indirect=True)
@pytest.mark.usefixtures("program")
def test_a_database_that_was_cut_off(original: Path, tmp_path: Path) -> None:
    """The contents before the end of a truncated file are kept."""
    shutil.copytree(original / "index", tmp_path / "index")
    file = tmp_path / "index" / CODE.record
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 3 // 4])
    assert was_replaced(mend(tmp_path / "index"))
    with open_code(tmp_path / "index") as storage:
        index_path(storage, original / "root")
    assert answers(tmp_path / "index") == answers(original / "index")


def test_without_the_program(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the program nothing changes, and the error names the other remedies."""
    path = Path(shutil.copytree(original / "index", tmp_path / "index"))
    file = path / CODE.record
    file.write_bytes(file.read_bytes()[:-PAGE])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IndexDamagedError, match=r"is not installed.*`sleuth code index`"):
        mend(path)
    assert not list(path.glob("*.damaged-*"))


def test_a_sound_database_is_left_alone(original: Path, tmp_path: Path) -> None:
    """A sound database is not replaced, and no copy is made."""
    shutil.copytree(original / "index", tmp_path / "index")
    assert mend(tmp_path / "index") == []
    assert not list((tmp_path / "index").glob("*.damaged-*"))
