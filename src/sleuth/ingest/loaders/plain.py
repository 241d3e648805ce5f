"""Loaders of plain text, Markdown, reStructuredText and source code: one document each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.front_matter import front_matter
from sleuth.ingest.options import ReadOptions
from sleuth.text.outline import Outline
from sleuth.types import Document

_TITLE_SPAN: Final = 20_000
"""Characters within which a title is searched: a heading further down is not the document's."""


def load_text(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file; a letter that is struck over another one, as for bold print, stands alone."""
    text, metadata = file.text()
    if "\b" in text:
        text = _struck_over.sub("", text)
    yield document(file, text, metadata)


def load_code(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file, titled by its name."""
    text, metadata = file.text()
    yield document(file, text, {"title": file.entry.source.rpartition("/")[2], **metadata})


def load_markdown(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file, with front matter as metadata; titled by that, else by its first heading.

    MDX is read without its imports, exports and components.
    """
    text, metadata = file.text()
    if file.entry.source.lower().endswith(".mdx"):
        text = _mdx.sub(lambda match: match["fence"] or "\n" * match[0].count("\n"), text)
    fields: dict[str, Any] = {}
    title = None
    if text.startswith(("---", "+++")):
        fields, start = front_matter(text)
        # Blank lines replace front matter, so that line numbers stay those of the file.
        text = "\n" * text.count("\n", 0, start) + text[start:]
        title = fields.pop("title", None)
        if isinstance(title, int | float) and not isinstance(title, bool):
            title = str(title)  # "1984"
    if not isinstance(title, str):
        title = _title("markdown", text)
    yield document(file, text, {**fields, **({"title": title} if title else {}), **metadata})


def load_rest(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file, titled by its first heading."""
    text, metadata = file.text()
    title = _title("rest", text)
    yield document(file, text, {**({"title": title} if title else {}), **metadata})


def document(file: FileBytes, text: str, metadata: dict[str, Any]) -> Document:
    """Return a document of a text; raise LoadError if the text is blank."""
    if not text or text.isspace():
        raise LoadError(file.entry.source, "empty", kind="empty")
    return Document(text, metadata)


_mdx = re.compile(
    r"(?P<fence>^(?P<mark>```|~~~)[^\n]*\n(?>(?:(?!(?P=mark))[^\n]*\n)*)(?P=mark)?)"
    r"|^(?:import|export)\s[^\n]*(?>(?:\n[^\n]+)*)"
    r"|</?(?:[A-Z][\w.]{0,100}(?:\s[^<>]{0,2000})?)?/?>|\{/\*[^*]{0,2000}\*/\}",
    re.MULTILINE,
)
"""A block of code, which stays, or what a page of MDX holds beside Markdown."""
_struck_over = re.compile(r"[^\n\b]?\x08")
_blank_ends = re.compile(r"\s+")


def _title(form: str, text: str) -> str:
    """Return the first heading, or ""."""
    whole_lines = text if len(text) <= _TITLE_SPAN else text[: text.rfind("\n", 0, _TITLE_SPAN) + 1]
    paths = Outline(whole_lines, form, title_only=True).paths
    return _blank_ends.sub(" ", paths[0]) if paths else ""
