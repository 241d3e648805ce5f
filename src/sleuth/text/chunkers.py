"""Chunkers: cut a document into passages.

At the best border that a chunk of the wanted size allows: a page, else a heading, else a paragraph, table or block
of code, else a sentence or list item, else a line, else a word. A chunk that ends within a section repeats its last
sentences at the start of the next one. No text is changed: a chunk is a slice of its document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sleuth.errors import ArgumentError
from sleuth.files.formats import CODE, MARKDOWN
from sleuth.text.borders import count_tokens
from sleuth.text.cutter import Cutter
from sleuth.text.outline import Outline
from sleuth.types import Chunk, Document

__all__ = ["Chunker", "count_tokens"]


_FORMS: Final = {**dict.fromkeys((*MARKDOWN, "pdf"), "markdown"), "rst": "rest"}


@dataclass(frozen=True, slots=True)
class Chunker:
    """Cuts documents into chunks.

    A token is a run of up to 8 visible characters, or one Chinese, Japanese or Korean sign: see `count_tokens`.
    `metadata["type"]` says how to read a text: a member of `sleuth.files.formats.MARKDOWN`, "rst", or a member of
    `sleuth.files.formats.CODE`; anything else is plain text, where form feeds divide pages.

    Laws: every visible character is in a chunk; starts and ends ascend strictly; each chunk holds something that no
    chunk before it holds; at most `limit` tokens, and at most `overlap` of them shared with the chunk before; equal
    documents give equal chunks.

    Attributes:
        size: tokens in a chunk, 8 or more.
        overlap: most tokens, in whole sentences, that a chunk repeats from the one before; up to size // 4.
    """

    size: int = 400
    overlap: int = 40

    def __post_init__(self) -> None:
        if self.size < 8:
            raise ArgumentError(f"size must be at least 8 tokens, got {self.size!r}")
        if not 0 <= self.overlap <= self.size // 4:
            raise ArgumentError(
                f"overlap must be 0 to size // 4 = {self.size // 4} tokens, got {self.overlap!r}"
            )

    @property
    def limit(self) -> int:
        """Tokens in a chunk at most: a tail of up to size // 8 is joined to the chunk before it."""
        return self.size + self.size // 8

    @property
    def fingerprint(self) -> str:
        """The settings as text. Equal prints cut alike."""
        return f"chunker-2(size={self.size},overlap={self.overlap})"

    def split(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document` in order; none if it is blank."""
        text, kind = document.page_content, _kind(document)
        # Headings at the start of a page of a PDF count, too.
        outline = Outline(text.replace("\f", "\n") if kind == "pdf" else text, _FORMS.get(kind, ""))
        paged = kind == "pdf" or (kind not in CODE and "\f" in text)
        return Cutter(text, outline, self.size, self.overlap, kind in CODE, paged).chunks()

    def fits(self, document: Document) -> bool:
        """Return True if a short text is certainly one chunk at most; False says nothing."""
        text = document.page_content
        # A token takes a character at least, and in ASCII a blank after it: such a text fits whatever it says.
        if len(text) > 2 * self.size or (len(text) > self.size and not text.isascii()) or "\f" in text:
            return False
        return not document.metadata or _kind(document) not in _FORMS


def _kind(document: Document) -> str:
    kind = document.metadata.get("type", "")
    return kind if isinstance(kind, str) else ""
