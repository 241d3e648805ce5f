"""PDF files are read column by column, without running heads, with whole words, headings and word of scanned pages."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.ingest import ReadOptions, Skipped
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.text.chunkers import Chunker
from tests.code.conftest import write
from tests.ingest.extraction.reading import load, only, reason
from tests.ingest.files import Placed, filled_form, pdf

LEFT = (
    "The left column tells how the", "bridge was built by many hands", "and why the river was so wide",
    "that nobody had crossed it yet", "before the engineers came over.",
)  # fmt: skip
RIGHT = (
    "The right column names all who",
    "paid for the stones and timber",
    "and lists what each one of them",
    "received when it was completed",
    "in the spring of another year.",
)


def prose(page: int, lines: int = 5) -> list[Placed]:
    return [Placed(72, 600 - 12 * i, f"Line {i} of page {page} says something else.") for i in range(lines)]


def test_columns(tmp_path: Path) -> None:
    """Columns painted row by row are read one after the other, below a heading across both of them."""
    lines = [
        Placed(72, 700, "A heading that runs across both of the columns and is therefore quite long indeed")
    ]
    for row, pair in enumerate(zip(LEFT, RIGHT, strict=True)):
        lines += [Placed(x, 680 - 12 * row, text) for x, text in zip((72, 320), pair, strict=True)]
    lines.append(
        Placed(72, 600, "A line below the columns, across the gutter, that concludes this page of text.")
    )
    text = only(tmp_path / "a.pdf", pdf([lines])).page_content
    assert text.split("\n") == [lines[0].text, "", *LEFT, *RIGHT, "", lines[-1].text]


def test_rows_of_a_table_stay_together(tmp_path: Path) -> None:
    """Short cells beside each other are one line: a table is read row by row."""
    cells = [
        Placed(x, 700 - 12 * row, f"{name} {row}") for row in range(8) for x, name in ((72, "a"), (320, "b"))
    ]
    text = only(tmp_path / "a.pdf", pdf([cells])).page_content
    assert text.split("\n") == [f"a {row} b {row}" for row in range(8)]


def test_words_at_the_ends_of_lines(tmp_path: Path) -> None:
    """A divided word is whole again; a compound that the text has elsewhere and a name keep their hyphen."""
    lines = [
        "It is well-known that the build-",
        "ing is old, and a well-",
        "known Anglo-",
        "Saxon lived there.",
    ]
    pages = [[Placed(72, 700 - 12 * i, line) for i, line in enumerate(lines)]]
    text = only(tmp_path / "a.pdf", pdf(pages)).page_content
    assert text == "It is well-known that the building is old, and a well-known Anglo-Saxon lived there."


def test_running_heads_and_page_numbers(tmp_path: Path) -> None:
    """A line that many pages repeat at their edge stays on the first of them; page numbers are left out."""
    pages = [
        [Placed(72, 760, "Annual report of 2026"), *prose(page), Placed(300, 30, str(page + 7))]
        for page in range(4)
    ]
    texts = only(tmp_path / "a.pdf", pdf(pages)).page_content.split("\f")
    assert ["Annual report" in text for text in texts] == [True, False, False, False]
    assert [text[-20:] for text in texts] == ["says something else."] * 4


def test_heads_with_the_number_of_the_page(tmp_path: Path) -> None:
    """Heads that differ and count up with the pages are left out, and other first lines stay."""
    names = ("Stones", "Timber", "Ropes", "Nails")
    pages = [[Placed(72, 760, f"{name} {page + 11}"), *prose(page)] for page, name in enumerate(names)]
    text = only(tmp_path / "a.pdf", pdf(pages)).page_content
    assert not any(name in text for name in names)
    pages = [[Placed(72, 760, f"{name} are sold here"), *prose(page)] for page, name in enumerate(names)]
    text = only(tmp_path / "b.pdf", pdf(pages)).page_content
    assert all(name in text for name in names)


def test_outline(tmp_path: Path) -> None:
    """Entries of the outline that a page says are headings; passages name them and their pages."""
    pages = [
        [Placed(72, 700, "1 Stones"), *prose(0)],
        [Placed(72, 700, "2 Timber from the"), Placed(72, 688, "northern woods"), *prose(1)],
    ]
    outline = [("Stones", 0), ("Timber from the northern woods", 1), ("Not on its page", 1)]
    document = only(tmp_path / "a.pdf", pdf(pages, outline=outline))
    first, second = document.page_content.split("\f")
    assert first.startswith("# 1 Stones\n\nLine 0")
    assert second.startswith("# 2 Timber from the northern woods\n\nLine 0")
    assert "Not on" not in document.page_content
    chunks = Chunker(100, 0).split(document)
    assert [(chunk.page, chunk.fields["heading"]) for chunk in chunks] == [
        (1, "1 Stones"),
        (2, "2 Timber from the northern woods"),
    ]


def test_a_filled_form(tmp_path: Path) -> None:
    """What is filled in stands on the page."""
    content = only(tmp_path / "a.pdf", filled_form("Name of the ship:", "Aurora of Bergen")).page_content
    assert content.split("\n") == ["Name of the ship:", "Aurora of Bergen"]


def recogniser(folder: Path) -> list[str]:
    """Return a program that says the size of the picture and how many of its dots are grey."""
    program = folder / "recognise.py"
    program.write_text(
        "import struct, sys, zlib\n"
        "data = sys.stdin.buffer.read()\n"
        "assert data.startswith(b'\\x89PNG')\n"
        "width, height = struct.unpack('>II', data[16:24])\n"
        "rows = zlib.decompress(data[data.index(b'IDAT') + 4 : -16])\n"
        "print(f'A scan of {width} by {height} dots, {rows.count(rows[(height - 1000) * (width + 1) + 1000])} alike')\n"
    )
    return [sys.executable, str(program)]


def test_scanned_pages(tmp_path: Path) -> None:
    """Pages with something drawn and no text are counted; blank ones are not."""
    document, skip = load(tmp_path / "a.pdf", pdf([prose(0), [], [], []], pictures=(1, 2)))
    assert isinstance(skip, Skipped)
    assert skip.reason == "2 pages hold no text, of 4: scanned, perhaps; --ocr COMMAND reads them"
    assert not isinstance(document, Skipped)
    assert document.metadata["pages"] == 4
    assert "silent_pages" not in document.metadata
    whole = pdf([[], []], pictures=(0, 1))
    assert reason(tmp_path / "b.pdf", whole).endswith("scanned, perhaps; --ocr COMMAND reads them")


def test_a_program_reads_scanned_pages(tmp_path: Path) -> None:
    """The program gets a picture of each page without text, and its words stand on that page."""
    content = pdf([prose(0), []], pictures=(1,))
    text = only(tmp_path / "a.pdf", content, ocr=recogniser(tmp_path)).page_content
    assert text.split("\f")[1].startswith("A scan of 2550 by 330")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/no/such/program"], "cannot be started"),
        ([sys.executable, "-c", "exit(3)"], "failed with status 3"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, command: list[str], why: str) -> None:
    """The text of the other pages is kept, and the reason is reported."""
    document, skip = load(tmp_path / "a.pdf", pdf([prose(0), []], pictures=(1,)), ocr=command)
    assert not isinstance(document, Skipped)
    assert isinstance(skip, Skipped)
    assert why in skip.reason


def test_a_program_is_named_by_the_caller_alone(tmp_path: Path) -> None:
    """It is not remembered, and a note of an index that names one is not obeyed; what it read stays."""
    write(tmp_path / "docs", {"a.pdf": pdf([prose(0), []], pictures=(1,))})
    command = recogniser(tmp_path)
    with Engine.open(tmp_path / "index", create=True) as engine:
        assert engine.index([tmp_path / "docs"]).added == 1
        assert engine.index([tmp_path / "docs"]).unchanged == 1
        assert engine.index([tmp_path / "docs"], options={"ocr": command}).updated == 1
        assert engine.index([tmp_path / "docs"], options={"ocr": command}).unchanged == 1
        assert engine.index([tmp_path / "docs"]).unchanged == 1
        assert next(iter(engine.retrieve("scan dots", 1))).metadata["page"] == 2
    assert "ocr" not in ReadOptions(ocr=command).to_dict()
    canary = tmp_path / "canary"
    evil = json.dumps({"ocr": [sys.executable, "-c", f"open({str(canary)!r}, 'w')"]})
    write(tmp_path / "more", {"b.pdf": pdf([prose(0), []], pictures=(1,))})
    with Engine.open(tmp_path / "index") as engine:
        engine.index([tmp_path / "more"])
        with engine.store.writer() as writer:
            writer.note_file("more", options=evil)
        engine.index([tmp_path / "more"])
        (tmp_path / "more" / "b.pdf").write_bytes(pdf([prose(1), []], pictures=(1,)))
        assert engine.index([tmp_path / "more"]).updated == 1
    assert not canary.exists()


def test_a_page_is_drawn_in_colour_for_readers() -> None:
    """The picture has as many dots as its resolution says, in red, green and blue; without colour it has greys."""
    with FileProcesses(20, 256 << 20) as processes:
        for colour, kind in ((True, 2), (False, 0)):
            data = processes.picture("a.pdf", pdf([prose(0)]), 1, dots_per_inch=72, colour=colour)
            assert data.startswith(b"\x89PNG")
            width, height, depth, colour_type = struct.unpack(">IIBB", data[16:26])
            assert (depth, colour_type) == (8, kind)
            rows = zlib.decompress(data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8])
            assert len(rows) == height * (1 + width * (3 if colour else 1))
