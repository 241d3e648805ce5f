"""Mail: headers, texts and quotations of a message; attachments become documents of their own."""

import mailbox
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from sleuth.files.formats import kind_of_name
from sleuth.ingest import Skipped
from sleuth.types import Document
from tests.ingest.extraction.reading import load, only, texts
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


def test_mails_inside_mails(tmp_path: Path) -> None:
    """Of mails inside mails the outer ones are read, and the first that is too deep inside is named."""
    message = mail()
    for _ in range(20):
        outer = mail()
        outer.add_attachment(message)
        message = outer
    *documents, skip = load(tmp_path / "a.eml", message.as_bytes())
    assert all(isinstance(record, Document) for record in documents)
    assert isinstance(skip, Skipped)
    assert (skip.kind, skip.reason) == ("member", "more than 3 files inside each other")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cur/1583229600.M1P2.host:2,S", "email"),
        ("Mail/.Sent/new/1583229600.M1P2.example.pl", "email"),
        ("1583229600.M1P2.host:2,", "email"),
        ("cur/1583229600", ""),
        ("cur/notes.2,S", ""),
        ("other/1583229600.M1P2.pl", "perl"),
    ],
)
def test_a_mail_in_a_maildir_is_mail(name: str, kind: str) -> None:
    """A file in `cur` or `new` that is named by a time, or has the flags of one, is a mail, whatever its host is."""
    assert kind_of_name(name) == kind
