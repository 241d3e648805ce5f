"""The kernel of checksums agrees with zlib."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.store.record.checksums import has_checksums, row_checksum
from sleuth.store.record.layout import (
    CHUNK_PARTS,
    DOCUMENT_PARTS,
    DocumentRow,
    StoredChunk,
    chunk_checksum,
    document_checksum,
)
from tests.examples import examples

NUMBERS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
SALT = 0xC0FFEE42
TEXTS = st.none() | st.text(st.characters(codec="utf-8"), max_size=40)


def covered(numbers: list[int | None], texts: list[str | None]) -> bytes:
    """Return the bytes that a checksum covers."""
    return ("".join(f"{number}|" for number in numbers) + "\0".join(map(str, texts))).encode()


@settings(max_examples=examples(200))
@given(st.lists(NUMBERS, max_size=6), st.lists(TEXTS, max_size=4), st.binary(max_size=20))
def test_a_row(numbers: list[int | None], texts: list[str | None], before: bytes) -> None:
    """The checksum of a row is the CRC-32 of its numbers and texts, after other bytes, with the salt, as 32 bits with
    a sign.
    """
    row = (*numbers, b"not covered", *texts)
    expected = (zlib.crc32(covered(numbers, texts), zlib.crc32(before)) ^ SALT) - (1 << 31)
    assert row_checksum(row, len(numbers), len(numbers) + 1, SALT, zlib.crc32(before)) == expected


@pytest.mark.parametrize("row", [(1.0, "a"), ("1", "a"), (1, b"a"), (1, 2), (1 << 63, "a"), (1, "\ud800")])
def test_values_of_other_types(row: tuple[Any, ...]) -> None:
    """A value that is not of the type that was written is an error."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        row_checksum(row, 1, 1, SALT)


CHUNK = StoredChunk(7, 2, None, 40, 3, 5, 0, None, '{"a":1}', "text ä")
DOCUMENT = DocumentRow(5, 4, 99, None, 0, b"digest", "id", "source", None, '{"b":2}')
JOINED = (
    *CHUNK._replace(checksum=chunk_checksum(CHUNK, SALT)),
    *DOCUMENT._replace(checksum=document_checksum(DOCUMENT, SALT)),
)


def is_whole(row: tuple[Any, ...], salt: int = SALT) -> bool:
    """Return whether a chunk and its document are as they were written."""
    return has_checksums(row, len(CHUNK), salt, CHUNK_PARTS, DOCUMENT_PARTS)


@pytest.mark.parametrize("place", range(len(JOINED)))
@pytest.mark.parametrize("value", [6, -1, 1 << 70, 1.5, "other", b"other", "\ud800"])
def test_a_chunk_with_its_document(place: int, value: Any) -> None:
    """Any other value at any place is noticed."""
    assert is_whole(JOINED)
    assert not is_whole((*JOINED[:place], value, *JOINED[place + 1 :]))
    assert not is_whole(JOINED, SALT + 1)
