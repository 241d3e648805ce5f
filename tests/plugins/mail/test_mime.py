"""Most mails are read without Python's parser: what is found is the same."""

import random
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path

import pytest

from sleuth.plugins.mail import mime as mail
from tests.examples import examples
from tests.fuzz.mutating import mutate
from tests.ingest.extraction.reading import only

MARKS = (
    b"\n", b"\r\n", b"\r", b" ", b"\t", b"\n ", b"\v", b"--", b":", b";", b'"', b"=", b"(", b"<", b"\xff",
    b"=?utf-8?q?=41?=", b"charset=latin-1", b"boundary=B", b"attachment", b"base64", b"=\n", b"QQ==", b"text/html",
    b"multipart/mixed", b"message/rfc822", b"Content-Type: ", b"Content-Disposition: ", b"Content-Transfer-Encoding: ",
    b"name=x", b"format=flowed", b"\nFrom ", b"Subject: \n x", b"To:\n x@y\n", b"\nContent-Type: text/plain\n\n",
    b"--B--",
)  # fmt: skip
"""What may change how a mail is read."""


def written(number: int) -> bytes:
    """Return a mail as programs write them: each way to encode a text, with and without HTML beside it."""
    message = EmailMessage()
    message["Subject"] = ("The boat leaves", "Grüße aus Köln", "x" * 80)[number % 3]
    message["From"] = "Ann Lee <ann@x.org>"
    message["To"] = "list@x.org, Bo <bo@x.org>"
    message["Date"] = "Mon, 01 Jan 2024 10:00:00 +0100"
    message["Message-ID"] = f"<{number}@x.org>"
    text = "The boat leaves at noon = 12:00.\n\nOn Sunday Bo wrote:\n> Wann fährt es?\n"
    message.set_content(text, cte=("8bit", "quoted-printable", "base64")[number // 3 % 3])
    if number >= 9:
        message.add_alternative(f"<p>{text}</p>", subtype="html")
    content = message.as_bytes()
    return content.replace(b"\n", b"\r\n") if number % 2 else content


MAILS = [written(number) for number in range(18)]


def test_mails_of_programs_are_simple() -> None:
    """A mail of plain text, encoded in any way, with or without HTML, needs no parser."""
    assert [mail.simple_mail(content) is not None for content in MAILS] == [True] * len(MAILS)


@pytest.mark.parametrize("seed", range(10))
def test_a_simple_mail_is_as_the_parser_reads_it(seed: int) -> None:
    """Changed in any way, a mail has the headers and the text that Python's parser finds, or is left to it."""
    rng = random.Random(seed)
    count = 0
    for _ in range(examples(600)):
        content = mutate(MAILS, rng, 5_000) if rng.random() < 0.3 else rng.choice(MAILS)
        for _ in range(rng.randrange(3)):
            at = rng.randrange(min(len(content), 600) + 1)
            content = content[:at] + rng.choice(MARKS) + content[at + rng.randrange(3) :]
        if (result := mail.simple_mail(content)) is None:
            continue
        count += 1
        message = message_from_bytes(content, policy=mail._POLICY)
        assert isinstance(message, EmailMessage)
        assert not list(mail._attachments(message)), content
        expected = mail._headers(mail._fields(message)), mail._body(message)
        assert (mail._headers(result.fields), result.text) == expected, content
    assert count > 20


def test_a_mail_with_an_attachment(tmp_path: Path) -> None:
    """Parts with a name, of another type or nested are left to the parser, also where a text stands beside them."""
    message = message_from_bytes(MAILS[1], policy=mail._POLICY)
    assert isinstance(message, EmailMessage)
    message.add_attachment("words of a file", filename="a.txt")
    assert mail.simple_mail(message.as_bytes()) is None
    assert mail.simple_mail(b"Subject: a\nTo: " + b"a" * 2_001 + b"\n\nbody") is None
    assert "12:00" in only(tmp_path / "a.eml", MAILS[0]).page_content


def test_a_mail_of_many_parts() -> None:
    """The encoding of each part is guessed, so a mail of more parts than mails have is left to the parser."""

    def of_parts(number: int) -> bytes:
        return (
            b"Content-Type: multipart/mixed; boundary=B\n\n" + b"--B\n\ncaf\xe9 words\n" * number + b"--B--\n"
        )

    result = mail.simple_mail(of_parts(mail._MOST_PARTS))
    assert result is not None
    assert result.text.count("words") == mail._MOST_PARTS
    assert mail.simple_mail(of_parts(mail._MOST_PARTS + 1)) is None


def test_a_boundary_with_an_apostrophe() -> None:
    """Python's parser finds no such boundary unless it stands between quotation marks."""
    for boundary, is_simple in ((b"a'b", False), (b'"a\'b"', True)):
        content = b"Content-Type: multipart/mixed; boundary=" + boundary + b"\n\n--a'b\n\nwords\n--a'b--\n"
        message = message_from_bytes(content, policy=mail._POLICY)
        assert isinstance(message, EmailMessage)
        assert mail._body(message) == ("words" if is_simple else "")
        assert (mail.simple_mail(content) is not None) == is_simple


@pytest.mark.parametrize(
    "unit", ["()", '""', "<>", ",", "=?utf-8?q?a?=", ";", "@", ".", "\\(", "[a]", "(", "a:;", "\n "]
)
@pytest.mark.parametrize("head", ["To:", "Subject:", "Date:", "Content-Type: text/plain", "MIME-Version:"])
def test_what_repeats_in_a_header_costs_as_much_as_its_start(head: str, unit: str) -> None:
    """A header of ten times as many characters is parsed as the one that ends where it is cut."""
    name, _, value = head.partition(":")
    long, short = (value + (unit * size)[:size] for size in (100_000, mail._LONG_HEADER))
    assert mail._header(name, long) == mail._header(name, short)
