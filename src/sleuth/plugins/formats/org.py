"""Loader of Org files: headings, code and tables as Markdown, each line at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_heading = re.compile(r"(\*{1,20}) (?:(?:TODO|DONE|NEXT|WAITING|CANCELLED) )?(?:\[#[A-Z]\] )?(.*)")
_tags = re.compile(r"(?<![ \t])[ \t]++:[\w@#%:]{1,200}:[ \t]{0,200}$")
_keyword = re.compile(r"[ \t]{0,200}#\+(\w{1,40})(?::|[ \t]|$)[ \t]*(.*)")
_link = re.compile(r"\[\[[^\[\]]{1,2000}\]\[([^\[\]]{1,2000})\]\]")
_rule = re.compile(r"[ \t]{0,200}\|[-+]{2,}\|?[ \t]*$")
_STATED: Final = frozenset({"author", "date"})


def load_org(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole file, titled by #+TITLE, else by its first heading."""
    text, metadata = file.text()
    lines: list[str] = []
    title, heading, in_drawer, in_code = "", "", False, False
    facts: dict[str, str] = {}
    for line in text.split("\n"):
        keyword = _keyword.match(line)
        name = keyword.group(1).lower() if keyword else ""
        if name in ("begin_src", "begin_example"):
            in_code = True
            lines.append(
                f"```{keyword.group(2).partition(' ')[0] if keyword and name == 'begin_src' else ''}"
            )
        elif name in ("end_src", "end_example"):
            in_code = False
            lines.append("```")
        elif in_code:
            lines.append(line)
        elif keyword:
            title = keyword.group(2) if name == "title" else title
            facts |= {name: keyword.group(2)} if name in _STATED and keyword.group(2) else {}
            lines.append(keyword.group(2) if name == "caption" else "")
        elif line.strip() in (":PROPERTIES:", ":LOGBOOK:") or in_drawer:
            in_drawer = line.strip() != ":END:"
            lines.append("")
        elif match := _heading.match(line):
            words = _link.sub(r"\1", _tags.sub("", match[2])).strip()
            heading = heading or words
            lines.append(f"{'#' * min(len(match[1]), 6)} {words}")
        elif _rule.match(line):
            lines.append("| --- |")
        else:
            lines.append("" if line.startswith("# ") else _link.sub(r"\1", line))
    title = title.strip() or heading
    yield document(file, "\n".join(lines), {**facts, **({"title": title} if title else {}), **metadata})
