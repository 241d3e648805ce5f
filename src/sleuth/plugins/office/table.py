"""The formats of this plugin: how files of them are recognised, and what reads them."""

from __future__ import annotations

from typing import Any, Final

from sleuth.files import FileFormat, Package


def _format(kind: str, extract: str, extensions: str, mark: bytes = b"", **fields: Any) -> FileFormat:
    """Return a format; with a mark, of zip archives whose first members have a name or a text with this mark."""
    return FileFormat(
        kind,
        "extracted:load_extracted",
        [f".{one}" for one in extensions.split()],
        sniff=(lambda head: head.startswith(b"PK\x03\x04") and mark in head) if mark else None,
        form="markdown",
        extract=f"sleuth.plugins.office.{extract}",
        **fields,
    )


_WORD: Final = Package("mammoth", "office", "reading Word documents")
_SLIDES: Final = Package("pptx", "office", "reading PowerPoint presentations")
_SHEETS: Final = Package("python_calamine", "office", "reading spreadsheets")

FORMATS: Final = (
    _format("docx", "docx:extract_docx", "docx docm", b"word/", package=_WORD),
    _format("pptx", "pptx:extract_pptx", "pptx pptm ppsx", b"ppt/", package=_SLIDES),
    _format("xlsx", "spreadsheet:extract_spreadsheet", "xlsx xlsm xlsb xls", b"xl/", package=_SHEETS),
    _format("epub", "epub:extract_epub", "epub", b"application/epub+zip"),
    _format("odt", "opendocument:extract_opendocument", "odt ott", b"opendocument.text"),
    _format("ods", "spreadsheet:extract_ods", "ods", b"opendocument.spreadsheet", package=_SHEETS),
    _format("odp", "opendocument:extract_opendocument", "odp", b"opendocument.presentation"),
    _format("flat-odf", "opendocument:extract_opendocument", "fodt fods fodp"),
    _format("xml", "xml:extract_xml", "xml xsd xsl xslt csproj"),
)
