"""Loader of Outlook's messages (.msg): headers, text and attachments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from sleuth.errors import LoadError, requires
from sleuth.files import decode
from sleuth.ingest import ReadOptions, Skipped
from sleuth.ingest.loaders import FileBytes, Member, load_member
from sleuth.plugins.mail.mime import mail_document, read_html
from sleuth.types import Document

if TYPE_CHECKING:
    from olefile import OleFileIO

_PROPERTIES: Final = {
    "subject": "0037", "sender": "0C1A", "address": "5D01", "smtp": "0C1F", "to": "0E04", "cc": "0E03",
    "message_id": "1035", "in_reply_to": "1042",
}  # fmt: skip
_BODY, _HTML, _DATA, _LONG_NAME, _SHORT_NAME = "1000", "1013", "3701", "3707", "3704"
_SENT, _RECEIVED = 0x0039, 0x0E06
_TIME: Final = 0x0040
_FILED: Final = Struct("<HHIQ")
"""A property of fixed size: type, tag, flags, value."""
_HEAD_BYTES: Final = 32
_EPOCH: Final = datetime(1601, 1, 1, tzinfo=UTC)
"""From which Windows counts tenths of microseconds."""


def load_msg(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a message with its headers as metadata, titled by its subject, then its attachments."""
    with requires("olefile", "office", "reading Outlook's messages"):
        import olefile
    try:
        with olefile.OleFileIO(BytesIO(file.read())) as ole:
            headers, text = _headers(ole), _text(ole)
            members = list(_attachments(ole))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise LoadError(file.entry.source, f"not readable as an Outlook message: {error}") from error
    yield mail_document(file, headers, text)
    for member in members:
        yield from load_member(file, member, options)


def _headers(ole: OleFileIO) -> dict[str, Any]:
    values = {name: " ".join(_string(ole, tag).split()) for name, tag in _PROPERTIES.items()}
    sender, address = values.pop("sender"), values.pop("address")
    address = address or values.pop("smtp", "")
    values.pop("smtp", None)
    full_sender = f"{sender} <{address}>" if sender and address and sender != address else sender or address
    values["from"] = full_sender
    properties = _stream(ole, "__properties_version1.0")[_HEAD_BYTES:]
    size = len(properties) - len(properties) % _FILED.size
    times = {tag: value for kind, tag, _, value in _FILED.iter_unpack(properties[:size]) if kind == _TIME}
    if moment := times.get(_SENT) or times.get(_RECEIVED):
        with suppress(OverflowError):
            values["date"] = (_EPOCH + timedelta(microseconds=moment / 10)).strftime("%Y-%m-%d %H:%M")
    return {name: value for name, value in values.items() if value}


def _string(ole: OleFileIO, tag: str, folder: str = "") -> str:
    """Return a property that is text: Unicode, else in the encoding of its author."""
    wide = _stream(ole, f"{folder}__substg1.0_{tag}001F")
    if wide:
        return wide.decode("utf-16-le", "replace").rstrip("\0")
    return decode(_stream(ole, f"{folder}__substg1.0_{tag}001E").rstrip(b"\0"))[0]


def _stream(ole: OleFileIO, name: str) -> bytes:
    return ole.openstream(name).read() if ole.exists(name) else b""


def _text(ole: OleFileIO) -> str:
    plain = _string(ole, _BODY).replace("\r\n", "\n")
    if plain.strip():
        return plain
    html = _stream(ole, f"__substg1.0_{_HTML}0102") or _string(ole, _HTML).encode()
    _, text = read_html(decode(html)[0]) if html else ("", "")
    return text


def _attachments(ole: OleFileIO) -> Iterator[Member]:
    folders = sorted({path[0] for path in ole.listdir() if path[0].startswith("__attach_version1.0")})
    for number, folder in enumerate(folders, 1):
        data = _stream(ole, f"{folder}/__substg1.0_{_DATA}0102")
        name = _string(ole, _LONG_NAME, f"{folder}/") or _string(ole, _SHORT_NAME, f"{folder}/")
        if data:
            yield Member(name or f"attachment {number}", data)
