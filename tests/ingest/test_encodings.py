"""Which text bytes are taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.ingest.encodings import decode, is_binary

GERMAN = "Größe, Übermut und Straßenbahnschienen: schöne Wörter fürs Wörterbuch. " * 5
RUSSIAN = "Быстрая бурая лиса перепрыгивает через ленивую собаку. " * 5


@given(st.text())
def test_utf8(text: str) -> None:
    """Every UTF-8 text is read as what it is, with line feeds alone."""
    data = text.encode()
    if not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in data:
        assert decode(data) == (text.replace("\r\n", "\n").replace("\r", "\n"), "utf-8")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, "漢字", ""])
def test_byte_order_marks(encoding: str, text: str) -> None:
    """A mark names the encoding, and is not part of the text."""
    assert decode(text.encode(encoding)) == (text, encoding.removesuffix("-sig"))
    assert not is_binary(text.encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(encoding: str) -> None:
    """Latin text in UTF-16 is known by its NULs."""
    data = GERMAN.encode(encoding)
    assert decode(data) == (GERMAN, encoding)
    assert not is_binary(data)


@pytest.mark.parametrize(
    "data", [b"\0", b"\x7fELF\x02\x01\0\0\0", b"text\0text", bytes(range(256)) * 8, b"\0" * 100]
)
def test_binary(data: bytes) -> None:
    """A NUL in bytes that are not wide text means binary."""
    assert is_binary(data)


def test_legacy_encodings_are_guessed() -> None:
    """Text in the common one-byte encodings is read right, and says which it was."""
    assert decode(GERMAN.encode("cp1252"))[0] == GERMAN
    text, encoding = decode(RUSSIAN.encode("cp1251"))
    assert text == RUSSIAN
    assert encoding == "cp1251"


def test_declared_encoding_wins_over_a_guess() -> None:
    """A page that declares its encoding is read in it, unless it is UTF-8 all the same."""
    assert decode("é".encode("koi8-r", "replace") + b"\xe9", "latin-1")[0] == "?é"
    assert decode("é".encode(), "latin-1") == ("é", "utf-8")
    assert decode(b"caf\xe9 " * 20, "no such encoding")[0] == "café " * 20


def test_damaged_utf8_stays_utf8() -> None:
    """One broken byte in a long text costs one sign, not the encoding."""
    data = GERMAN.encode() + b"\xff" + GERMAN.encode()
    assert decode(data) == (GERMAN + "\ufffd" + GERMAN, "utf-8 (damaged)")


@given(st.binary())
def test_everything_can_be_read(data: bytes) -> None:
    """Any bytes give a text that is valid Unicode."""
    text, encoding = decode(data)
    text.encode()
    assert encoding
    assert "\r" not in text
