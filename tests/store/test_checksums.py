"""The kernel of checksums agrees with zlib."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.store.record import row_checksum
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
