"""Loader of AsciiDoc: headings, lists, code and tables as Markdown, each line at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_heading = re.compile(r"(={1,6}) (\S.*)")
_fence = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,})[ \t]*$")
_attribute = re.compile(r":!?[\w-]{1,100}!?:(?: |$)")
_block = re.compile(r"\[[^\]]{0,1000}\][ \t]*$")
_macro = re.compile(
    r"(?:image|video|audio|include|toc|ifdef|ifndef|ifeval|endif)::[^\[]{0,1000}\[([^\]]{0,1000})\]"
)
_link = re.compile(r"(?:link|xref|mailto|footnote|kbd|btn|https?):[^\s\[]{0,200}+\[([^\]]{0,200}+)\]")
_reference = re.compile(r"<<[^,<>]{1,500}, ?([^<>]{1,500})>>")
_items = re.compile(r"(\*{1,5}|\.{1,5}) (?=\S)")


def load_asciidoc(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file, titled by its first heading."""
    text, metadata = file.text()
    lines: list[str] = []
    title, fence, in_table = "", "", False
    for line in text.split("\n"):
        delimiter = _fence.match(line)
        if delimiter and fence in ("", delimiter.group(1)):
            fence = "" if fence else delimiter.group(1)
            lines.append("" if delimiter.group(1).startswith("/") else "```")
        elif fence:
            lines.append("" if fence.startswith("/") else line)
        elif line.startswith("|==="):
            in_table = not in_table
            lines.append("")
        elif in_table and line.startswith("|"):
            lines.append(f"| {' | '.join(cell.strip() for cell in line[1:].split('|'))} |")
        elif match := _heading.match(line):
            words = _inline(match[2])
            title = title or words
            lines.append(f"{'#' * len(match[1])} {words}")
        elif line.startswith("//") or _attribute.match(line) or _block.match(line):
            lines.append("")
        elif match := _macro.match(line):
            lines.append(match[1])
        else:
            lines.append(_inline(_items.sub(_item, line, count=1) if _items.match(line) else line))
    yield document(file, "\n".join(lines), {**({"title": title} if title else {}), **metadata})


def _item(match: re.Match[str]) -> str:
    mark = match[1]
    return "  " * (len(mark) - 1) + ("- " if mark.startswith("*") else "1. ")


def _inline(line: str) -> str:
    """Return a line with the texts of its links and references."""
    if "[" in line:
        line = _link.sub(r"\1", line)
    return _reference.sub(r"\1", line) if "<<" in line else line
