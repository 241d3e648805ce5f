"""What indexing spends its time on, by format of files: reading, languages, passages, words, vectors and the rest.

    python -m benchmarks.ingest_stages [--megabytes 10] [--formats md rst txt html py man eml]
    python -m benchmarks.ingest_stages --before ../old/.venv/bin/python   # beside another version, in turns

Prints CPU seconds by stage, of all threads, and megabytes of files per CPU second: medians of rounds. Stages are
measured with a clock in each function, which costs 20 µs a file and more. "first" and "second" are measured without:
two indexes that one process makes, one after the other. Each run is a process of its own over a copy of text files
found on the machine, as in `benchmarks.memory`. Mails are made of pieces of these: a third of them in base64, a third
quoted-printable, and every fourth with a page of HTML beside the text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import shutil
import statistics
import time
import zlib
from collections.abc import Iterator
from email.message import EmailMessage
from html import escape
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from benchmarks.passages import text_files
from benchmarks.stage_clock import StageClock
from benchmarks.versions import figures_of, versions_of

STAGES = {
    "walk": ("sleuth.ingest.walking", "_Walk.roots"),
    "read, decode, parse": ("sleuth.ingest.reading", "read_file"),
    "language": ("sleuth.ingest.validate", "with_language"),
    "hash and metadata": ("sleuth.ingest.documents", "prepare"),
    "passages": ("sleuth.text.chunkers", "Chunker.split"),
    "batch": ("sleuth.store.record.batch", "DocumentBatch.add"),
    "texts": ("sleuth.store.writing.transaction", "encode"),
    "rows of legs": ("sleuth.store.writing.transaction", "rows_of"),
    "words": ("sleuth.lexical.leg", "LexicalLeg.build"),
    "vectors": ("sleuth.dense.wordllama", "WordLlamaEmbedder.read"),
    "codes of vectors": ("sleuth.dense.leg", "DenseLeg.pack"),
    "columns": ("sleuth.columns.leg", "ColumnsLeg.build"),
    "write segments": ("sleuth.store.catalogue.manifest", "Built.__init__"),
    "insert": ("sleuth.store.writing.transaction", "insert"),
    "merge": ("sleuth.store.store", "Store._merge_once"),
    "commit": ("sleuth.store.writing.transaction", "Transaction.commit"),
}
"""By stage, the function whose own time it is, without that of other stages inside of it."""
REST, OTHER, CHILDREN = "everything else", "other threads and start", "processes that read files"
WHOLE = "first", "second"
"""The indexes that are made without clocks, one after the other in one process."""
MANUALS = Path("/usr/share/man")
MAIL = 2_000
"""Characters of a mail."""


def sources(kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield suffix and content of files of a format, each content once."""
    marks = set()
    if kind == "man":
        contents = (
            (path.with_suffix("").suffix, gzip.decompress(path.read_bytes()))
            for path in sorted(MANUALS.glob("man*/*.gz"))
        )
    elif kind == "eml":
        texts = (text for path, text in text_files() if path.suffix in (".md", ".rst"))
        pieces = (text[first : first + MAIL] for text in texts for first in range(0, len(text), MAIL))
        contents = ((".eml", mail(number, text)) for number, text in enumerate(pieces) if text.strip())
    else:
        contents = ((path.suffix, text.encode()) for path, text in text_files() if path.suffix == f".{kind}")
    for suffix, content in contents:
        if (mark := zlib.crc32(content)) not in marks:
            marks.add(mark)
            yield suffix, content


def mail(number: int, text: str) -> bytes:
    """Return a mail with this text, as mail programs write it."""
    message = EmailMessage()
    message["Subject"] = " ".join(filter(str.isprintable, text.split()[:7]))
    message["From"] = f"Ann Author <ann{number % 50}@example.org>"
    message["To"] = "list@example.org, Bob <bob@example.com>"
    message["Date"] = f"Tue, {1 + number % 28:02} Oct 2024 10:{number % 60:02}:00 +0000"
    message["Message-ID"] = f"<{number}@example.org>"
    message.set_content(text, cte=("8bit", "quoted-printable", "base64")[number % 3])
    if number % 4 == 0:
        paragraphs = "".join(f"<p>{escape(each)}</p>" for each in text.split("\n\n"))
        message.add_alternative(f"<html><body>{paragraphs}</body></html>", subtype="html")
    return bytes(message)


def corpus(kind: str, megabytes: float, folder: Path) -> Path:
    """Make a folder of files of a format, at most of this size in all; made once and kept."""
    home = folder / f"{kind}-{megabytes:g}"
    if home.is_dir():
        return home
    partial, size = home.with_suffix(".partial"), 0
    shutil.rmtree(partial, ignore_errors=True)
    for number, (suffix, content) in enumerate(sources(kind)):
        path = partial / str(number // 1000) / f"{number}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(content)
        if size >= megabytes * 1e6:
            break
    partial.rename(home)
    return home


def index(home: Path) -> None:
    """Index a folder into an index that is deleted then."""
    from sleuth import Engine

    with TemporaryDirectory() as folder, Engine.open(Path(folder, "index"), create=True) as engine:
        engine.index([home])


def cpu_seconds(who: int) -> float:
    """Return the CPU seconds of this process, or of those that it started and that have ended."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def measure(home: Path) -> dict[str, float]:
    """Index a folder in this process; return CPU seconds by stage."""
    clock = StageClock([*STAGES, REST])
    for name, (module, path) in STAGES.items():
        import_module(module)
        clock.watch(name, module, path)
    before = cpu_seconds(resource.RUSAGE_SELF)
    with clock.stage(REST):
        index(home)
    own = cpu_seconds(resource.RUSAGE_SELF) - before
    seconds = clock.seconds | {OTHER: max(0.0, own - sum(clock.seconds.values()))}
    return seconds | {CHILDREN: cpu_seconds(resource.RUSAGE_CHILDREN)}


def measure_whole(home: Path) -> dict[str, float]:
    """Index a folder twice in this process, without clocks; return the CPU seconds of both, also of its processes."""
    for module, _ in STAGES.values():
        import_module(module)
    seconds = {}
    for name in WHOLE:
        before = time.process_time() + cpu_seconds(resource.RUSAGE_CHILDREN)
        index(home)
        seconds[name] = time.process_time() + cpu_seconds(resource.RUSAGE_CHILDREN) - before
    return seconds


def megabytes_of(home: Path) -> float:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--formats", nargs="+", default=["md", "rst", "txt", "html", "py", "man", "eml"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", help="the interpreter of another version of Sleuth")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir(), "ingest-stages"))
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--whole", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve or options.whole:
        print(json.dumps(measure(options.serve) if options.serve else measure_whole(options.whole)))
        return
    homes = {kind: corpus(kind, options.megabytes, options.folder) for kind in options.formats}
    versions = versions_of(options.before)
    columns = [f"{kind} {name}" if options.before else kind for kind in homes for name in versions]
    rows = [*STAGES, REST, OTHER, CHILDREN, *WHOLE]
    figures: dict[str, list[dict[str, float]]] = {column: [] for column in columns}
    for _ in range(options.rounds):
        for column, (home, python) in zip(
            columns, ((home, python) for home in homes.values() for python in versions.values()), strict=True
        ):
            stages = figures_of(python, "ingest_stages", "--serve", home)
            figures[column].append(stages | figures_of(python, "ingest_stages", "--whole", home))
    print(f"| CPU seconds | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    seconds = {
        row: [statistics.median(run[row] for run in figures[column]) for column in columns] for row in rows
    }
    for row in rows:
        print(f"| {row} | {' | '.join(f'{each:.2f}' for each in seconds[row])} |")
    sizes = [megabytes_of(home) for home in homes.values() for _ in versions]
    print(f"| MB | {' | '.join(f'{size:.1f}' for size in sizes)} |")
    for row in WHOLE:
        speeds = (size / each for size, each in zip(sizes, seconds[row], strict=True))
        print(f"| MB per CPU second, {row} | {' | '.join(f'{speed:.1f}' for speed in speeds)} |")


if __name__ == "__main__":
    main()
