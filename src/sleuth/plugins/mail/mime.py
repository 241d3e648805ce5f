"""Loaders of mail in MIME: single messages (.eml), mailboxes (mbox) and saved pages (.mhtml)."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import a2b_qp
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sleuth.errors import LoadError
from sleuth.files import decode
from sleuth.ingest import ReadOptions, Skipped
from sleuth.ingest.extraction import ExtractionError, html_to_markdown
from sleuth.ingest.loaders import FileBytes, Member, document, load_member
from sleuth.types import Document

_LARGE: Final = 256 << 10
"""Bytes of a mail that Python's parser reads: a larger one is rarely text alone."""
_HEADERS: Final = {"from": "From", "to": "To", "cc": "Cc"}
_message_start = re.compile(rb"(?:\A\s{0,100}|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]{0,1000}\r?\n")
_escaped_from = re.compile(rb"^>(>{0,100}From )", re.MULTILINE)
_quotation = re.compile(r"<(/?)blockquote\b[^>]{0,2000}>", re.IGNORECASE)
_ascii = re.compile("[ -~]+")
_atoms = r"[A-Za-z0-9_%+-]+(?>(?:\.[A-Za-z0-9_%+-]+)*)"
_words = re.compile(r"[!-~]++(?>(?: [!-~]++)*)")
_PLAIN: Final = {
    "subject": _words,
    "in-reply-to": _words,
    "message-id": re.compile(f"<{_atoms}@{_atoms}>"),
}
"""By header, how most of them are written."""
_IN, _OUT = "\ue000", "\ue001"
"""Mark where quotations begin and end while HTML becomes text; private characters that no mail means."""
_forwarded = re.compile(
    r"^(?:-{2,20} ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Forwarded message) ?-{2,20}"
    r"|_{20,200}\nFrom: .*)$",
    re.IGNORECASE | re.MULTILINE,
)


class _OncePolicy(EmailPolicy):
    """The default policy, save that a header is cut, and parsed once: a part is asked for its type many times."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return the start of a header as `EmailPolicy` parses it."""
        return value if hasattr(value, "name") else _parsed_header(name, value[:_LONG_HEADER])


_LONG_HEADER: Final = 2_000
"""Characters of a header that are read, some 60 addresses: Python's parser takes .2 s for so many quotation marks, and
20 s for ten times as many.
"""
_POLICY: Final = _OncePolicy(refold_source="none")  # to write a header again would parse all of it


_DAMAGED: Final = (AttributeError, IndexError, OverflowError, RecursionError, TypeError, ValueError)
"""What the parsers of headers and dates raise for some that are damaged."""


@lru_cache(maxsize=256)
def _parsed_header(name: str, value: str) -> Any:
    return EmailPolicy.header_fetch_parse(_POLICY, name, value)


def load_email(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a message with its headers as metadata, titled by its subject, then its attachments.

    A mail that is not written as most are is parsed in a process with limits.
    """
    with _nested_little(file):
        mail = simple_mail(file.read()) if file.entry.size <= _LARGE else None
        if mail:
            yield mail_document(file, _headers(mail.fields), mail.text)
        elif file.processes is not None:
            yield from file.processes.load(file.entry, file.kind, options)
        else:
            message = message_from_bytes(file.read(), policy=_POLICY)
            if not isinstance(message, EmailMessage) or not message.keys():
                raise LoadError(file.entry.source, "not readable as mail: it has no headers")
            headers, body = _headers(_fields(message)), _body(message)
            attachments = list(_attachments(message))
            if mail_text(headers, body) or not attachments:  # a digest may hold mails alone
                yield mail_document(file, headers, body)
            for number, part in enumerate(attachments, 1):
                name, payload = " ".join((part.get_filename() or "").split()), part.get_payload(decode=True)
                member = Member(
                    name or f"attachment {number}", payload if isinstance(payload, bytes) else b""
                )
                if part.get_content_type() == "message/rfc822":
                    inner = part.get_payload()
                    data = inner[0].as_bytes() if isinstance(inner, list) and inner else b""
                    member = Member(name or f"message {number}.eml", data, kind="email")
                yield from load_member(file, member, options)


def mail_document(file: FileBytes, headers: dict[str, Any], body: str) -> Document:
    """Return a mail with its headers as metadata, titled by its subject."""
    text = mail_text(headers, body)
    title = {"title": headers.pop("subject")} if "subject" in headers else {}
    return document(file, text, {**headers, **title})


@contextmanager
def _nested_little(file: FileBytes) -> Iterator[None]:
    """Refuse a mail whose parts or headers are nested so deeply that Python's parser fails."""
    try:
        yield
    except RecursionError:
        raise LoadError(
            file.entry.source, "not readable as mail: a header or a part is nested too deeply"
        ) from None


def load_mbox(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield each message of a mailbox, with its attachments, as a member named by its number."""
    data = file.read()
    starts = list(_message_start.finditer(data))
    if not starts:
        raise LoadError(file.entry.source, "not readable as mbox: no line starts with 'From '")
    ends = [start.start() for start in starts[1:]] + [len(data)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        message = _escaped_from.sub(rb"\1", data[start.end() : end])
        yield from load_member(file, Member(str(number), message, kind="email"), options)


def load_mhtml(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the page that was saved, without its pictures and styles."""
    with _nested_little(file):
        message = message_from_bytes(file.read(), policy=_POLICY)
        pages = [part for part in message.walk() if part.get_content_type() == "text/html"]
        if not pages or not isinstance(message, EmailMessage):
            raise LoadError(file.entry.source, "not readable as mhtml: it holds no page")
        title, text = read_html(_decoded(pages[0]))
        fields = _fields(message)
        title = title or _header("subject", fields.get("subject", ""))
        address = _header("snapshot-content-location", fields.get("snapshot-content-location", ""))
    yield document(
        file, text, {**({"title": title} if title else {}), **({"url": address} if address else {})}
    )


def mail_text(headers: dict[str, Any], body: str) -> str:
    """Return what a reader looks for in a mail: who wrote it to whom and when, and the text; "" for neither.

    Quotations of earlier mails are marked with "> ".
    """
    head = [f"{label}: {headers[name]}" for name, label in _HEADERS.items() if headers.get(name)]
    if headers.get("date"):
        head.append(f"Date: {headers['date']}")
    if match := _forwarded.search(body):
        start = match.start()
        quoted = "\n".join(f"> {line}".rstrip() for line in body[start:].strip().split("\n"))
        body = f"{body[:start].rstrip()}\n\n{quoted}"
    subject = headers.get("subject", "")
    text = body.strip() or subject
    return "\n".join([*head, "", text]) if text else ""


class SimpleMail(NamedTuple):
    """A mail of plain text alone, or with HTML beside it.

    Attributes:
        fields: of the head, by name in small letters: the first of each, as written.
    """

    fields: dict[str, str]
    text: str


class _MailPart(NamedTuple):
    """A mail or a part of one: its fields that are read, and what follows them."""

    fields: dict[str, str]
    body: bytes


_field = re.compile(
    rb"^(?P<name>[!-9;-~]{1,100}+):[ \t]*+(?>(?:(?<=Subject:)\r?\n[ \t]++)?)"
    rb"(?P<value>\S[^\r\n]*+(?>(?:\r?\n[ \t][^\r\n]*+)*))\r?\n",
    re.MULTILINE,
)
_line_end = re.compile(rb"\r?\n")
_closing = re.compile(rb"--(?:\Z|\r?\n)")
_READ: Final = frozenset(
    b"subject from to cc message-id in-reply-to date content-type content-transfer-encoding content-disposition"
    .split()
)  # fmt: skip
_GAP: Final = r";[ \t\r\n]{0,4}"
_MORE: Final = rf"(?:{_GAP}(?:format|delsp)=\w{{1,10}})?"
_text_type = re.compile(
    rf"text/(?P<form>plain|html){_MORE}(?:{_GAP}charset=(?P<mark>\"?)(?P<charset>[\w.-]{{1,40}})(?P=mark))?{_MORE}{_MORE}",
    re.ASCII | re.IGNORECASE,
)
_of_texts = re.compile(
    rf"multipart/(?:alternative|mixed){_GAP}boundary="
    r"(?P<mark>\")?(?P<boundary>(?(mark)[\w'()+,./:=-]|[\w+.-]){1,100})(?(mark)\")",
    re.ASCII | re.IGNORECASE,
)
"""By header, as most mails have it: a text, and parts of which each may be one."""
_MOST_PARTS: Final = 20
"""Mails of more parts are parsed in a process: to guess the encoding of each of many small texts takes seconds."""


def simple_mail(data: bytes) -> SimpleMail | None:
    """Return what Python's parser finds in a mail, in a fraction of its time; None unless it is written as most are.

    Each step is linear.
    """
    head = _part(data)
    if head is None or not head.fields or not _is_inline(head):
        return None
    boundary = _of_texts.fullmatch(head.fields.get("content-type", ""))
    parts = [head] if boundary is None else _parts(head.body, f"--{boundary['boundary']}".encode())
    texts: list[str] = []
    for part in parts:
        kind = _text_type.fullmatch(part.fields.get("content-type", "text/plain"))
        if kind is None or not _is_inline(part):
            return None
        if kind["form"].lower() == "plain":
            content = _unpacked(part)
            if content is None:
                return None
            texts.append(decode(content, kind["charset"])[0])
    return SimpleMail(head.fields, "\n\n".join(filter(str.strip, texts))) if texts else None


def _part(data: bytes) -> _MailPart | None:
    """Return a mail or a part of one; None if a line of its head is odd or a field is long."""
    fields: dict[str, str] = {}
    position = 0
    while match := _field.match(data, position):
        if (name := match["name"].lower()) in _READ:
            if len(match["value"]) > _LONG_HEADER:
                return None
            fields.setdefault(name.decode(), match["value"].decode("ascii", "surrogateescape"))
        position = match.end()
    blank = _line_end.match(data, position)
    return _MailPart(fields, data[blank.end() :]) if blank else None


def _parts(body: bytes, separator: bytes) -> list[_MailPart]:
    """Return the parts of a body, 20 at most; none unless each separator is a line, and the last one ends the body."""
    pieces = body.split(separator, _MOST_PARTS + 1)
    preamble, contents, epilogue = pieces[0], pieces[1:-1], pieces[-1]
    if not (preamble == b"" or preamble.endswith(b"\n")) or not _closing.match(epilogue):
        return []
    parts: list[_MailPart] = []
    for content in contents:
        begin = _line_end.match(content)
        part = _part(content[begin.end() :]) if begin else None
        if part is None or not content.endswith(b"\n"):
            return []
        parts.append(_MailPart(part.fields, part.body.removesuffix(b"\n").removesuffix(b"\r")))
    return parts


def _is_inline(part: _MailPart) -> bool:
    return part.fields.get("content-disposition", "inline").lower() == "inline"


def _unpacked(part: _MailPart) -> bytes | None:
    """Return the content of a part; None if it is not encoded as it says."""
    encoding = part.fields.get("content-transfer-encoding", "8bit").lower()
    if encoding == "quoted-printable":
        return a2b_qp(part.body)
    if encoding == "base64":
        try:
            return b64decode(b"".join(part.body.splitlines()), validate=True)
        except ValueError:
            return None
    return part.body if encoding in ("7bit", "8bit", "binary") else None


def _fields(message: EmailMessage) -> dict[str, str]:
    """Return the headers by name in small letters: the first of each, as written."""
    fields: dict[str, str] = {}
    for name, value in message.raw_items():
        fields.setdefault(name.lower(), value)
    return fields


def _headers(raw: Mapping[str, str]) -> dict[str, Any]:
    """Return the headers that a reader looks for, decoded; those that are damaged are left out."""
    headers: dict[str, str] = {
        name: _header(name, raw[name])
        for name in ("subject", "from", "to", "cc", "message-id", "in-reply-to")
        if name in raw
    }
    with suppress(*_DAMAGED):
        date = raw.get("date", "")
        is_ascii = _ascii.fullmatch(date)
        moment = (
            parsedate_to_datetime(date) if is_ascii else _POLICY.header_fetch_parse("date", date).datetime
        )
        headers["date"] = (moment.astimezone(UTC) if moment.tzinfo else moment).strftime("%Y-%m-%d %H:%M")
    return {name.replace("-", "_"): value for name, value in headers.items() if value}


def _header(name: str, value: str) -> str:
    """Return a header decoded, "" if it is damaged; one that is surely plain as it is, which takes far less time."""
    if name in _PLAIN and "=?" not in value and _PLAIN[name].fullmatch(value):
        return value
    try:
        header = str(_POLICY.header_fetch_parse(name, value))
    except _DAMAGED:
        return ""
    return " ".join(header.encode("utf-8", "replace").decode().split())


def _body(message: EmailMessage) -> str:
    """Return the body, and what further parts of plain text say that have no name, as those below an attachment."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    text = _decoded(part)
    if part.get_content_type() == "text/html":
        _, text = read_html(text)
    texts = [text, *(_decoded(further) for further in _plain_parts(message) if further is not part)]
    return "\n\n".join(filter(str.strip, texts))


def _plain_parts(message: MIMEPart) -> Iterator[Any]:
    """Yield the parts of plain text that are no attachments, those of enclosed messages left out."""
    for part in message.iter_parts() if message.get_content_maintype() == "multipart" else ():
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            yield from _plain_parts(part)
        elif part.get_content_type() == "text/plain" and not (part.get_filename() or part.is_attachment()):
            yield part


def _decoded(part: Any) -> str:
    payload = part.get_payload(decode=True)
    text, _ = decode(payload if isinstance(payload, bytes) else b"", part.get_content_charset())
    return text


def read_html(html: str) -> tuple[str, str]:
    """Return title and text of a page, whose quotations are marked with "> "."""
    with_marks = _quotation.sub(lambda match: f"{match[0]}<p>{_OUT if match[1] else _IN}</p>", html)
    try:
        title, text = html_to_markdown(with_marks)
    except ExtractionError:  # nested too deeply
        return "", ""
    if _IN not in text:
        return title, text
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if line in (_IN, _OUT):
            depth = max(0, depth + (1 if line == _IN else -1))
        else:
            lines.append(f"{'> ' * min(depth, 10)}{line}".rstrip() if depth else line)
    return title, "\n".join(lines)


def _attachments(message: EmailMessage) -> Iterator[Any]:
    """Yield the parts that have a file name or are messages; pictures inside the text are among them."""
    for part in message.iter_attachments() if message.is_multipart() else ():
        if part.get_filename() or part.get_content_type() == "message/rfc822" or part.is_attachment():
            yield part
