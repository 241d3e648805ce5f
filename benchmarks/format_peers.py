"""Programs that read files for `benchmarks.format_samples`, each with the Python of its own environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Final

MARKITDOWN: Final = """
from markitdown import MarkItDown
reader = MarkItDown()
def read(path, kind):
    return reader.convert(path).markdown
"""
DOCLING: Final = """
from importlib import import_module
from pathlib import Path
from docling.datamodel.base_models import InputFormat
from docling.datamodel.document import InputDocument
BACKENDS = {
    "docx": "DOCX msword_backend MsWordDocumentBackend",
    "pptx": "PPTX mspowerpoint_backend MsPowerpointDocumentBackend",
    "xlsx": "XLSX msexcel_backend MsExcelDocumentBackend",
    "odt": "ODT opendocument_backend OdtDocumentBackend",
    "ods": "ODS opendocument_backend OdsDocumentBackend",
    "odp": "ODP opendocument_backend OdpDocumentBackend",
    "epub": "EPUB epub_backend EpubDocumentBackend",
    "msg": "EMAIL email_backend EmailDocumentBackend",
    "eml": "EMAIL email_backend EmailDocumentBackend",
    "vtt": "VTT webvtt_backend WebVTTDocumentBackend",
    "tex": "LATEX latex.backend LatexDocumentBackend",
    "adoc": "ASCIIDOC asciidoc_backend AsciiDocBackend",
}
def read(path, kind):
    format, module, name = BACKENDS[kind].split()
    backend = getattr(import_module("docling.backend." + module), name)
    document = InputDocument(path_or_stream=Path(path), format=InputFormat[format], backend=backend)
    return document._backend.convert().export_to_markdown()
"""
"""Its readers are called one by one: what chooses among them imports torch."""
EACH: Final = """
import json, resource, signal, sys, time
out, sys.stdout = sys.stdout, sys.stderr  # some readers print
def late(number, frame):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
for path in sys.stdin.read().splitlines():
    start, text, reason = time.perf_counter(), "", ""
    signal.alarm(SECONDS)
    try:
        text = read(path, KIND)
    except Exception as error:
        reason = type(error).__name__
    signal.alarm(0)
    print(json.dumps([text, reason, time.perf_counter() - start]), file=out, flush=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=out)
"""
PEERS: Final = {"markitdown": MARKITDOWN, "docling": DOCLING}
DOCLING_KINDS: Final = (
    "docx",
    "pptx",
    "xlsx",
    "odt",
    "ods",
    "odp",
    "epub",
    "msg",
    "eml",
    "vtt",
    "tex",
    "adoc",
)
SECONDS: Final = 20
"""Time for one file."""


def reads(peer: str, kind: str) -> bool:
    """Return whether a peer has a reader of a format that is not beyond its basic installation."""
    return peer != "docling" or kind in DOCLING_KINDS


def read_by(
    peer: str, python: str, kind: str, paths: Sequence[str]
) -> tuple[list[tuple[str, str, float]], int]:
    """Return text, reason for an empty text, and seconds of each file, and the peak memory of the process in kB."""
    script = f"KIND, SECONDS = {kind!r}, {SECONDS}\n{PEERS[peer]}\n{EACH}"
    ran = subprocess.run(
        [python, "-c", script],
        input="\n".join(paths),
        capture_output=True,
        text=True,
        check=True,
        timeout=3600,
    )
    *lines, memory = ran.stdout.splitlines()
    return [(text, reason, seconds) for text, reason, seconds in map(json.loads, lines)], int(memory)
