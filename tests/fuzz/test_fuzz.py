"""Whatever a file holds, reading it ends within stated time and memory, with text or a reason.

Every run tries a few inputs of each reader and language; `make fuzz` tries 50,000.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.parsing.limits import IN_PLACE_BYTES
from sleuth.errors import LoadError
from sleuth.files.formats import BUILT_IN
from sleuth.files.processes import Processes
from sleuth.ingest import FileEntry, ReadOptions
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.types import Document
from tests.code.stored import ENDINGS
from tests.code.test_parse import SOURCES
from tests.fuzz.conftest import HOME, INPUTS, read
from tests.fuzz.mutating import mutate
from tests.fuzz.samples import PACKED, docx_of, mutate_member, packed
from tests.ingest.files import pdf_of

EXTRACTION_SECONDS, EXTRACTION_MEMORY = 2, 400 << 20

MARKDOWN = (
    b"---\ntitle: Words\ntags: [a, b]\nnested:\n  key: 'value'\n---\n"
    b"# One\n\nText with `code`.\n\n## Two\n\n- a\n- b\n\n|a|b|\n|-|-|\n",
    b"+++\ntitle = 'Words'\na.b = [1, 2]\n[table]\nx = 1\n+++\n"
    b"Title\n=====\n\n```py\ncode\n```\n\n> quoted\n\n[link](to) *bold*\n",
)
ROWS = (
    b'name,about,year\nAda,"said, she",1815\nGrace,"two\nlines",1906\n',
    "név;ár\nkávé;5\n".encode("latin-1"),
)
CORPUS: dict[str, tuple[bytes, ...]] = {
    "a.md": (*MARKDOWN, (HOME / "README.md").read_bytes()),
    "a.rst": (b"Title\n=====\n\n.. note::\n\n   text\n\nTwo\n---\n\nword::\n\n  code\n\n+-+-+\n|a|b|\n+-+-+\n",),
    "a.txt": (b"Words. More words!\n\nAnother paragraph, e.g. this.\n",
              "Größe 中文。 שלום 😀".encode(), "привет".encode("koi8-r")),
    "a.csv": ROWS,
    "a.tsv": (b"a\tb\n1\t2\n\"x\ty\"\t3\n",),
    "a.json": (b'[{"title": "T", "body": {"x": [1, 2.5, null]}}, {"a": "\\u00e9"}]', b'{"a": {"b": [{"c": 1}]}}'),
    "a.jsonl": (b'{"a": 1}\n{"b": [1, {"c": "d"}]}\n', b'"text"\n[1]\n'),
    "a.html": (b"<html><head><title>T</title></head><body><h1>H</h1>"
               b"<p>Words <b>bold</b><ul><li>x</ul><table><tr><td>c</table>",),
    "a.ipynb": (b'{"cells": [{"cell_type": "markdown", "source": ["# One\\n", "words"]}, {"cell_type": "code", '
                b'"source": "x = 1", "outputs": [{"output_type": "stream", "text": ["1"]}]}], "nbformat": 4}',),
    "a.eml": (b"From: a@b.c\nSubject: =?utf-8?q?W=C3=B6rter?=\nMIME-Version: 1.0\nContent-Type: multipart/mixed; "
              b"boundary=x\n\n--x\nContent-Type: text/html\n\n<p>words\n--x\nContent-Type: text/plain; name=a.txt\n"
              b"Content-Disposition: attachment; filename=a.txt\nContent-Transfer-Encoding: base64\n\nd29yZA==\n--x",),
    "a.mbox": (b"From a\nSubject: one\n\nwords\n\nFrom b\nSubject: two\n\n> quoted\nmore\n",),
    "a.vtt": (b"WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.000\n<v Ada>words</v>\n",),
    "a.srt": (b"1\n00:00:01,000 --> 00:00:02,000\nwords\n\n2\n00:00:03,000 --> 00:00:04,000\nmore\n",),
    "a.ics": (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:words\nDTSTART:20260101T100000Z\nEND:VEVENT\nEND:VCALENDAR\n",),
    "a.bib": (b"@article{a, title = {Words {in} braces}, author = \"A and B\", year = 1999}\n",),
    "a.tex": (b"\\documentclass{a}\\begin{document}\\section{One}words \\emph{b} $x^2$\\begin{itemize}\\item c"
              b"\\end{itemize}\\end{document}\n",),
    "a.adoc": (b"= Title\n\n== One\n\n* words\n\n----\ncode\n----\n\n|===\n|a |b\n|===\n",),
    "a.org": (b"* One\n- words\n#+begin_src\ncode\n#+end_src\n| a | b |\n",),
    "a.1": (b".TH A 1\n.SH NAME\na \\- words\n.TP\n.B \\-x\nmore\n.nf\ncode\n.fi\n",),
    "a.zip": (packed({"a.md": "# One\n\nwords", "b/c.csv": "a,b\n1,words\n", "d.zip": packed({"e.txt": "words"})}),),
    "a.unknown": (b"#!/bin/sh\necho x\n", b"<!doctype html><p>x", b"%PDF-1.4\n"),
}  # fmt: skip


def pdf() -> bytes:
    return pdf_of("BT /F1 12 Tf (words) Tj ET", "/Font << /F1 3 0 R >>", [])


EXTRACTED = {
    "html": CORPUS["a.html"],
    "pdf": (pdf(),),
    "xml": (
        b'<?xml version="1.0"?><doc a="b"><title>T</title><p>words <b>bold</b></p><list><item>x</item></list></doc>',
    ),
    "rtf": (b"{\\rtf1\\ansi{\\fonttbl{\\f0 A;}}\\f0 words\\par \\'e9 \\u8364?{\\b bold}}",),
    **{kind: (data,) for kind, data in PACKED.items()},
    "docx": (
        docx_of("<w:p><w:r><w:t>words</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"),
    ),
}
PARSED = [name for name in SOURCES if LANGUAGES[name].package]


@pytest.fixture(scope="module")
def file_processes() -> Iterator[FileProcesses]:
    with FileProcesses(EXTRACTION_SECONDS, EXTRACTION_MEMORY) as processes:
        yield processes


@pytest.mark.parametrize("name", CORPUS)
def test_documents(readers: Processes, name: str) -> None:
    """Mutated files of text and rows are read, cut and prepared, or refused with a reason."""
    for i in range(INPUTS):
        rng = random.Random(f"{name} {i}")
        data = mutate(CORPUS[name], rng, 8 << 10 if name == "a.html" else 64 << 10)
        read(readers, "document", name, data, f"input {i}")


@pytest.mark.parametrize("language", PARSED)
def test_sources(readers: Processes, language: str) -> None:
    """Mutated sources are parsed in the program within these limits, or in a process, or named."""
    check_sources(readers, language, f"a.{ENDINGS[language]}", SOURCES[language][0])


def check_sources(readers: Processes, language: str, name: str, source: str) -> None:
    for i in range(INPUTS):
        rng = random.Random(f"{language} {i}")
        read(readers, "code", name, mutate((source.encode(),), rng, 4 * IN_PLACE_BYTES), f"input {i}")


@pytest.mark.parametrize("kind", [kind for kind in EXTRACTED if kind in BUILT_IN])
def test_extraction(file_processes: FileProcesses, tmp_path: Path, kind: str) -> None:
    """Mutated PDF, HTML, XML, office and book files give a text or a reason, and so does the sound file after each."""
    path = tmp_path / f"a.{kind}"

    def text_of(data: bytes) -> str:
        path.write_bytes(data)
        entry = FileEntry(str(path), str(path), len(data), 0)
        documents = file_processes.load(entry, kind, ReadOptions(max_unpacked_bytes=1 << 20))
        return "".join(each.page_content for each in documents if isinstance(each, Document))

    sound = text_of(EXTRACTED[kind][0])
    for i in range(INPUTS):
        rng = random.Random(f"{kind} {i}")
        inside = kind in PACKED and i % 4
        data = (
            mutate_member(PACKED[kind], rng, 64 << 10) if inside else mutate(EXTRACTED[kind], rng, 64 << 10)
        )
        try:
            text_of(data)
        except LoadError as error:
            assert error.reason, f"input {i}"
    assert text_of(EXTRACTED[kind][0]) == sound
