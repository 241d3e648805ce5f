"""Loader of BibTeX files: a section for each entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.plugins.formats.latex import plain_line
from sleuth.types import Document

_entry = re.compile(r"@(\w{1,40})\s{0,20}[{(]\s{0,20}([^\s,{}()=]{0,300})\s{0,20},")
_field = re.compile(r"\s{0,200}+(?:,\s{0,200}+)?([\w-]{1,60})\s{0,20}=\s{0,20}")
_SILENT: Final = frozenset(
    {"title", "file", "abstract", "owner", "timestamp", "date-added", "date-modified", "bdsk-url-1"}
)
_VALUE: Final = 100_000
"""Characters of a value at most."""


def load_bibtex(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield all entries: title as heading, then a line for each field, and the abstract."""
    text, metadata = file.text()
    sections = []
    place = 0
    while match := _entry.search(text, place):
        place = match.end()
        if match[1].lower() in ("comment", "string", "preamble"):
            continue
        fields: dict[str, str] = {}
        while field := _field.match(text, place):
            value, place = _value(text, field.end())
            fields[field.group(1).lower()] = " ".join(plain_line(value).split())
        sections.append(_section(match[2], match[1].lower(), fields))
    yield document(file, "\n\n".join(sections), metadata)


def _value(text: str, place: int) -> tuple[str, int]:
    """Return a value in braces, in quotation marks or bare, and where it ends."""
    closing = {"{": "}", '"': '"'}.get(text[place : place + 1])
    if closing is None:
        end = next((at for at in range(place, min(place + 200, len(text))) if text[at] in ",}\n"), len(text))
        return text[place:end], end
    depth = 0
    for at in range(place + 1, min(place + _VALUE, len(text))):
        sign = text[at]
        if sign == closing and depth == 0:
            return text[place + 1 : at], at + 1
        depth += (sign == "{") - (sign == "}")
    return text[place + 1 : place + _VALUE], place + _VALUE


def _section(key: str, kind: str, fields: dict[str, str]) -> str:
    """Return an entry as Markdown: `@book{knuth, ...}` has the key "knuth" and the kind "book"."""
    lines = [f"# {fields.get('title') or key or kind}", "", f"{kind}: {key}" if key else kind]
    lines += [f"{name}: {value}" for name, value in fields.items() if value and name not in _SILENT]
    if fields.get("abstract"):
        lines += ["", fields["abstract"]]
    return "\n".join(lines)
