"""The parts of a hit that surfaces show: its title, its place, and the text that matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.text.markup import shown_text

if TYPE_CHECKING:
    from sleuth.text.snippets import Snippet
    from sleuth.types import RetrievedItem

SnippetOf = Callable[..., "Snippet"]
"""Returns the window of a passage that shows why it matches a query: `Engine.snippet`, or another one of its form."""

_RANKS = 0.04
"""Scores below this come mostly from ranks; they differ only from the third digit on."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where something stands.

    Attributes:
        path: as a reader knows it; folder and name are its parts.
        lines: such as "10-20", or ""; page: such as "3", or "".
    """

    path: str
    lines: str = ""
    page: str = ""

    def __str__(self) -> str:
        if self.page:
            return f"{self.path} p.{self.page}"
        return f"{self.path}:{self.lines}" if self.lines else self.path

    @property
    def folder(self) -> str:
        """The path up to its name, with the slash."""
        return self.path[: len(self.path) - len(self.name)]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


def place_of(id: str, metadata: Mapping[str, Any], path: str = "") -> Location:
    """Return where an item stands. A page wins over lines.

    Args:
        path: shown instead of the path in the metadata, if not "".
    """
    source = str(metadata.get("source") or id)
    path = path or (source if "://" in source else str(metadata.get("path") or source))
    if metadata.get("page"):
        return Location(path, page=str(metadata["page"]))
    start, end = metadata.get("start_line"), metadata.get("end_line")
    return Location(path, f"{start}-{start if end is None else end}" if start else "")


def web_address(id: str, metadata: Mapping[str, Any]) -> str:
    """Return the address of the page on the web that an item is from; "" for others."""
    source = str(metadata.get("source") or id)
    return source if source.startswith(("http://", "https://")) else ""


def title_of(metadata: Mapping[str, Any]) -> str:
    """Return what a reader calls an item, in one line: its symbol, heading or title, or ""."""
    title = metadata.get("symbol") or metadata.get("heading") or metadata.get("title") or ""
    return " ".join(str(title).split())


def score_text(item: RetrievedItem) -> str:
    """Return the score that a reader sees: on the scale of `min_score` where it is known, else that of its source."""
    share: float | None = item.extra.get("share")
    if share is not None:
        return f"{share:.2f}"
    return "" if item.score is None else f"{item.score:.{2 if item.score >= _RANKS else 4}f}"


def snippet_of(query: str, item: RetrievedItem, *, width: int = 200) -> Snippet:
    """Return the window of a passage that shows why it matches, where no index says how its words are read."""
    from sleuth.text.analyzers import analyzer_of
    from sleuth.text.snippets import snippet

    name = "code-english" if item.metadata.get("source_type") == "code" else "english"
    return snippet(item.text, query, analyzer_of(item.metadata.get("language"), name), width=width)


class ShownText(NamedTuple):
    """What is shown of the text of an item.

    Attributes:
        spans: start and end of each match in `text`.
        start: where it begins in the text of the item, without signs of Markdown.
        is_cut: whether text follows it.
        more: lines of code that follow it.
    """

    text: str
    spans: Sequence[tuple[int, int]]
    start: int = 0
    is_cut: bool = False
    more: int = 0


def excerpt(
    item: RetrievedItem, query: str, snippet: SnippetOf, *, width: int, lines: int, longest: int | None = None
) -> ShownText:
    """Return the window of a passage that shows why it matches, or the first lines of a piece of code.

    The window is of the text as a reader sees it, without signs of Markdown.

    Args:
        width: characters of the window.
        lines: of code.
        longest: characters of a line of code; None for all.
    """
    if item.metadata.get("source_type") != "code":
        full_text = shown_text(item.metadata, item.text)
        shown = item if full_text == item.text else item.model_copy(update={"text": full_text})
        window = snippet(query, shown, width=width)
        return ShownText(
            window.text, window.spans, window.start, window.start + len(window.text) < len(full_text)
        )
    code_lines = item.text.split("\n")
    text = "\n".join(line[:longest] for line in code_lines[:lines])
    return ShownText(text, matches_in(text, query, snippet, item), more=max(0, len(code_lines) - lines))


def matches_in(text: str, query: str, snippet: SnippetOf, item: RetrievedItem) -> list[tuple[int, int]]:
    """Return the start and end of each match in a text of an item."""
    if not query.strip() or not text:
        return []
    window = snippet(query, item.model_copy(update={"text": text}), width=len(text))
    return [(begin + window.start, end + window.start) for begin, end in window.spans]
