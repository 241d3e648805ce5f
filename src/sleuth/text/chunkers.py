"""Chunkers: cut a document into passages.

At the best border that a chunk of the wanted size allows: a page, else a heading, else a paragraph, table or block
of code, else a sentence or list item, else a line, else a word. A chunk that ends within a section repeats its last
sentences at the start of the next one. No text is changed: a chunk is a slice of its document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sleuth.errors import ArgumentError
from sleuth.files.formats import CODE, MARKDOWN
from sleuth.text import borders
from sleuth.text.borders import EMPTY, Outline, count_tokens
from sleuth.text.steps import after_blanks, after_tokens
from sleuth.types import Chunk, Document

__all__ = ["Chunker", "count_tokens"]


_SCANNERS: Final[dict[str, Callable[[str], Outline]]] = {
    **dict.fromkeys(MARKDOWN, borders.scan_markdown),
    "rst": borders.scan_rest,
    # Headings at the start of a page count, too.
    "pdf": lambda text: borders.scan_markdown(text.replace("\f", "\n")),
}

_SPELLING = re.compile(r"chunker-2\(size=(\d+),overlap=(\d+)\)")


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
        """The settings as text: `Chunker.parse(chunker.fingerprint) == chunker`. Equal prints cut alike."""
        return f"chunker-2(size={self.size},overlap={self.overlap})"

    @classmethod
    def parse(cls, fingerprint: str) -> Chunker:
        """Return the chunker of this fingerprint."""
        match = _SPELLING.fullmatch(fingerprint)
        if match is None:
            raise ArgumentError(f"fingerprint must be 'chunker-2(size=N,overlap=N)', got {fingerprint!r}")
        return cls(int(match[1]), int(match[2]))

    def split(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document` in order; none if it is blank."""
        if not self.fits(document):
            return list(self.iterate(document))
        text = document.page_content.rstrip()
        start = _text_start(text, 0)
        body, line = text[start:], 1 + text.count("\n", 0, start)
        chunk = Chunk(body, start, len(text), line, line + body.count("\n"), None, {}, {})
        return [chunk] if body else []

    def fits(self, document: Document) -> bool:
        """Return True if a short text is certainly one chunk at most; False says nothing."""
        text = document.page_content
        # A token takes a character at least, and in ASCII a blank after it: such a text fits whatever it says.
        if len(text) > 2 * self.size or (len(text) > self.size and not text.isascii()) or "\f" in text:
            return False
        kind = _kind(document) if document.metadata else ""
        return kind not in _SCANNERS and kind != "pdf"

    def iterate(self, document: Document) -> Iterator[Chunk]:
        """Yield the chunks of `split` one at a time, for documents too large to hold all their chunks at once."""
        text = document.page_content
        kind = _kind(document)
        scan = _SCANNERS.get(kind)
        cutter = _PassageCutter(
            text,
            scan(text) if scan else EMPTY,
            self.size,
            borders.sentence_of(text),
            code=kind in CODE,
            overlap=self.overlap,
            paged=kind == "pdf" or (kind not in CODE and "\f" in text),
        )
        return cutter.chunks()


def _kind(document: Document) -> str:
    kind = document.metadata.get("type", "")
    return kind if isinstance(kind, str) else ""


def _text_start(text: str, position: int) -> int:
    """Return where the text after the blanks at `position` starts, with the indentation of its line."""
    end = after_blanks(text, position)
    if end == position:
        return position
    line = 1 + max(text.rfind("\n", max(position - 1, 0), end), text.rfind("\f", max(position - 1, 0), end))
    if line == 0 and position != 0:
        return end
    return line if end - line <= borders.BLANK_RUN else end


@dataclass(slots=True)
class _PassageCutter:
    """One pass over one text."""

    text: str
    outline: Outline
    size: int
    sentence: re.Pattern[str]
    code: bool
    overlap: int
    paged: bool

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the text, in order; each begins in the overlap with the one before, if there is one.

        `position` is the first visible character of a chunk, and `start` the first one that belongs to it, such as
        the indent of its line. `fresh` is where it goes beyond the chunk before.
        """
        text, outline = self.text, self.outline
        page, page_end = 1, self._page_end(0)
        line, counted_to = 1, 0
        last_end = 0
        position = after_blanks(text, 0)
        start = _text_start(text, 0)
        while position < len(text):
            while position >= page_end:
                page, page_end = page + 1, self._page_end(page_end + 1)
            fresh = after_blanks(text, max(last_end, position))
            end, within = self._next_cut(position, fresh, page_end)
            body = text[start:end].rstrip()
            line += text.count("\n", counted_to, start)
            counted_to = start
            path = outline.path_at(position) if outline.headings else ""
            yield Chunk(
                body,
                start,
                start + len(body),
                line,
                line + body.count("\n"),
                page if self.paged else None,
                {"heading": path} if path else {},
                {},
            )
            back = self._overlap_start(position, end) if within and self.overlap and not self.code else end
            last_end = end
            start = _text_start(text, back)
            position = after_blanks(text, back)

    def _page_end(self, position: int) -> int:
        page_break = self.text.find("\f", position) if self.paged else -1
        return page_break if page_break >= 0 else len(self.text)

    def _next_cut(self, position: int, fresh: int, page_end: int) -> tuple[int, bool]:
        """Return where the chunk from `position` ends, beyond `fresh`, and whether that is within a section."""
        text, size = self.text, self.size
        if page_end - position <= size // 4:  # many short pages would each be measured against a whole chunk
            return page_end, False
        quarter = after_tokens(text, position, size // 4)
        low = max(quarter, fresh + 1)
        limit = min(page_end, self.outline.heading_after(low, len(text)))
        half = after_tokens(text, quarter, size // 2 - size // 4)
        high = half if half >= limit else after_tokens(text, half, size - size // 2)
        if high >= limit or after_blanks(text, after_tokens(text, high, size // 8)) >= limit:
            return limit, False
        return self._best(low, max(half, low), high), True

    def _best(self, low: int, half: int, high: int) -> int:
        """Return the strongest border in [half, high], or the start of a block, after `low`, that `high` divides."""
        text, outline = self.text, self.outline
        if half >= high:
            return max(low, high)
        if self.code:
            border = borders.last_definition(text, half, high)
            return border if border >= 0 else self._weakest(half, high)
        if block := outline.kept_at(high):
            start, _ = block
            return start if start >= low else self._weakest(half, high)
        border = borders.last_paragraph(text, half, high)
        if border < 0:
            border = borders.last_match(self.sentence, text, half, high)
        if border < 0:
            return self._weakest(half, high)
        _, end = outline.kept_at(border) or (border, border)
        return end

    def _weakest(self, half: int, high: int) -> int:
        text = self.text
        border = borders.last_line(text, half, high)
        if border < 0 and not text[high - 1].isspace():
            border = text.rfind(" ", half, high) + 1
        return border if border > 0 else high

    def _overlap_start(self, position: int, end: int) -> int:
        """Return where the next chunk starts, at `end` or before it.

        That is the earliest sentence after `position` from which at most `overlap` tokens lead up to `end`, outside
        blocks that are kept whole; `end` if there is none or a heading lies between.
        """
        text, outline = self.text, self.outline
        # With one blank after each, `overlap` tokens take at most so many characters.
        low = max(position + 1, end - self.overlap * (borders.WORD_PIECE + 1))
        for match in self.sentence.finditer(text, low, end):
            start = after_blanks(text, match.end())
            if start >= end:
                break
            if after_tokens(text, start, self.overlap) >= end and outline.kept_at(start) is None:
                return start if outline.heading_after(start, len(text)) >= end else end
        return end
