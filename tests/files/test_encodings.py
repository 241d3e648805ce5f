"""Bytes are decoded to text."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.files import decode
from sleuth.files.encodings import is_binary

GERMAN = "Größe, Übermut und Straßenbahnschienen: schöne Wörter fürs Wörterbuch. " * 5
RUSSIAN = "Быстрая бурая лиса перепрыгивает через ленивую собаку. " * 5


@given(st.text())
def test_utf8(text: str) -> None:
    """UTF-8 text is decoded unchanged, with line feeds as line ends."""
    data = text.encode()
    if not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in data:
        assert decode(data) == (text.replace("\r\n", "\n").replace("\r", "\n"), "utf-8")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, "漢字", ""])
def test_byte_order_marks(encoding: str, text: str) -> None:
    """A byte order mark determines the encoding and is not part of the text."""
    assert decode(text.encode(encoding)) == (text, encoding.removesuffix("-sig"))
    assert not is_binary(text.encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(encoding: str) -> None:
    """Latin text in UTF-16 is recognised by its NUL bytes."""
    data = GERMAN.encode(encoding)
    assert decode(data) == (GERMAN, encoding)
    assert not is_binary(data)


@pytest.mark.parametrize(
    "data", [b"\0", b"\x7fELF\x02\x01\0\0\0", b"text\0text", bytes(range(256)) * 8, b"\0" * 100]
)
def test_binary(data: bytes) -> None:
    """A NUL byte in text that is not UTF-16 or UTF-32 means binary."""
    assert is_binary(data)


SAMPLES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf8"))


@pytest.mark.parametrize("language", SAMPLES)
@pytest.mark.parametrize("times", [1, 60])
def test_languages(language: str, times: int) -> None:
    """A sentence and a text of each language are decoded correctly without a declaration."""
    encoding, text = SAMPLES[language]
    assert decode((text * times).encode(encoding))[0] == text * times


@pytest.mark.parametrize(
    "text", ["café", "Le café était fermé. " * 60, "El niño", "Übermut", "Rødgrød med fløde", "São"]
)
def test_a_few_words_of_western_europe(text: str) -> None:
    """One accent among ASCII is Western European, not Chinese or UTF-16."""
    assert decode(text.encode("latin-1")) == (text, "cp1252")
    cases = {"wysłała już": "cp1250", "elérhető": "cp1250", "začetek": "cp1250", "başarılı": "cp1254"}
    for words, encoding in (
        cases | {"meklēšana tīklā": "cp1257"}
    ).items():  # no word of the West is "baþarýlý"
        assert decode(words.encode(encoding)) == (words, encoding)


def test_a_damaged_sign_in_a_legacy_encoding() -> None:
    """A byte that the encoding does not have is replaced, and the encoding stays."""
    assert decode(RUSSIAN.encode("cp1251")) == (RUSSIAN, "cp1251")
    encoding, text = SAMPLES["Polish"]
    data = (text * 9).encode(encoding)
    assert decode(data + b"\x98") == (text * 9 + "\ufffd", "cp1250 (damaged)")


def test_declared_encoding_wins_over_a_guess() -> None:
    """A declared encoding is used unless the page is valid UTF-8."""
    assert decode("é".encode("koi8-r", "replace") + b"\xe9", "latin-1")[0] == "?é"
    assert decode("é".encode(), "latin-1") == ("é", "utf-8")
    assert decode(b"caf\xe9 " * 20, "no such encoding")[0] == "café " * 20


def test_damaged_utf8_stays_utf8() -> None:
    """One broken byte in a long text is replaced, and the encoding stays UTF-8."""
    data = GERMAN.encode() + b"\xff" + GERMAN.encode()
    assert decode(data) == decode("\ufeff".encode() + data) == (GERMAN + "\ufffd" + GERMAN, "utf-8 (damaged)")


@given(st.binary())
def test_everything_can_be_read(data: bytes) -> None:
    """Any bytes are decoded to valid Unicode."""
    text, encoding = decode(data)
    text.encode()
    assert encoding
    assert "\r" not in text


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("ISO-8859-1", "cp1252", "“Zitat” – 5 €"), ("us-ascii", "cp1252", "naïve"),
        ("gb2312", "gb18030", "朱镕基"), ("Shift_JIS", "cp932", "①髙﨑"), ("euc-kr", "cp949", "똠방각하"),
    ],
)  # fmt: skip
def test_declared_encodings_mean_what_browsers_take_them_for(declared: str, encoding: str, text: str) -> None:
    """A declared encoding means what browsers decode it as, often a larger successor."""
    assert decode(text.encode(encoding), declared) == (text, encoding)


def test_a_declared_encoding_that_its_successor_does_not_hold() -> None:
    """Bytes that cp1252 does not define are decoded as declared."""
    assert decode(b"caf\xe9 \x81", "latin1") == ("café \x81", "latin-1")


@pytest.mark.parametrize(
    "label", ["utf-16", "UTF-16BE", "punycode", "unicode_escape", "utf-7", "replacement"]
)
def test_labels_that_no_browser_obeys(label: str) -> None:
    """UTF-16 declared in ASCII and codecs that only Python has are ignored."""
    assert decode("Le café était fermé. ".encode("cp1252"), label) == ("Le café était fermé. ", "cp1252")
