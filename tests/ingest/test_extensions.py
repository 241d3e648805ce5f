"""Formats and chunkers of a program or of an installed package."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Chunk, Document, Engine
from sleuth.cluster import ShardedEngine
from sleuth.files import FileFormat
from sleuth.ingest import chunks_at
from sleuth.protocols import DocumentChunker
from tests.code.conftest import write

PACKAGE = Path(__file__).with_name("log_book.txt").read_text("utf8")
POINTS = Path(__file__).with_name("entry_points.txt").read_text("utf8")


class Sentences:
    """A chunker that makes a passage of every sentence."""

    fingerprint = "sentences-1"

    def split(self, document: Document) -> list[Chunk]:
        text = document.page_content
        ends = [place + 1 for place, char in enumerate(text) if char == "."]
        return chunks_at(text, list(zip([0, *ends], [*ends, len(text)], strict=True)))


def shout(file: Any, options: Any) -> Iterator[Document]:
    text, metadata = file.text()
    yield Document(text.upper(), {"title": "Mine", **metadata})


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with an installed package."""
    folder = tmp_path / "site"
    metadata = "Metadata-Version: 2.1\nName: log-book\nVersion: 1.0\n"
    write(folder / "log_book-1.0.dist-info", {"METADATA": metadata, "entry_points.txt": POINTS})
    return write(folder, {"log_book.py": PACKAGE})


def test_a_format_by_argument(engine: Engine, tmp_path: Path) -> None:
    """`loaders` reads files of a format, by extension or first bytes; a file is read again with another loader."""
    write(tmp_path, {"a.txt": "a plain zebra", "b.loud": "a loud zebra", "c": "LOUD! zebra"})
    loud = FileFormat("loud", shout, [".Loud"], sniff=lambda head: head.startswith(b"LOUD!"))
    assert engine.index([tmp_path / "b.loud"]).added == 1
    report = engine.index([tmp_path], options={"loaders": [loud]})
    assert (report.added, report.updated) == (2, 1)
    texts = {item.metadata["path"]: item.text for item in engine.retrieve("zebra")}
    assert texts == {"a.txt": "a plain zebra", "b.loud": "A LOUD ZEBRA", "c": "LOUD! ZEBRA"}
    assert engine.get("b.loud")[0].metadata["type"] == "loud"
    assert engine.index([tmp_path], options={"loaders": [loud]}).unchanged == 3
    with pytest.raises(ArgumentError, match="loaders must be a list of FileFormat"):
        engine.index([tmp_path], options={"loaders": [shout]})
    with pytest.raises(ArgumentError, match="extensions must start with a dot"):
        FileFormat("loud", shout, ["loud"])


def test_a_chunker_by_argument(tmp_path: Path) -> None:
    """An object cuts documents; the index records its fingerprint, needs it to add, and refuses another one."""
    text = "Cats sleep.\nDogs bark. Owls hoot."
    assert isinstance(Sentences(), DocumentChunker)
    with Engine.open(tmp_path / "index", create=True, embedder="", chunker=Sentences()) as engine:
        engine.add([Document(text, {"source": "a"})])
        assert [(item.text, item.metadata["start_line"]) for item in engine.get("a")] == [
            ("Cats sleep.", 1), ("Dogs bark.", 2), ("Owls hoot.", 2),
        ]  # fmt: skip
        assert engine.settings.chunker == "custom:sentences-1"
        (tmp_path / "b.txt").write_text("Hens lay. Pigs dig.")
        engine.index([tmp_path / "b.txt"])
        assert len(engine.get("b.txt")) == 2
    with Engine.open(tmp_path / "index") as engine:
        assert [item.text for item in engine.retrieve("owls")] == ["Owls hoot."]
        with pytest.raises(ArgumentError, match="chunker 'sentences-1': to add to it"):
            engine.add([Document("More.")])
    other = Sentences()
    other.fingerprint = "sentences-2"
    with pytest.raises(ArgumentError, match="chunker must be 'custom:sentences-1' as in the index"):
        Engine.open(tmp_path / "index", chunker=other)


class Wrong(Sentences):
    def __init__(self, chunk: Any) -> None:
        self.chunk = chunk

    def split(self, document: Document) -> Any:
        return self.chunk and [self.chunk]


@pytest.mark.parametrize("chunk", [None, "text", Chunk("other", 0, 5, 1, 1), Chunk("", 0, 0, 1, 1)])
def test_chunks_are_checked(tmp_path: Path, chunk: Any) -> None:
    """A chunk without text, or with another text than that of its place, is refused by name."""
    engine = Engine.open(tmp_path / "index", create=True, embedder="", chunker=Wrong(chunk))
    with engine, pytest.raises(ArgumentError, match="chunks of 'sentences-1' must be"):
        engine.add([Document("Cats sleep.")])


@pytest.mark.parametrize("chunker", [7, Document("x"), "no-such-chunker"])
def test_what_is_no_chunker_makes_no_index(tmp_path: Path, chunker: Any) -> None:
    """Other objects and names that no package has are refused before a folder is made."""
    with pytest.raises(ArgumentError, match="chunker must be"):
        Engine.open(tmp_path / "index", create=True, embedder="", chunker=chunker)
    assert not (tmp_path / "index").exists()


def test_a_chunker_of_shards(tmp_path: Path) -> None:
    """Every shard of an index is cut by its chunker."""
    with ShardedEngine.open(
        tmp_path / "index", create=True, embedder="", shards=2, chunker=Sentences()
    ) as engine:
        engine.add([Document("Cats sleep. Dogs bark.", {"source": str(number)}) for number in range(4)])
        assert engine.count().passages == 8
    with Engine.open(tmp_path / "index", chunker=Sentences()) as again:
        again.add([Document("Owls hoot. Hens lay.", {"source": "x"})])
        assert again.count().passages == 10


def test_installed_formats_and_chunkers(site: Path, tmp_path: Path) -> None:
    """Entry points add formats and chunkers by name, at a shell too; one that does not load is logged."""
    write(tmp_path / "docs", {"trip.book": "@@ Left harbour.\n@@ Saw a zebra.\n"})
    script = "import logging, sys; logging.basicConfig(); from sleuth.__main__ import main; main()"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(site)!r}); {script}",
            *arguments,
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    indexed = run("index", "docs", "--chunker", "lines", "--embedder", "")
    assert indexed.returncode == 0, indexed.stderr
    assert re.search(r"broken of [^ ]+ [^ ]+ failed to load: ModuleNotFoundError", indexed.stderr)
    assert re.search(r"odd of .* must be a `FileFormat`, or a tuple of them, got function", indexed.stderr)
    process = run("search", "zebra", "--json")
    assert '"Saw a zebra."' in process.stdout
    assert "log-book" in process.stdout
    unknown = run("index", "docs", "--chunker", "words", "--index", "other")
    assert unknown.returncode == 2
    assert "chunker must be among those installed (lines), got 'words'" in unknown.stderr
