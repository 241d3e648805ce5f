"""Loader of LaTeX: headings, lists and code as Markdown, each line at its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_LEVELS: Final = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_VERBATIM: Final = frozenset({"verbatim", "lstlisting", "minted", "Verbatim", "alltt"})
_PASSES: Final = 4
"""Commands inside commands that are taken apart."""
_comment = re.compile(r"(?<!\\)%.*")
_heading = re.compile(
    r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]{0,300}\])?"
    r"\{((?>(?:[^{}]|\{[^{}]{0,300}\}){0,500}))\}(.*)"
)
_environment = re.compile(r"\s*\\(begin|end)\{(\w{1,40})\*?\}(?:\[[^\[\]]{0,300}\]|\{\S{0,300}\})*(.*)")
_title = re.compile(r"\\title(?:\[[^\]]{0,300}\])?\{((?>(?:[^{}]|\{[^{}]{0,300}\}){1,500}))\}")
_dropped = re.compile(r"\\(?:begin|end|label|ref|eqref|pageref|cite[a-z]{0,10}|vspace|hspace|includegraphics|input|"
                      r"include)\*?(?:\[[^\[\]]{0,300}\]){0,2}\{[^{}]{0,1000}\}")  # fmt: skip
_command = re.compile(r"\\[a-zA-Z]{1,40}\*?(?:\[[^\[\]]{0,300}\])?\{([^{}]{0,10000})\}")
_verbatim = re.compile(rf"\\begin\{{({'|'.join(sorted(_VERBATIM))})\*?\}}")
_logo = re.compile(r"\\((?:Xe|Lua)?(?:La)?TeX|BibTeX)(?![a-zA-Z])(?:\{\}|[ ])?")
_bare = re.compile(r"\\[a-zA-Z]{1,40}\*?[ ]?|[{}]")
_accent = re.compile(r"\\(?:([\"'`^~=.])\{?\\?([a-zA-Z])\}?|([cvu])\{([a-zA-Z])\})")
_COMBINING: Final = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306",
}  # fmt: skip
_SIGNS: Final = (("\\\\", ""), ("\\ ", " "), ("\\&", "&"), ("\\%", "%"), ("\\_", "_"), ("\\#", "#"), ("~", " "),
                 ("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("\\ss", "ß"))  # fmt: skip


def load_latex(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the text of the document's body, titled by its title, else by its first heading."""
    text, metadata = file.text()
    lines: list[str] = []
    title, heading, verbatim = "", "", ""
    is_body = "\\begin{document}" not in text
    for line in text.split("\n"):
        if not verbatim:
            line = _comment.sub("", line)  # noqa: PLW2901 - the line without its comment
        if not title and (match := _title.search(line)):
            title = plain_line(match[1]).strip()
        environment = _environment.match(line)
        if environment and environment.group(2) == "document" and not verbatim:
            is_body = environment.group(1) == "begin"
        if verbatim:
            ends = environment and environment.group(1) == "end" and environment.group(2) == verbatim
            lines.append("```" if ends else line)
            verbatim = "" if ends else verbatim
        elif not is_body:
            lines.append("")
        elif opening := _verbatim.search(line):
            verbatim = opening.group(1)
            lines.append("```")
        elif match := _heading.match(line):
            name, sentence = (plain_line(part).strip() for part in match.group(2, 3))
            heading = heading or name
            lines.append(f"{name} {sentence}" if sentence else f"{'#' * _LEVELS[match[1]]} {name}")
        elif environment:
            lines.append(plain_line(environment.group(3)).strip())
        else:
            lines.append(plain_line(line))
    name = title or heading
    yield document(file, "\n".join(lines), {**({"title": name} if name else {}), **metadata})


def plain_line(line: str) -> str:
    """Return a line without commands; formulas stay as they are."""
    if line.lstrip().startswith("\\item"):
        line = "- " + line.lstrip().removeprefix("\\item").strip()
    if not any(sign in line for sign in "\\{}~`'-"):
        return line
    parts = line.split("$")
    parts[::2] = [_prose(part) for part in parts[::2]]
    return "$".join(parts)


def _accented(match: re.Match[str]) -> str:
    letter, accent = match[2] or match[4], match[1] or match[3]
    return unicodedata.normalize("NFC", letter + _COMBINING[accent])


def _prose(text: str) -> str:
    text = _accent.sub(_accented, text)
    text = _logo.sub(r"\1", text)
    text = _dropped.sub("", text)
    for sign, plain in _SIGNS:
        text = text.replace(sign, plain)
    for _ in range(_PASSES):
        text, changes = _command.subn(r"\1", text)
        if not changes:
            break
    return _bare.sub("", text)
