"""The kernel of checksums agrees with zlib."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.store.record import first_damaged, row_checksum
from tests.examples import examples

NUMBERS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.none() | st.text(st.characters(codec="utf-8"), max_size=40)


def covered(numbers: list[int | None], texts: list[str | None]) -> bytes:
    """Return the bytes that a checksum covers."""
    return ("".join(f"{number}|" for number in numbers) + "\0".join(map(str, texts))).encode()


@settings(max_examples=examples(200))
@given(st.lists(NUMBERS, max_size=6), st.lists(TEXTS, max_size=4), st.binary(max_size=20))
def test_a_row(numbers: list[int | None], texts: list[str | None], before: bytes) -> None:
    """The checksum of a row is the CRC-32 of its numbers and texts, after other bytes."""
    row = (*numbers, b"not covered", *texts)
    expected = zlib.crc32(covered(numbers, texts), zlib.crc32(before))
    assert row_checksum(row, len(numbers), len(numbers) + 1, zlib.crc32(before)) == expected


@pytest.mark.parametrize("row", [(1.0, "a"), ("1", "a"), (1, b"a"), (1, 2), (1 << 63, "a"), (1, "\ud800")])
def test_values_of_other_types(row: tuple[Any, ...]) -> None:
    """A value that is not of the type that was written is an error."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        row_checksum(row, 1, 1)


HIT = {
    "key": 9, "n": 2, "page": None, "start": 4, "line": 1, "lines": 0, "checksum": 0, "chunks": 3, "size": 8,
    "modified_ns": 77, "document_checksum": 0, "content_hash": "00FF", "id": "a", "source": None, "title": "ü",
    "bytes": 3,
}  # fmt: skip
MAPPINGS = ('{"heading":"h"}', None, '{"x":[1,"\\n"]}')
SIGN = -(1 << 31)
SALT = 0xC0FFEE42


def gathered(values: dict[str, Any], mappings: tuple[str | None, ...], text: str) -> tuple[list[Any], str]:
    """Return a hit with its checksums, and the lines in which it is gathered."""
    fields, own, metadata = mappings
    chunk = [values[name] for name in ("key", "n", "page", "start", "line", "lines")]
    document = [values["key"] - values["n"], *(values[name] for name in ("chunks", "size", "modified_ns"))]
    names = [values[name] for name in ("id", "source", "title")]
    digest = zlib.crc32(bytes.fromhex(values["content_hash"]))
    sums = {
        "checksum": (zlib.crc32(covered(chunk, [fields, own, text])) ^ SALT) + SIGN,
        "document_checksum": (zlib.crc32(covered(document, [*names, metadata]), digest) ^ SALT) + SIGN,
    }
    row = list((values | sums).values())
    return row, ",\n".join([json.dumps(row), *(mapping or "null" for mapping in mappings)])


def test_hits() -> None:
    """The first hit is named of which any value differs from what was written."""
    rows, lines = map(
        list, zip(*(gathered({**HIT, "key": key}, MAPPINGS, "text") for key in (9, 10)), strict=True)
    )
    assert first_damaged(rows, ["text", "text"], ",\n".join(lines), SIGN, SALT) == -1
    assert first_damaged(rows, ["text", "texT"], ",\n".join(lines), SIGN, SALT) == 1
    assert first_damaged([], [], "", SIGN, SALT) == -1
    for place, name in enumerate(HIT):
        if name in {"bytes", "is_coded"}:
            continue
        for value in {5, None, "AA"} - {rows[1][place]}:
            changed = [rows[0], [*rows[1][:place], value, *rows[1][place + 1 :]]]
            with suppress(TypeError, ValueError):  # of another type
                assert first_damaged(changed, ["text", "text"], ",\n".join(lines), SIGN, SALT) == 1, (
                    name,
                    value,
                )
    for mapping in ("h", "null", "[1,"):
        assert (
            first_damaged(rows, ["text", "text"], ",\n".join(lines).replace(mapping, "\n", 1), SIGN, SALT)
            == 0
        )


def test_rows_of_another_shape() -> None:
    """Rows of another number of values, and texts that are not as many as rows, are refused."""
    row, lines = gathered(HIT, MAPPINGS, "text")
    for rows, texts in (([row[:-1]], ["text"]), ([row], []), ([row], ["text", "text"])):
        with pytest.raises(ValueError, match="must"):
            first_damaged(rows, texts, lines, SIGN, SALT)
    assert first_damaged([row, row], ["text", "text"], lines, SIGN, SALT) == 1
