"""Extracts text from EPUB books: their chapters in reading order."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag

from sleuth.ingest.extraction import Extracted, ExtractionError, html_to_markdown, name_columns, within
from sleuth.plugins.office.xml import parse
from sleuth.plugins.office.zips import opened_zip


@dataclass(slots=True)
class _Package:
    """What the container of a book and its package document state.

    Attributes:
        place: path of the package document, as the container names it.
        facts: title and creator.
        files: path by id of an item, without the table of contents.
        spine: ids of the chapters, in reading order.
    """

    place: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    spine: list[str] = field(default_factory=list)


def extract_epub(data: bytes, limit: int) -> Extracted:
    """Extract all chapters as Markdown, titled by the book's title."""
    with opened_zip(data, limit, "EPUB") as archive:
        place = _package(archive.read("META-INF/container.xml")).place
        if not place:
            raise ExtractionError("not readable as EPUB: no package document is named")
        package = _package(archive.read(place))
        folder = posixpath.dirname(place)
        members = frozenset(archive.namelist())
        chapters = []
        length = 0
        for href in dict.fromkeys(package.files[id] for id in package.spine if id in package.files):
            path = posixpath.normpath(posixpath.join(folder, unquote(href)))
            if path not in members:  # some programs list more than they write
                continue
            page = archive.read(path).decode("utf-8", "replace")
            _, text = html_to_markdown(page)
            chapters.append(within(name_columns(text), limit - length))
            length += len(chapters[-1])
    text = "\n\n".join(filter(None, chapters))
    if not text:
        raise ExtractionError("no text in its chapters")
    author = package.facts.get("creator", "").strip()
    metadata: dict[str, Any] = {"author": author} if author else {}
    return Extracted(text, package.facts.get("title", "").strip(), metadata)


def _package(data: bytes) -> _Package:
    package = _Package()
    open_fact = ""

    def start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal open_fact
        if name == "item" and "nav" not in attributes.get("properties", "").split():
            package.files[attributes.get("id", "")] = urldefrag(attributes.get("href", "")).url
        elif name == "rootfile":
            package.place = package.place or attributes.get("full-path", "")
        elif name == "itemref":
            package.spine.append(attributes.get("idref", ""))
        elif name in ("title", "creator") and name not in package.facts:
            open_fact = name

    def end(_: str) -> None:
        nonlocal open_fact
        open_fact = ""

    def text(text: str) -> None:
        if open_fact:
            package.facts[open_fact] = package.facts.get(open_fact, "") + text

    parse(data, start, end, text, "EPUB")
    return package
