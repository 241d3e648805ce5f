"""Archives: what is inside becomes documents of their own, within limits."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.errors import LoadError
from sleuth.ingest import Skipped, worker
from sleuth.types import Document
from tests.ingest.extraction.reading import load, only, reason, texts


def test_the_last_answer_of_a_process_ends_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds nothing, or the reason why reading ended; answers before it hold documents and say that more follow."""
    monkeypatch.setattr(worker, "_ITEMS", 1)
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.txt": b"one", "b.txt": b"two" * 100}))
    entry = {"file": str(path), "source": "a.zip", "size": path.stat().st_size, "modified_ns": 0}

    def heads() -> list[dict[str, Any]]:
        request = {"entry": entry, "kind": "zip", "options": {}}
        return [head for head, _ in worker.answers(request, b"")]

    *answers, last = heads()
    assert [len(answer["items"]) for answer in answers] == [1, 1]
    assert all(answer["more"] for answer in answers)
    assert last == {"items": []}

    def broken(*_: object) -> Iterator[Document]:
        yield Document("one")
        raise LoadError("a.zip", "it breaks off")

    monkeypatch.setattr(worker, "load_here", broken)
    first, last = heads()
    assert len(first["items"]) == 1
    assert first["more"]
    assert last == {"error": "it breaks off", "kind": LoadError("", "").kind}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


def test_a_zip(tmp_path: Path) -> None:
    """Members of every kind are documents; hidden ones are left out, and paths that lead out are only names."""
    members = {
        "a/guide.md": b"# Guide\n\nTurn left.", "letter.html": b"<p>A letter.", "../../up.txt": b"words",
        ".hidden": b"x", "__MACOSX/a.txt": b"x", "inner.zip": zipped({"deep.txt": b"deep words"}), "b.bin": b"\0\1",
    }  # fmt: skip
    assert texts(load(tmp_path / "a.zip", zipped(members))) == {
        "a/guide.md": "# Guide\n\nTurn left.", "letter.html": "A letter.", "../../up.txt": "words",
        "inner.zip#deep.txt": "deep words", "b.bin": "! binary",
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    ("name", "mode"),
    [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.xz", "w:xz"), ("a.tbz2", "w:bz2")],
)
def test_a_tar(tmp_path: Path, name: str, mode: str) -> None:
    """Regular files of a tar archive, however compressed, are documents; links are not."""
    records = load(tmp_path / name, tarred({"b/x.txt": b"one", "y.md": b"# Two"}, mode))
    assert texts(records) == {"b/x.txt": "one", "y.md": "# Two"}


@pytest.mark.parametrize(
    ("extension", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_a_compressed_file(tmp_path: Path, extension: str, pack: object) -> None:
    """A compressed file is the file inside it."""
    assert callable(pack)
    content = only(tmp_path / f"notes.md.{extension}", pack(b"# Notes\n\nwords"))
    assert (content.metadata["member"], content.metadata["type"]) == ("notes.md", "markdown")
    assert content.metadata["title"] == "Notes"
    assert reason(tmp_path / f"b.{extension}", b"not packed").startswith(f"not readable as {extension}")


def nested(depth: int) -> bytes:
    data = b"words"
    for level in range(depth):
        data = zipped({"a.txt" if level == 0 else "a.zip": data})
    return data


def test_archives_that_would_not_end(tmp_path: Path) -> None:
    """Bombs, archives inside archives, encrypted members and many members cost what exceeds the limit."""
    flat = zipped({"zeros.txt": b"0" * 20_000_000, "b.txt": b"words"})
    assert texts(load(tmp_path / "a.zip", flat)) == {
        "zeros.txt": "! unpacks to 1,028 times its size",
        "b.txt": "words",
    }
    assert list(texts(load(tmp_path / "b.zip", nested(6))).values()) == [
        "! more than 3 files inside each other"
    ]
    many = zipped({f"{number}.txt": b"w" for number in range(10_002)}, zipfile.ZIP_STORED)
    assert load(tmp_path / "c.zip", many)[-1] == Skipped(
        str(tmp_path / "c.zip"), "holds more than 10,000 files", "limits"
    )
    archive = zipped({"a.txt": b"w" * 600, "b.txt": b"w" * 600}, zipfile.ZIP_STORED)
    assert texts(load(tmp_path / "d.zip", archive, max_unpacked_bytes=1_000))["b.txt"] == (
        "! 600 bytes, more than the archive may unpack to"
    )
    bomb = gzip.compress(b"0" * 5_000_000)
    assert (
        reason(tmp_path / "e.txt.gz", bomb, max_unpacked_bytes=1_000_000)
        == "unpacks to more than 1,000,000 bytes"
    )
    assert reason(tmp_path / "i.txt.gz", gzip.compress(b"0" * (8 << 20))).startswith(
        "unpacks to more than 300 times its size"
    )
    tar = tarred({"a.txt": b"w" * 5_000}, "w:gz")
    assert reason(tmp_path / "f.tgz", tar, max_unpacked_bytes=1_000).startswith("unpacks to 5,000 bytes")
    locked = bytearray(zipped({"a.txt": b"words"}))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    assert texts(load(tmp_path / "g.zip", bytes(locked))) == {"a.txt": "! protected by a password"}
    for content in (b"", b"PK\x03\x04", archive[:-30], b"words"):
        assert reason(tmp_path / "h.zip", content).startswith(("not readable as zip", "empty"))


def test_an_index_follows_an_archive(engine: Engine, tmp_path: Path) -> None:
    """A member that is gone from an archive is deleted from the index; an unchanged archive is not read."""
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.txt": b"ocelot", "b.csv": b"cat\nmargay\n"}))
    report = engine.index([path])
    assert (report.added, report.read) == (2, 1)
    assert engine.index([path]).unchanged == 2
    assert engine.retrieve("ocelot")[0].metadata["member"] == "a.txt"
    path.write_bytes(zipped({"b.csv": b"cat\nmargay\nlynx\n"}))
    report = engine.index([path])
    assert (report.added, report.deleted, report.documents) == (1, 1, 2)
    hits = [(item.id, item.metadata.get("start_line")) for item in engine.retrieve("lynx")]
    assert hits == [("a.zip#b.csv#2#0", None)]
    assert engine.delete(filter="path:a.zip") == ["a.zip#b.csv#1", "a.zip#b.csv#2"]
