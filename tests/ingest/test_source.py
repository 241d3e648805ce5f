"""Sources: the contract for folders and a dict, what a run asks them, and what it refuses."""

import mailbox
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Engine
from sleuth.errors import LoadError, RemoteError
from sleuth.ingest import DiskFolders, FileEntry, IndexReport, ReadOptions, Skipped, Source
from sleuth.ingest.walking import WalkScope
from sleuth.testing.contracts import SourceContract

TEXTS = {"a.md": "The tide.", "b.md": "The ebb.", "c.md": "The flood.", ".d.md": "Hidden.", "e.md": "x" * 200}


class Shelf(Source):
    """Texts by name; those whose name is in `wrong` raise what it says.

    Attributes:
        reads: names of what was read.
    """

    def __init__(self, texts: dict[str, str], **wrong: Exception) -> None:
        self.name = "shelf://1"
        self.texts, self.wrong = texts, wrong
        self.reads: list[str] = []

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry | Skipped]:
        for name, text in self.texts.items():
            if not text:
                yield Skipped(f"{self.name}/{name}", "gone", "vanished")
            else:
                yield FileEntry("", f"{self.name}/{name}", len(text), None, text)
        if "list" in self.wrong:
            raise self.wrong["list"]

    def read(self, entry: FileEntry, path: Path) -> None:
        name = entry.source.rpartition("/")[2]
        self.reads.append(name)
        if name[0] in self.wrong:
            raise self.wrong[name[0]]
        if name not in self.texts:
            raise FileNotFoundError(name)
        path.write_text(self.texts[name])


class TestShelf(SourceContract):
    """The contract holds for a source that writes what it must and no more."""

    @pytest.fixture(autouse=True)
    def _texts(self) -> None:
        self.texts_by_name = {name: text for name, text in TEXTS.items() if name in ("a.md", "b.md", "c.md")}

    def make(self) -> Shelf:
        return Shelf(self.texts_by_name)

    def change(self) -> None:
        self.texts_by_name |= {"b.md": "Another ebb.", "z.md": "The wave."}
        del self.texts_by_name["c.md"]


class TestFolder(SourceContract):
    """The contract holds for a folder, with names that are hostile."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "docs"
        self.folder.mkdir()
        for name in ("a.md", "b.md", "c.md", "x#1.md", "%2e%2e.md", "imap:.md", " .md"):
            (self.folder / name).write_text(f"The tide {name}.")

    def make(self) -> DiskFolders:
        return DiskFolders([self.folder], scope=WalkScope())

    def index(self, engine: Engine, **options: Any) -> IndexReport:
        return engine.index([self.folder], **options)

    def change(self) -> None:
        (self.folder / "b.md").write_text("The tide, another.")
        (self.folder / "c.md").unlink()
        (self.folder / "d.md").write_text("The wave.")


class TestMaildir(TestFolder):
    """The contract holds for a maildir, where a message never changes."""

    renames = True

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "mail"
        self.box = mailbox.Maildir(self.folder)
        for name in ("tide", "ebb", "flood"):
            self.add(name)

    def add(self, name: str) -> None:
        message = EmailMessage()
        message["Subject"], message["From"] = name, "bob@example.org"
        message.set_content(f"The {name} comes in twice a day.")
        self.box.add(message)

    def change(self) -> None:
        for key in sorted(self.box.keys())[:2]:
            self.box.remove(key)
        self.add("neap")
        self.add("wave")


def test_options_choose_what_is_read(engine: Engine) -> None:
    """Names, hidden ones and sizes are chosen as in a folder, and other options read files again."""
    shelf = Shelf(TEXTS)
    report = engine.index([shelf], options=ReadOptions(exclude=["c.*"], max_bytes=100))
    assert (shelf.reads, report.added) == (["a.md", "b.md"], 2)
    assert [(skip.path, skip.kind) for skip in report.skipped] == [("shelf://1/e.md", "oversized")]
    report = engine.index([shelf], options={"metadata": {"team": "sea"}, "hidden": True}, prune=True)
    assert sorted(set(shelf.reads)) == sorted(TEXTS)
    assert {one.metadata["team"] for one in engine.documents()} == {"sea"}


def test_a_file_that_cannot_be_read_stops_nothing(engine: Engine) -> None:
    """It is named, and tried again; a source that does not answer ends the run, and nothing of it is gone."""
    shelf = Shelf(TEXTS, a=LoadError("a.md", "torn", kind="unreadable"), b=FileNotFoundError("b.md"))
    report = engine.index([shelf])
    assert [(skip.path, skip.kind) for skip in report.skipped][:2] == [
        ("shelf://1/a.md", "unreadable"), ("shelf://1/b.md", "vanished"),
    ]  # fmt: skip
    assert engine.index([Shelf(TEXTS)]).read == 2
    with pytest.raises(RemoteError, match="line"):
        engine.index([Shelf({"z.md": "The wave."}, list=RemoteError("the line is dead"))], prune=True)
    assert len(engine.documents()) == 4
    assert engine.index([Shelf({})]).gone == 4


def test_a_source_that_sees_a_part_says_what_is_gone(engine: Engine) -> None:
    """Only what it names as vanished is deleted, and only when pruning."""
    shelf = Shelf(TEXTS)
    shelf.lists_all = False
    engine.index([shelf])
    shelf.texts = {"a.md": "", "none.md": ""}
    assert engine.index([shelf]).gone == 1
    assert engine.index([shelf], prune=True).pruned == 1
    assert {one.id for one in engine.documents()} == {
        f"shelf://1/{name}" for name in ("b.md", "c.md", "e.md")
    }


def test_files_and_sources_stay_apart(engine: Engine, tmp_path: Path) -> None:
    """A run of folders, also of all below the index, leaves documents of sources, and looks at none as at a file."""
    (tmp_path / "a.md").write_text("The tide.")
    engine.index([Shelf(TEXTS)])
    report = engine.index([tmp_path], prune=True)
    assert (report.added, report.pruned, report.gone) == (1, 0, 0)
    engine.delete(["shelf://1/a.md"])
    assert engine.index([tmp_path, Shelf(TEXTS)], prune=True).added == 1
    with pytest.raises(ArgumentError, match="paths must be of text or Paths, got 7"):
        engine.index([7])  # type: ignore[list-item]
