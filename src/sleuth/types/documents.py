"""Documents, and the chunks that they are cut into. Processes that read files import no more than this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

RESERVED: Final = frozenset({
    "source", "path", "row", "member", "page", "start_line", "end_line", "heading", "modified", "size", "type",
    "content_hash",
})  # fmt: skip
"""Metadata keys that the engine writes: front matter, fields of rows and callers cannot set them."""

UPLOAD: Final = "upload"
"""Metadata key of what is known of an uploaded file; its `attributes` are the client's of names that the engine has."""


@dataclass(init=False, repr=False, slots=True)
class Document:
    """A text with metadata: what loaders write and `Engine.add` takes.

    Args:
        page_content: the text.
        metadata: anything JSON can hold, and dates, Decimals, UUIDs, paths and scalars of numpy and pandas, which the
            index keeps as strings and numbers; `source` and `title` have a meaning to the engine.
        id: names the document in the index; its `source` where None, a hash of its content where that is missing too.
    """

    page_content: str
    metadata: dict[str, Any]
    id: str | None

    def __init__(
        self, page_content: str, metadata: dict[str, Any] | None = None, *, id: str | None = None
    ) -> None:
        self.page_content, self.metadata, self.id = page_content, {} if metadata is None else metadata, id

    @property
    def text(self) -> str:
        """The text: `page_content` under the name that items and chunks have."""
        return self.page_content

    def __repr__(self) -> str:
        return f"Document(page_content='{str(self.page_content)[:50]}...', metadata={self.metadata})"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: the unit that is indexed and found.

    Attributes:
        text: exactly `document.page_content[start:end]`.
        start, end: character offsets in the document, half open.
        start_line, end_line: lines of the document, 1-based, inclusive; both 0 where they are not lines of its file,
            as for HTML and PDF: then the metadata of hits have no lines.
        page: page of the source, 1-based; None where it has no pages.
        fields: other searchable texts of this passage, such as `heading` ("Guide > Install").
        metadata: values of this passage alone, laid over the document's.
    """

    text: str
    start: int
    end: int
    start_line: int
    end_line: int
    page: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


class StoredDocument(NamedTuple):
    """A document as the record holds it; its text is in its chunks.

    Attributes:
        chunks: how many chunks it has.
        metadata: the document's own, with `source` and `title` where it has them.
    """

    id: str
    source: str
    title: str
    content_hash: str
    chunks: int
    metadata: Mapping[str, Any]
