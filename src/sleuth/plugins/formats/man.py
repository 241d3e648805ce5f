"""Loader of manual pages (man and mdoc): sections, options and examples as Markdown, each line at its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sleuth.ingest import ReadOptions
from sleuth.ingest.extraction import named_row
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_separator = re.compile(r"\btab\s*\((.)\)")
_BEGIN, _END = "T{", "T}"
"""Around the text of a cell that has lines of its own."""
_RULES: Final = frozenset({"_", "="})
_request = re.compile(r"[.'][ \t]{0,20}([A-Za-z]{1,20})(?:[ \t]+(.*))?$")
_escape = re.compile(
    r"\\(?:f(?:\[[^\]]{0,20}\]|\(..|.)|s[-+]?\d|[hvwlLo]'[^'\n]{0,80}'|n[-+]?(?:\(..|\[[^\]]{0,20}\]|\w)|c|"
    r"\*?(?:\((..)|\[([^\]]{1,20})\])|([-&%|^0e ~:/,.'`\\]))"
)
_argument = re.compile(r'(?:[^ \t"]|"[^"]*")+')
_SIGNS: Final = {"bu": "•", "em": "—", "en": "–", "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'", "dq": '"',
                 "hy": "-", "mi": "-", "co": "©", "ga": "`", "ha": "^", "ti": "~", "rs": "\\"}  # fmt: skip
_ACCENTS: Final = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327"}
"""Combining marks by the sign that names a letter with an accent: `\\['e]`."""
_PLAIN: Final = {"-": "-", "e": "\\", "\\": "\\", "~": " ", " ": " ", "0": " ", "'": "'", "`": "`", ".": "."}
_CONTROLS: Final = frozenset({".", "'"})
"""Begin a line that is a request."""
_HEADINGS: Final = {"SH": "# ", "Sh": "# ", "SS": "## ", "Ss": "## "}
_OPEN: Final = frozenset({"nf", "EX", "Bd", "Vb"})
_CLOSE: Final = frozenset({"fi", "EE", "Ed", "Ve"})
_NAMING: Final = frozenset({"TH", "Dt"})
_SILENT: Final = frozenset({
    "ad", "br", "ce", "de", "Dd", "Dt", "El", "Bl", "ft", "hy", "ie", "if", "el", "IX", "in", "LP", "mk", "na", "ne",
    "nh", "nr", "Os", "P", "PD", "PP", "Pp", "RE", "RS", "so", "sp", "ta", "TH", "ti", "TP", "tr", "UE", "ds",
    "ll", "TQ", "TS", "als", "char", "ftr", "nop", "rr", "rm", "tm", "tkf", "hw", "hc", "bp", "fam", "fcolor",
    "am", "ig", "it", "mso", "ps", "rn",
})  # fmt: skip
"""Requests whose arguments are no words."""
_FONTS: Final = frozenset({"B", "BI", "BR", "I", "IB", "IR", "R", "RB", "RI", "SB", "SM"})
_DEFINITIONS: Final = frozenset({"am", "de", "ig"})
"""Requests that stand above lines which are not printed here; ".." ends them."""
_INLINE: Final = frozenset({
    "Ad", "An", "Ap", "Ar", "Cd", "Cm", "Dv", "Em", "Er", "Ev", "Fa", "Fl", "Fn", "Ft", "Ic", "Li", "Nm", "No", "Ns",
    "Oc", "Oo", "Pa", "Sy", "Tn", "Va", "Xc", "Xo",
})  # fmt: skip
"""Macros of mdoc that may stand among words."""
_AROUND: Final = {
    "Aq": ("<", ">"), "Bq": ("[", "]"), "Brq": ("{", "}"), "Dq": ("“", "”"), "Op": ("[", "]"), "Pq": ("(", ")"),
    "Ql": ("‘", "’"), "Qq": ('"', '"'), "Sq": ("‘", "’"),
}  # fmt: skip
"""Macros of mdoc that put the words after them between two signs."""


class RoffTable:
    """Reads a table line by line.

    A first row with a rule below it names the columns of the others.
    """

    def __init__(self) -> None:
        self._separator = "\t"
        self._has_format = False
        self._inside = False
        self._row = ""
        self._rows = 0
        self._names: list[str] = []
        self._first: list[str] = []

    def line(self, text: str) -> str:
        """Return the row that ends with this line, or ""."""
        text = text.rstrip("\r")
        if not self._has_format:
            if text.rstrip().endswith(";") and (option := _separator.search(text)):
                self._separator = option.group(1)
            self._has_format = text.rstrip().endswith(".")
            return ""
        if self._inside:
            self._inside = not text.startswith(_END)
            self._row += f" {text}" if self._inside else text.removeprefix(_END)
        elif text.startswith(".T&"):
            self._has_format = False
        elif text.startswith("."):
            return ""
        elif text.strip() in _RULES:
            self._names = self._names or (self._first if self._rows == 1 else [])
            return ""
        else:
            self._row = text
        if self._row.endswith(_BEGIN):
            self._row = self._row.removesuffix(_BEGIN)
            self._inside = True
        return "" if self._inside else self._finished()

    def _finished(self) -> str:
        cells = [cell.strip() for cell in self._row.split(self._separator)]
        self._row = ""
        if not any(cells):
            return ""
        self._rows += 1
        self._first = self._first or cells
        if self._names and len(self._names) >= len(cells):
            return named_row(self._names, cells)
        return f"| {' | '.join(cells)} |"


def load_man(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the whole page, titled by its name and section: "ls(1)"."""
    text, metadata = file.text()
    lines: list[str] = []
    title, in_example, tag, is_hidden = "", False, "", False
    table: RoffTable | None = None
    for line in text.split("\n"):
        if is_hidden:
            lines.append("")
            is_hidden = not line.startswith("..")
            continue
        if table is not None:
            lines.append(table.line(_unescaped(line)))
            table = None if line.startswith(".TE") else table
            continue
        match = _request.match(line) if line[:1] in _CONTROLS else None
        if match is None:
            is_comment = line.startswith((".", "'\\\"", "\\#", '\\"')) and not line.startswith("...")
            lines.append("" if is_comment else tag + _unescaped(line))
            tag = tag if is_comment else ""
            continue
        name, words = match[1], _words(match[2] or "")
        if name == "TS":
            table = RoffTable()
        if name in _NAMING and words and not title:
            page, *section = words
            title = f"{page.lower()}({section.pop(0)})" if section else page.lower()
        if name in _HEADINGS:
            lines.append(f"{'```' if in_example else ''}{_HEADINGS[name]}{' '.join(words)}")
            in_example = False
        elif name in (_CLOSE if in_example else _OPEN):
            in_example = not in_example
            lines.append("```")
        elif name in _SILENT or name in _OPEN or name in _CLOSE:
            lines.append("")
            is_hidden = name.rstrip("1") in _DEFINITIONS
            tag = "- " if name in ("TP", "TQ") else tag
        else:
            visible = _visible_text(name, words)
            if not visible and name in _FONTS and lines:  # of the next line: no paragraph ends here
                lines[-1], _, visible = lines[-1].rpartition(" ")
            lines.append(tag + visible)
            tag = "" if visible else tag
    yield document(file, "\n".join(lines), {**({"title": title} if title else {}), **metadata})


def _visible_text(name: str, words: list[str]) -> str:
    """Return the text that a line with a macro prints, as Markdown: `.Xr ls 1` gives "ls(1)", `.It` a list item."""
    if name in _INLINE or name in _AROUND:
        return _inline([name, *words])
    if name in ("Xr", "MR") and len(words) > 1:
        page, section, *trailing_words = words
        return f"{page}({section}){''.join(trailing_words)}"
    if name == "IP":
        words = words[:1]  # the second word is the width of an indent
    if name == "It" and words:
        return f"- {_inline(words)}"
    if name in ("It", "IP"):
        return f"- {' '.join(word for word in words if word != '•')}" if words else "-"
    # Macros such as .BR set their words in two fonts in turn, and print them without blanks between.
    alternating = len(name) == 2 and name.isupper() and set(name) <= set("BIR")
    return ("" if alternating else " ").join(words)


def _inline(words: list[str]) -> str:
    """Return the text of words of mdoc, some of which are macros: `Fl a Oo b Oc ,` gives "-a b,"."""
    text = ""
    is_flag, is_joined = False, True  # of the next word: whether it is an option, and has no blank before it
    for place, word in enumerate(words):
        if word in _AROUND:  # it holds all words after it
            opening, closing = _AROUND[word]
            inner = _inline(words[place + 1 :])
            inner_text = inner.rstrip(".,;:")
            punctuation = inner[len(inner_text) :]
            blank = "" if is_joined else " "
            return f"{text}{blank}{opening}{inner_text}{closing}{punctuation}"
        if word in _INLINE:
            is_flag, is_joined = word == "Fl", is_joined or word in ("Ns", "Ap")
            continue
        blank = "" if is_joined or word in ")].,;:?!" else " "
        dash = "-" if is_flag and word not in "()[]|.,;:?!" else ""
        text += blank + dash + word
        is_joined = word in "(["
    return text


def _words(arguments: str) -> list[str]:
    """Return the arguments of a request; double quotes keep blanks within one."""
    plain = _unescaped(arguments.partition('\\"')[0])
    if plain.count('"') % 2:  # a quote without its end
        return plain.replace('"', "").split()
    return [word.replace('"', "") for word in _argument.findall(plain)] if '"' in plain else plain.split()


def _unescaped(text: str) -> str:
    return _escape.sub(lambda match: _printed(match[0]), text) if "\\" in text else text


@lru_cache(1 << 12)
def _printed(escape: str) -> str:
    """Return what an escape prints. A page repeats a few of them."""
    match = _escape.fullmatch(escape)
    if match is None:
        return ""
    name = match[1] or match[2] or ""
    accent, letter = name[:1], name[1:]
    if accent in _ACCENTS and letter.isalpha():
        return unicodedata.normalize("NFC", letter + _ACCENTS[accent])
    return _SIGNS.get(name, _PLAIN.get(match[3] or "", ""))
