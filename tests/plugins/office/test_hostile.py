"""Hostile office files and books cost themselves: they end within limits, or are read."""

import zipfile
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest

from sleuth.ingest import ReadOptions, Skipped
from sleuth.types import Document
from tests.fuzz.samples import PACKED, book, cell, docx_of, opendocument, packed, workbook
from tests.ingest.extraction.reading import load, skips_beside

LIMITS = {"max_seconds": 5, "max_memory_bytes": 300 << 20, "max_unpacked_bytes": 4 << 20, "workers": 1}
ZEROS = b"0" * (5 << 20)


def repeated(columns: int, rows: int) -> str:
    return (
        f'<table:table table:name="Plan"><table:table-row table:number-rows-repeated="{rows}"><table:table-cell '
        f'table:number-columns-repeated="{columns}" office:value-type="string"><text:p>words</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )


BOMBS: dict[str, Callable[[], bytes]] = {
    "corners.xlsx": lambda: workbook(
        f'<row r="1">{cell("A1", "words")}</row><row r="1048576">{cell("XFD1048576", "far")}</row>'
    ),
    "columns.xlsx": lambda: workbook(
        f'<row r="1">{cell("A1", "words")}{cell("BDWGN1", "far")}</row>' * 1_000
    ),
    "columns.ods": lambda: opendocument("spreadsheet", repeated(1_000_000, 1_000)),
    "rows.ods": lambda: opendocument("spreadsheet", repeated(1, 100_000_000)),
    "blanks.odt": lambda: opendocument("text", '<text:p>words<text:s text:c="1000000000"/></text:p>'),
    "nested.odt": lambda: opendocument("text", "<text:p>" * 50_000 + "words" + "</text:p>" * 50_000),
    "nested.odp": lambda: opendocument("presentation", "<draw:g>" * 50_000 + "</draw:g>" * 50_000),
    "nested.epub": lambda: book("<div>" * 50_000 + "words"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_itself(tmp_path: Path, name: str) -> None:
    """A file of few bytes that would grow or nest without end is read within the limits, or skipped with a reason."""
    data = BOMBS[name]()
    assert len(data) < 1 << 20
    records = load(tmp_path / name, data, **LIMITS)
    assert records
    for record in records:
        if isinstance(record, Skipped):
            assert record.kind in ("limits", "invalid", "member"), record
            assert record.reason
        else:
            assert len(record.page_content) <= LIMITS["max_unpacked_bytes"]


def laughs() -> bytes:
    """Return a document with entities of entities, ten times each."""
    entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghij"))
    doctype = f'<!DOCTYPE w [<!ENTITY a "xxxxxxxxxx">{entities}]>'
    return docx_of("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", doctype)


def understated() -> bytes:
    """Return an archive whose header understates the unpacked size a thousandfold."""
    data = docx_of(f"<w:p><w:r><w:t>{'x' * 30_000_000}</w:t></w:r></w:p>")
    with zipfile.ZipFile(BytesIO(data)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    return data.replace(size.to_bytes(4, "little"), (size // 1000).to_bytes(4, "little"))


WORD_BOMBS: dict[str, Callable[[], bytes]] = {
    "paragraphs.docx": lambda: docx_of("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 300_000),
    "blanks.docx": lambda: docx_of(f"<w:p><w:r><w:t>{'x' * 50_000_000}</w:t></w:r></w:p>"),
    "nested.docx": lambda: docx_of("<w:p>" * 30_000 + "</w:p>" * 30_000),
    "laughs.docx": laughs,
    "understated.docx": understated,
}


@pytest.mark.parametrize("name", WORD_BOMBS)
def test_a_word_document_costs_itself(tmp_path: Path, name: str) -> None:
    """A document that exceeds a limit is skipped with its reason, and the document after it is read."""
    sound = docx_of("<w:p><w:r><w:t>word</w:t></w:r></w:p>")
    options = ReadOptions(max_seconds=2, max_memory_bytes=400 << 20, workers=1)
    skips = skips_beside(tmp_path, name, WORD_BOMBS[name](), sound, options)
    if name.startswith("paragraphs"):
        assert skips[0].kind == "limits"
        assert "took more than 2 s to read" in skips[0].reason or "needs more than 400 MB" in skips[0].reason


@pytest.mark.parametrize("kind", PACKED)
def test_what_unpacks_to_too_much(tmp_path: Path, kind: str) -> None:
    """A document of few bytes whose parts unpack to more than the limit is refused before any is unpacked."""
    with zipfile.ZipFile(BytesIO(PACKED[kind])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    data = packed(members | {"media/zeros.xml": ZEROS})
    (record,) = load(tmp_path / f"a.{kind}", data, **LIMITS)
    assert isinstance(record, Skipped)
    assert record.kind == "limits"
    assert record.reason.startswith("unpacks to ")


@pytest.mark.parametrize("kind", ["odt", "ods", "odp", "epub", "xlsx"])
def test_entities(tmp_path: Path, kind: str) -> None:
    """Entities of a document type are not expanded, and no file that they name is read."""
    secret = tmp_path / "secret.txt"
    secret.write_text("OCELOT")
    doctype = (
        f'<!DOCTYPE x [<!ENTITY out SYSTEM "{secret.as_uri()}"><!ENTITY a "{"b" * 1_000}">'
        f'<!ENTITY c "{"&a;" * 1_000}"><!ENTITY d "{"&c;" * 1_000}">]>'
    )
    with zipfile.ZipFile(BytesIO(PACKED[kind])) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    entities = {
        name: doctype + text.removeprefix('<?xml version="1.0"?>').replace("words", "words &out; &d;")
        for name, text in members.items()
        if "words" in text
    }
    assert entities
    for record in load(tmp_path / f"a.{kind}", packed(members | entities), **LIMITS):
        if isinstance(record, Document):
            assert "OCELOT" not in record.page_content
            assert len(record.page_content) < 100_000
        else:
            assert record.kind in ("invalid", "limits")


def test_macros(tmp_path: Path) -> None:
    """Programs inside a workbook are neither read nor run; its cells are read."""
    with zipfile.ZipFile(BytesIO(PACKED["xlsx"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    canary = tmp_path / "canary"
    macro = f'Sub Auto_Open()\nShell "touch {canary}"\nEnd Sub'
    (record,) = load(tmp_path / "a.xlsm", packed(members | {"xl/vbaProject.bin": macro.encode()}), **LIMITS)
    assert isinstance(record, Document)
    assert "words" in record.page_content
    assert "Shell" not in record.page_content
    assert not canary.exists()
