"""The worst files of every built-in format are read, or left out, within 300 MB: each process that takes part."""

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sleuth.files.formats import BUILT_IN, CODE, kind_of_name
from tests.commands import python
from tests.fuzz.samples import PACKED, docx_of, packed
from tests.fuzz.worst import WORST
from tests.ingest.extraction.test_limits import nested_forms

LIMIT = 300
"""Megabytes that docs/formats.md promises."""
SIZE = int(os.environ.get("SLEUTH_HOSTILE_BYTES", "1000000"))
READ = """
import json, resource, sys
from sleuth.ingest import ReadOptions, Skipped, read
def peak(who): return resource.getrusage(who).ru_maxrss >> 10
for _ in read([sys.argv[1]]): pass
before = peak(resource.RUSAGE_SELF)
reasons = []
for item in read([sys.argv[2]], options=ReadOptions(all=True, max_seconds=3, workers=1)):
    if isinstance(item, Skipped): reasons = [item.reason]
growth = peak(resource.RUSAGE_SELF) - before
print(json.dumps({"growth": growth, "worker": peak(resource.RUSAGE_CHILDREN), "reasons": reasons}))
"""


def filled(unit: bytes, start: bytes = b"", end: bytes = b"") -> Callable[[], bytes]:
    """Return what makes a file of one unit, repeated between a start and an end."""
    return lambda: start + unit * (SIZE // len(unit)) + end


def inflated(kind: str) -> Callable[[], bytes]:
    """Return what makes a packed file whose text unpacks to 40 times the size of others."""

    def make() -> bytes:
        with zipfile.ZipFile(io.BytesIO(PACKED[kind])) as archive:
            members = {member: archive.read(member) for member in archive.namelist()}
        long = b"words " * (40 * SIZE // 6)
        return packed({member: content.replace(b"words", long) for member, content in members.items()})

    return make


def tar_of_zeros() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for number in range(20):
            info = tarfile.TarInfo(f"{number}.txt")
            info.size = 20 * SIZE
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return buffer.getvalue()


def table() -> bytes:
    """A table of a long text that is stored once, in a million rows."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `cluster`")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * SIZE, pyarrow.int32()), pyarrow.array(["word " * 2_000])
    )
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": texts}), buffer)
    return buffer.getvalue()


EQUAL = b'{"name":"a"},'
CHOSEN = list(WORST) if SIZE > 1_000_000 else []
"""With a greater `SLEUTH_HOSTILE_BYTES`; `tests/fuzz` reads each in a process of less memory."""
FILES: dict[str, Callable[[], bytes]] = {
    **{name: lambda name=name: WORST[name](SIZE) for name in CHOSEN},  # type: ignore[misc]
    **{f"inflated.{kind}": inflated(kind) for kind in PACKED},
    "equal keys.json": filled(EQUAL, b"[", b"{}]"),
    "equal members.json": filled(b'"name":"abcd",', b"{", b'"b":1}'),
    "paragraphs.docx": lambda: docx_of("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * (SIZE // 2)),
    "forms.pdf": lambda: nested_forms(12, 10),
    "groups.rtf": filled(b"{\\b w", b"{\\rtf1 "),
    "attributes.html": filled(b"<b a=1>"),
    "requests.man": filled(b".SH a\n.B b\n", b".TH A 1\n"),
    "nested.xml": filled(b"<a>"),
    "text.xml": filled(b"<a>words</a>", b"<r>", b"</r>"),
    "nested.svg": filled(b"<g>"),
    "nested.fodt": filled(b"<text:p>"),
    "titles.adoc": filled(b"= a\n\nb\n\n"),
    "cells.ipynb": filled(b'{"cell_type":"markdown","source":"w"},', b'{"nbformat":4,"cells":[', b"{}]}"),
    "braces.tex": filled(b"\\section{"),
    "entries.bib": filled(b"@a{b,c={d}}\n"),
    "stars.org": filled(b"* a\n"),
    "cues.srt": filled(b"1\n00:00:01,000 --> 00:00:02,000\nw\n\n"),
    "events.ics": filled(b"BEGIN:VEVENT\nSUMMARY:w\nEND:VEVENT\n", b"BEGIN:VCALENDAR\n", b"END:VCALENDAR\n"),
    "parts.eml": filled(b"--B\n\nw\n", b"Content-Type: multipart/mixed; boundary=B\n\n"),
    "head.eml": filled(b"X: w\n"),
    "parts.mhtml": filled(
        b"--B\nContent-Type: text/html\n\n<p>w\n", b"Content-Type: multipart/related; boundary=B\n\n"
    ),
    "letters.mbox": filled(b"From a\nSubject: w\n\nw\n\n"),
    "sectors.msg": filled(b"\0" * 512, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    "zeros.zip": lambda: packed({f"{number}.txt": bytes(20 * SIZE) for number in range(10)}),
    "zeros.tgz": tar_of_zeros,
    "zeros.txt.gz": lambda: gzip.compress(bytes(100 * SIZE)),
    "zeros.txt.bz2": lambda: bz2.compress(bytes(100 * SIZE)),
    "zeros.txt.xz": lambda: lzma.compress(bytes(100 * SIZE), preset=0),
    "same.parquet": table,
}  # fmt: skip


def test_every_format_has_its_worst_file() -> None:
    """No built-in format of documents is left out, and code has one for all."""
    kinds = {kind_of_name(name) for name in {**WORST, **FILES}}
    assert BUILT_IN.keys() - CODE - kinds - {"svg"} == set()
    assert kinds & CODE


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file(tmp_path: Path, name: str) -> None:
    """A file that nests without end, repeats itself or unpacks to a hundred times its size takes less than 300 MB."""
    warm, file = tmp_path / "warm.md", tmp_path / name
    warm.write_text("# Words\n\nSome words.\n")
    file.write_bytes(FILES[name]())
    outcome = json.loads(python(READ, warm, file).stdout)
    assert outcome["growth"] < LIMIT, outcome
    assert outcome["worker"] < LIMIT, outcome
