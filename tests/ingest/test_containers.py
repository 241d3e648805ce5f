"""Mail and archives: what is inside becomes documents of their own, within limits."""

import bz2
import gzip
import io
import lzma
import mailbox
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path
from typing import Any

import docx
import pytest

from sleuth import Engine
from sleuth.errors import LoadError
from sleuth.ingest import Skipped, worker
from sleuth.types import Document
from tests.ingest.extraction.reading import load, only, reason
from tests.ingest.files import pdf


def mail(**attachments: bytes) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Grüße aus Köln"
    message["From"] = "Ann Lee <ann@x.org>"
    message["To"] = "Bo <bo@x.org>"
    message["Date"] = "Mon, 01 Jan 2024 10:00:00 +0100"
    message.set_content("The boat leaves at noon.\n\nOn Sunday Bo wrote:\n> When?\n", charset="iso-8859-1")
    for name, data in attachments.items():
        message.add_attachment(
            data, maintype="application", subtype="octet-stream", filename=name.replace("_", ".")
        )
    return message


def texts(records: list[Document | Skipped]) -> dict[str, str]:
    """Return texts, or reasons, by the part of the source after its first #."""
    return {
        record.metadata["source"].partition("#")[2]: record.page_content
        if isinstance(record, Document)
        else record.reason
        for record in records
        if isinstance(record, Document)
    } | {
        record.path.partition("#")[2]: f"! {record.reason}"
        for record in records
        if isinstance(record, Skipped)
    }


def test_a_mail(tmp_path: Path) -> None:
    """Headers are metadata, the body is decoded, and attachments are documents of their own."""
    message = mail(
        notes_md=b"# Notes\n\nAnchor first.",
        table_csv=b"port,depth\nA,3\n",
        plan_pdf=pdf([["Page one"]]),
        x_png=b"\x89PNG\0",
    )
    first, *rest = load(tmp_path / "a.eml", message.as_bytes())
    assert isinstance(first, Document)
    assert first.page_content == (
        "From: Ann Lee <ann@x.org>\nTo: Bo <bo@x.org>\nDate: 2024-01-01 09:00\n\n"
        "The boat leaves at noon.\n\nOn Sunday Bo wrote:\n> When?"
    )
    assert first.metadata["title"] == "Grüße aus Köln"
    assert (first.metadata["from"], first.metadata["date"]) == ("Ann Lee <ann@x.org>", "2024-01-01 09:00")
    assert texts(rest) == {
        "notes.md": "# Notes\n\nAnchor first.",
        "table.csv#1": "port: A\ndepth: 3",
        "plan.pdf": "Page one",
        "x.png": "! binary",
    }
    documents = [record for record in rest if isinstance(record, Document)]
    assert [document.metadata["member"] for document in documents] == ["notes.md", "table.csv", "plan.pdf"]
    assert {document.metadata["path"] for document in documents} == {str(tmp_path / "a.eml")}


def test_quotations_in_html_mail(tmp_path: Path) -> None:
    """What a mail in HTML quotes is marked, and so is what Outlook puts below a line."""
    message = EmailMessage()
    message["Subject"] = "Re: lunch"
    message.set_content(
        "<p>Yes.</p><blockquote><p>Lunch?<blockquote>At one?</blockquote></p></blockquote><p>Ann</p>",
        subtype="html",
    )
    lines = only(tmp_path / "a.eml", message.as_bytes()).page_content.split("\n")
    assert {"Yes.", "> Lunch?", "> > At one?", "Ann"} <= set(lines)
    message.set_content("Fine.\n\n-----Original Message-----\nFrom: Bo\n\nLunch?\n")
    assert only(tmp_path / "a.eml", message.as_bytes()).page_content.endswith(
        "Fine.\n\n> -----Original Message-----\n> From: Bo\n>\n> Lunch?"
    )


def test_a_mailbox(tmp_path: Path) -> None:
    """Each message of a mailbox of Python's mailbox is a document; lines that begin with From stay whole."""
    box = mailbox.mbox(str(tmp_path / "a.mbox"))
    for number in range(3):
        message = mail()
        message.replace_header("Subject", f"Number {number}")
        message.set_content(f"From here, {number} miles.\n")
        box.add(message)
    box.close()
    records = load(tmp_path / "a.mbox")
    assert [record.metadata["title"] for record in records if isinstance(record, Document)] == [
        "Number 0", "Number 1", "Number 2",
    ]  # fmt: skip
    assert texts(records)["2"].endswith("From here, 1 miles.")


def test_a_saved_page(tmp_path: Path) -> None:
    """Of a saved page its text is read."""
    message = EmailMessage()
    message["Subject"] = "Harbour"
    message["Snapshot-Content-Location"] = "https://x.org/harbour"
    message.set_content(
        "<html><head><title>Harbour</title></head><body><h1>Ships</h1><p>Two.</p></body></html>",
        subtype="html",
    )
    message.add_related(b"\x89PNG", "image", "png", cid="<a>")
    content = only(tmp_path / "a.mhtml", message.as_bytes())
    assert (content.page_content, content.metadata["url"]) == ("# Ships\n\nTwo.", "https://x.org/harbour")


def test_text_below_an_attachment(tmp_path: Path) -> None:
    """Parts of plain text without a name belong to the body, also those inside other parts."""
    message = MIMEMultipart()
    message["From"] = "ann@x.org"
    inner = MIMEMultipart()
    inner.attach(MIMEText("Bo adds this."))
    for part in (
        MIMEText("The boat leaves."),
        mail(a_txt=b"Enclosed."),
        inner,
        MIMEText("The list's footer."),
    ):
        message.attach(MIMEMessage(part) if isinstance(part, EmailMessage) else part)
    first, *rest = load(tmp_path / "a.eml", message.as_bytes())
    assert isinstance(first, Document)
    assert first.page_content.endswith("\n\nThe boat leaves.\n\nBo adds this.\n\nThe list's footer.")
    assert "Enclosed." in texts(rest).values()


def test_a_digest(tmp_path: Path) -> None:
    """A mail that holds other mails alone is read, also from a mailbox that begins with a blank line."""
    message = MIMEMultipart("digest")
    message["From"] = "list@x.org"
    for text in ("First word.", "Second word."):
        enclosed = MIMEText(text)
        enclosed["From"] = "bo@x.org"
        message.attach(MIMEMessage(enclosed))
    box = b"\nFrom list@x.org Mon Jan  1 09:00:00 2024\n" + message.as_bytes() + b"\n"
    for name, data in (("a.eml", message.as_bytes()), ("a.mbox", box)):
        contents = [
            record.page_content for record in load(tmp_path / name, data) if isinstance(record, Document)
        ]
        assert [content.split("\n\n")[1] for content in contents] == ["First word.", "Second word."]


@pytest.mark.parametrize("name", ["a.eml", "a.mhtml"])
@pytest.mark.parametrize("header", ["From", "Date", "Content-Type", "Content-Disposition", "Subject"])
def test_a_header_of_nested_comments(tmp_path: Path, name: str, header: str) -> None:
    """A header that Python's parser fails on (a thousand nested comments) costs at most that mail."""
    kind = "" if header == "Content-Type" else "Content-Type: text/html\n"
    data = f"To: b@x.org\n{kind}{header}: {'(' * 1000}\n\n<p>words".encode()
    (record,) = load(tmp_path / name, data)
    assert (
        "words" in record.page_content
        if isinstance(record, Document)
        else record.reason.startswith("not readable")
    )


SUBJECTS = [
    "Plain words: 1 of 2", "two  blanks", "folded\n\tline", "=?utf-8?q?Gr=C3=BC=C3=9Fe?=",
    "a =?utf-8?b?w6k=?= b", "a=?b", "tab\tinside", "Grüße", "x" * 2000, "blank at the end ",
]  # fmt: skip
IDS = [
    "<1.a@x.org>", "<a..b@x.org>", "<a b@x.org>", "none", "<a@[127.0.0.1]>", "<a@x.org> (text)",
    "<=?utf-8?q?a?=@x>",
]  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "id"), [(subject, IDS[0]) for subject in SUBJECTS] + [("a", id) for id in IDS]
)
def test_headers_are_as_the_standard_library_reads_them(tmp_path: Path, subject: str, id: str) -> None:
    """Most headers are read without its parser, which takes long, and others once; the text is the same."""
    data = f"Subject: {subject}\nMessage-ID: {id}\nIn-Reply-To: {id}\nSubject: second\n\nbody\n".encode()
    message = message_from_bytes(data, policy=policy.default)
    expected = {
        key: " ".join(str(message[name]).encode("utf-8", "replace").decode().split())
        for key, name in (("title", "subject"), ("message_id", "message-id"), ("in_reply_to", "in-reply-to"))
    }
    metadata = only(tmp_path / "a.eml", data).metadata
    assert {key: metadata.get(key) for key in expected} == expected


def test_the_last_answer_of_a_process_ends_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds documents, or the reason why reading ended; answers before it say that more follow."""
    monkeypatch.setattr(worker, "_ITEMS", 1)
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.txt": b"one", "b.txt": b"two" * 100}))
    entry = {"file": str(path), "source": "a.zip", "size": path.stat().st_size, "modified_ns": 0}

    def heads() -> list[dict[str, Any]]:
        request = {"entry": entry, "kind": "zip", "options": {}}
        return [head for head, _ in worker.answers(request, b"")]

    first, last = heads()
    assert len(first["items"]) == len(last["items"]) == 1
    assert first["more"]
    assert "more" not in last

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


def word_document() -> bytes:
    out = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("A letter.")
    document.save(out)
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
        "a/guide.md": b"# Guide\n\nTurn left.", "letter.docx": word_document(), "../../up.txt": b"words",
        ".hidden": b"x", "__MACOSX/a.txt": b"x", "inner.zip": zipped({"deep.txt": b"deep words"}), "b.bin": b"\0\1",
    }  # fmt: skip
    assert texts(load(tmp_path / "a.zip", zipped(members))) == {
        "a/guide.md": "# Guide\n\nTurn left.", "letter.docx": "A letter.", "../../up.txt": "words",
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


def test_an_index_follows_an_archive(tmp_path: Path) -> None:
    """A member that is gone from an archive is deleted from the index; an unchanged archive is not read."""
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.txt": b"ocelot", "b.csv": b"cat\nmargay\n"}))
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        report = engine.index([path])
        assert (report.added, report.read) == (2, 1)
        assert engine.index([path]).unchanged == 2
        assert engine.retrieve("ocelot")[0].metadata["member"] == "a.txt"
        path.write_bytes(zipped({"b.csv": b"cat\nmargay\nlynx\n"}))
        report = engine.index([path])
        assert (report.added, report.deleted, report.documents) == (1, 1, 2)
        assert [item.id for item in engine.retrieve("lynx")] == ["a.zip#b.csv#2#0"]
        assert engine.delete(filter="path:a.zip") == ["a.zip#b.csv#1", "a.zip#b.csv#2"]
