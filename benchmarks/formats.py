"""What is found in files of many formats, made by different programs, by Sleuth and by markitdown?

    python -m benchmarks.formats [--files FOLDER] [--peer PYTHON]

The same small handbook is written by LibreOffice, pandoc, asciidoctor, groff and Python packages, as far as they are
installed: see `make formats`. In each file, the words of its paragraphs are looked for, its headings as headings, the
rows of its table with both of their cells in one line, and what must not be there: markup, styles, running heads.
`--peer` is the Python of an environment with markitdown. Exits with 1 if anything is missing in what Sleuth reads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sleuth.ingest import FileEntry, ReadOptions, read_file
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.validate import PreparedDocument

TITLE: Final = "Harbour handbook"
HEADINGS: Final = ("Tides and pilots", "Rooms of the crew")
SENTENCES: Final = (
    "The pilot boards every vessel longer than forty metres.",
    "Müller keeps the lighthouse log in the château.",
    "Ropes are replaced each spring, and the old ones are sold.",
)
ROWS: Final = (("Person", "Room"), ("Ann", "Room 12"), ("Béla", "Room 7"), ("Chidi", "Room 31"))
NEVER: Final = (
    "font-family",
    "<w:",
    "xmlns",
    "style:name",
    "\\rtlch",
    "\\begin{",
    "urn:oasis",
    "base64,",
    ".TH ",
)
MARKDOWN: Final = f"""# {TITLE}

## {HEADINGS[0]}

{SENTENCES[0]}

- {SENTENCES[1]}
- {SENTENCES[2]}

## {HEADINGS[1]}

| {" | ".join(ROWS[0])} |
|---|---|
{chr(10).join(f"| {' | '.join(row)} |" for row in ROWS[1:])}
"""
HTML: Final = (
    f"<html><head><meta charset=utf-8><title>{TITLE}</title></head><body><h1>{TITLE}</h1><h2>{HEADINGS[0]}</h2>"
    f"<p>{SENTENCES[0]}</p><ul><li>{SENTENCES[1]}</li><li>{SENTENCES[2]}</li></ul><h2>{HEADINGS[1]}</h2><table>"
    + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    + "</table></body></html>"
)
MADE_BY_PANDOC: Final = {
    "docx": "docx", "odt": "odt", "epub": "epub", "epub2": "epub", "rtf": "rtf", "html": "html", "html4": "html",
    "latex": "tex", "beamer": "tex", "org": "org", "asciidoc": "adoc", "man": "1", "ms": "ms", "ipynb": "ipynb",
    "pptx": "pptx", "rst": "rst", "docbook5": "xml", "tei": "xml", "jats": "xml", "fb2": "xml", "opml": "xml",
}  # fmt: skip
"""Endings of files by the writer of pandoc."""
MADE_BY_OFFICE: Final = {
    "text.html": ("odt", "docx", "doc", "rtf", "pdf", "epub", "fodt", "html"),
    "table.csv": ("ods", "xlsx", "xls", "fods", "html", "pdf"),
    "slides.pptx": ("odp", "pptx", "pdf", "fodp"),
}
"""Formats that LibreOffice writes, by the file it converts."""


UNREAD: Final = (".doc", ".ms")
"""Formats that Sleuth does not read, or as text alone, and says so."""
FILTERS: Final = {"text.html": ["--infilter=HTML (StarWriter)"], "table.csv": ["--infilter=CSV:44,34,76"]}
"""How LibreOffice reads the files that it converts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A file and what it holds.

    Attributes:
        program: that wrote it.
        headings: whether the format has headings, and the program wrote them as such.
        text: whether it holds the sentences, not the table alone.
        table: whether it holds the table.
    """

    path: Path
    program: str
    headings: bool = True
    text: bool = True
    table: bool = True


@dataclass(frozen=True, slots=True)
class Score:
    """What a reader found in a file, each a share of 0 to 1, and the seconds it took."""

    words: float
    headings: float | None
    rows: float | None
    clean: bool
    seconds: float


def by_pandoc(folder: Path) -> Iterator[Sample]:
    source = folder / "source.md"
    source.write_text(MARKDOWN, "utf8")
    for writer, ending in MADE_BY_PANDOC.items():
        path = folder / f"pandoc-{writer}.{ending}"
        command = [
            "pandoc",
            "--standalone",
            "--metadata",
            f"title={TITLE}",
            "-t",
            writer,
            "-o",
            str(path),
            str(source),
        ]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            yield Sample(
                path,
                "pandoc",
                headings=writer not in ("rtf", "ms", "opml", "rst", "beamer", "fb2"),
                table=writer not in ("opml", "fb2"),
            )


def by_libreoffice(folder: Path) -> Iterator[Sample]:
    office = shutil.which("soffice") or "libreoffice"
    (folder / "text.html").write_text(HTML, "utf8")
    (folder / "table.csv").write_text("\n".join(map(",".join, ROWS)), "utf8")
    for name, endings in MADE_BY_OFFICE.items():
        if not (folder / name).exists():
            continue
        for ending in endings:
            target = folder / f"office-{name.partition('.')[0]}-{ending}"
            filter_name = f"{ending}:writer_web_HTML" if (name, ending) == ("text.html", "html") else ending
            load = FILTERS.get(name, [])
            command = [
                office,
                "--headless",
                f"-env:UserInstallation=file://{folder}/profile",
                *load,
                "--convert-to",
                filter_name,
            ]
            subprocess.run(
                [*command, "--outdir", str(target), str(folder / name)], capture_output=True, check=False
            )
            for path in target.glob("*"):
                is_text = name == "text.html"
                yield Sample(
                    path,
                    "LibreOffice",
                    is_text and ending not in ("pdf", "rtf", "epub"),
                    name != "table.csv",
                    name != "slides.pptx",
                )


def by_asciidoctor(folder: Path) -> Iterator[Sample]:
    rows = "\n".join(f"|{' |'.join(row)}" for row in ROWS)
    text = f"= {TITLE}\n\n== {HEADINGS[0]}\n\n{SENTENCES[0]}\n\n* {SENTENCES[1]}\n* {SENTENCES[2]}\n\n"
    source = folder / "asciidoctor.adoc"
    source.write_text(f"{text}== {HEADINGS[1]}\n\n|===\n{rows}\n|===\n", "utf8")
    yield Sample(source, "by hand")
    for backend, ending in (("html5", "html"), ("xhtml5", "html"), ("docbook5", "xml")):
        path = folder / f"asciidoctor-{backend}.{ending}"
        subprocess.run(
            ["asciidoctor", "-b", backend, "-o", str(path), str(source)], capture_output=True, check=False
        )
        if path.exists():
            yield Sample(path, "asciidoctor")


def by_groff(folder: Path) -> Iterator[Sample]:
    paragraphs = "\n.PP\n".join(SENTENCES)
    sections = f".SH {HEADINGS[0]}\n{paragraphs}\n.SH {HEADINGS[1]}\nNone.\n"
    source = folder / "groff.7"
    source.write_text(f".TH HARBOUR 7\n.SH NAME\nharbour \\- {TITLE}\n{sections}", "utf8")
    yield Sample(source, "by hand", table=False)
    for device in ("pdf", "html", "utf8"):
        path = folder / f"groff.{'txt' if device == 'utf8' else device}"
        process = subprocess.run(
            ["groff", "-k", "-man", f"-T{device}", str(source)], capture_output=True, check=False
        )
        if process.returncode == 0 and process.stdout:
            path.write_bytes(process.stdout)
            yield Sample(path, "groff", headings=device == "html", table=False)


def by_python_docx(folder: Path) -> Iterator[Sample]:
    import docx

    document = docx.Document()
    document.add_heading(TITLE, 1)
    document.add_heading(HEADINGS[0], 2)
    document.add_paragraph(SENTENCES[0])
    for sentence in SENTENCES[1:]:
        document.add_paragraph(sentence, style="List Bullet")
    document.add_heading(HEADINGS[1], 2)
    table = document.add_table(len(ROWS), 2)
    for row, cells in zip(table.rows, ROWS, strict=True):
        row.cells[0].text, row.cells[1].text = cells
    document.save(str(folder / "python.docx"))
    yield Sample(folder / "python.docx", "python-docx")


def by_python_pptx(folder: Path) -> Iterator[Sample]:
    import pptx
    from pptx.util import Inches

    slides = pptx.Presentation()
    for heading, sentences in zip(HEADINGS, (SENTENCES[:2], SENTENCES[2:]), strict=True):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(sentences)
    table = slide.shapes.add_table(len(ROWS), 2, Inches(1), Inches(4), Inches(4), Inches(2)).table
    for number, row in enumerate(ROWS):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    slides.save(str(folder / "python.pptx"))
    slides.save(str(folder / "slides.pptx"))
    yield Sample(folder / "python.pptx", "python-pptx")


def by_openpyxl(folder: Path) -> Iterator[Sample]:
    import openpyxl

    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(folder / "openpyxl.xlsx")
    yield Sample(folder / "openpyxl.xlsx", "openpyxl", headings=False, text=False)


def by_xlsxwriter(folder: Path) -> Iterator[Sample]:
    import xlsxwriter

    with xlsxwriter.Workbook(folder / "xlsxwriter.xlsx") as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(ROWS):
            sheet.write_row(number, 0, row)
    yield Sample(folder / "xlsxwriter.xlsx", "xlsxwriter", headings=False, text=False)


def by_nbformat(folder: Path) -> Iterator[Sample]:
    nbformat: Any = import_module("nbformat")  # its functions have no types
    cells = [nbformat.v4.new_markdown_cell(MARKDOWN), nbformat.v4.new_code_cell("print(1)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "nbformat.ipynb")
    yield Sample(folder / "nbformat.ipynb", "nbformat")


def by_email(folder: Path) -> Iterator[Sample]:
    from email.message import EmailMessage

    for policy, html in (("plain", False), ("html", True)):
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = TITLE, "ann@example.org", "bela@example.org"
        message.set_content("\n".join(SENTENCES))
        if html:
            message.clear_content()
            message.set_content(HTML, subtype="html")
        (folder / f"email-{policy}.eml").write_bytes(message.as_bytes())
        yield Sample(folder / f"email-{policy}.eml", "email", headings=html, table=html)


MAKERS: Final[Sequence[Callable[[Path], Iterator[Sample]]]] = (
    by_python_docx, by_python_pptx, by_openpyxl, by_xlsxwriter, by_nbformat, by_email, by_pandoc, by_asciidoctor,
    by_groff, by_libreoffice,
)  # fmt: skip


def made(folder: Path) -> list[Sample]:
    """Make the files; what is not installed is named on standard error."""
    samples: list[Sample] = []
    for maker in MAKERS:
        try:
            samples += maker(folder)
        except (ImportError, FileNotFoundError) as error:
            print(f"{maker.__name__.replace('_', ' ')}: {error}", file=sys.stderr)
    return samples


def scored(sample: Sample, text: str, seconds: float) -> Score:
    """Compare a text with what its file holds."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    whole = " ".join(lines)
    words = [word for sentence in SENTENCES for word in sentence.rstrip(".").split()] if sample.text else []
    cells = [cell for row in ROWS[1:] for cell in row] if sample.table else []
    expected = [*words, *cells]
    headings = [any(line.startswith("#") and heading in line for line in lines) for heading in HEADINGS]
    rows = [any(all(cell in line for cell in row) for line in lines) for row in ROWS[1:]]
    return Score(
        sum(word in whole for word in expected) / len(expected),
        sum(headings) / len(headings) if sample.headings else None,
        sum(rows) / len(rows) if sample.table else None,
        not any(mark in text for mark in NEVER),
        seconds,
    )


def by_sleuth(samples: Sequence[Sample]) -> Iterator[Score]:
    options = ReadOptions()
    with FileProcesses(options.max_seconds, options.max_memory_bytes) as processes:
        for sample in samples:
            status = sample.path.stat()
            entry = FileEntry(str(sample.path), sample.path.name, status.st_size, status.st_mtime_ns)
            start = time.perf_counter()
            records = list(read_file(entry, options, processes))
            seconds = time.perf_counter() - start
            texts = [one.document.page_content for one in records if isinstance(one, PreparedDocument)]
            yield scored(sample, "\n".join(texts), seconds)


PEER: Final = """
import json, sys, time
from markitdown import MarkItDown
reader = MarkItDown()
for path in sys.argv[1:]:
    start = time.perf_counter()
    try:
        text = reader.convert(path).markdown
    except Exception as error:
        text = ""
    print(json.dumps([text, time.perf_counter() - start]), flush=True)
"""


def by_peer(python: str, samples: Sequence[Sample]) -> Iterator[Score]:
    paths = [str(sample.path) for sample in samples]
    ran = subprocess.run([python, "-c", PEER, *paths], capture_output=True, text=True, check=True)
    for sample, line in zip(samples, ran.stdout.splitlines(), strict=True):
        text, seconds = json.loads(line)
        yield scored(sample, text, seconds)


def cells(scores: Sequence[Score]) -> str:
    """Return the means of a table's row."""

    def mean(values: Sequence[float | None]) -> str:
        numbers = [value for value in values if value is not None]
        return f"{sum(numbers) / len(numbers):.2f}" if numbers else ""

    ms = 1000 * sorted(score.seconds for score in scores)[len(scores) // 2]
    clean = sum(score.clean for score in scores)
    means = (mean([score.words for score in scores]), mean([score.headings for score in scores]))
    return " | ".join(
        [*means, mean([score.rows for score in scores]), f"{clean} of {len(scores)}", f"{ms:.0f}"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=Path, help="folder that the files are made in and stay in")
    parser.add_argument("--peer", help="the Python of an environment with markitdown")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.files or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        samples = made(folder)
        readers = {"Sleuth": list(by_sleuth(samples))}
        if options.peer:
            readers["markitdown"] = list(by_peer(options.peer, samples))
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, sample in enumerate(samples):
        kinds[sample.path.suffix].append(number)
    print(
        "| format | files | programs | reader | words | headings | rows | clean | ms |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for kind, numbers in sorted(kinds.items()):
        programs = ", ".join(sorted({samples[number].program for number in numbers}))
        for name, scores in readers.items():
            print(
                f"| `{kind}` | {len(numbers)} | {programs} | {name} | {cells([scores[n] for n in numbers])} |"
            )
    wrong = 0
    for sample, score in zip(samples, readers["Sleuth"], strict=True):
        shares = (score.words, score.headings, score.rows)
        if not score.clean or any(share is not None and share < 1 for share in shares):
            print(f"{sample.path.name} ({sample.program}): {score}", file=sys.stderr)
            wrong += sample.path.suffix not in UNREAD
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
