"""The formats of this plugin: how files of them are recognised, and what reads them."""

from __future__ import annotations

import re
from typing import Any, Final

from sleuth.files import FileFormat, Package

_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
"""A byte-order mark and white space."""
_MANUAL: Final = re.compile(rb"^\.(?:TH|Dd|Dt|SH)[ \t]", re.MULTILINE)
"""A line that names a manual page, its date, or a section."""


def _format(kind: str, load: str, extensions: str, **fields: Any) -> FileFormat:
    names = [f".{one}" for one in extensions.split()]
    return FileFormat(kind, f"sleuth.plugins.formats.{load}", names, **{"form": "markdown", **fields})


FORMATS: Final = (
    _format(
        "man",
        "man:load_man",
        "man mdoc",
        sniff=lambda head: head.lstrip(_BLANK).startswith((b".", b"'\\")) and bool(_MANUAL.search(head)),
        has_lines=True,
    ),
    _format("asciidoc", "asciidoc:load_asciidoc", "adoc asciidoc", has_lines=True),
    _format("latex", "latex:load_latex", "tex ltx latex", has_lines=True),
    _format("bibtex", "bibtex:load_bibtex", "bib"),
    _format("org", "org:load_org", "org", has_lines=True),
    _format("calendar", "calendar:load_calendar", "ics ical"),
    _format("subtitles", "subtitles:load_subtitles", "vtt srt", form="text", has_lines=True),
    FileFormat(
        "rtf",
        "extracted:load_extracted",
        [".rtf"],
        form="markdown",
        extract="sleuth.plugins.formats.rtf:extract_rtf",
        sniff=lambda head: head.startswith(b"{\\rtf"),
        package=Package("striprtf", "office", "reading RTF files"),
    ),
)
