"""Units of a passage: what can be quoted alone, and is never cut in two.

A unit is a sentence, an item of a list, a row of a table with the names of its columns, a definition with its term, or
code with the sentence before it. Headings, questions and signs of markup are none. Lists of links, bibliographies,
contents and headers of mail are shown, and never marked as the best of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from textwrap import dedent
from typing import Final, Literal

from sleuth.answer.words import is_code
from sleuth.text.borders import split_sentences
from sleuth.types import RetrievedItem

FENCES: Final = ("```", "~~~")
"""What fenced code begins with."""
QUESTION_MARKS: Final = ("?", "？", "؟")
_MARKUP: Final = re.compile(
    r"!?\[([^\[\]]*+)\]\([^()]*+\)"  # a link or a picture of Markdown
    r"|(?:\{[\w:+-]++\}|(?<!\w):[\w+-]++:)`~?([^`<>]++)(?:<[^<>`]*+>)?`"  # a role: :ref:`name <place>`, {func}`name`
    r"|`([^`<>\s]++(?>(?:\s++[^`<>\s]++)*))\s++<[^<>`]++>`__?"  # a link of reStructuredText
    r"|https?://[^\s\[\]<>()`]{1,300}+\[([^\[\]]++)\]|<<[^<>,]*+,([^<>]*+)>>"  # links of AsciiDoc
    r"|`[^`]*+`"  # code, which stays as it is
    r"|\(\(\([^()]*+\)\)\)|</?[a-zA-Z][\w-]*+(?:\s[^<>]*+)?/?>"  # terms of an index, tags
)
"""Markup whose text, if it has any, stays."""

_signs = re.compile(r"[\[<`(]")
"""What such markup begins with."""
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•:]|\d{1,3}[.)]|[a-z]\))[ \t]+(?=\S)")
"""The marker of an item of a list; a colon begins the description of the term above it."""
_TERM: Final = 80
"""Characters of a line that may name what the lines below it describe."""
_ENTRY: Final = 300
"""Characters up to which an item of a list is one unit."""
_FENCED: Final = 1000
"""Lines between two fences, at most."""
_CODE: Final = 5
"""Lines of code that are compared with a question."""
_SKIPPED: Final = (
    ".. _", ".. image", ".. figure", ".. include", ".. contents", ".. toctree", ".. currentmodule", ".. index",
    ".. version", ".. deprecated", "image::", "include::", "toc::", "ifdef::", "ifndef::", "endif::", "[[", "|===",
    "</", "<!--", "{%", ":::",
)  # fmt: skip
"""What lines begin with that are signs of markup."""
_LITERAL: Final = ("code", "code-block", "sourcecode", "parsed-literal")
"""Directives of reStructuredText above code."""
_MAIL: Final = frozenset(
    {"from", "to", "cc", "date", "subject", "reply-to", "message-id", "sent", "received"}
)


@dataclass(frozen=True, slots=True)
class Unit:
    """What can be quoted alone.

    Attributes:
        text: in one line, without markup; "" for code without a sentence.
        code: the lines of code that belong to it.
        kind: what it is.
        paragraph: a number that units of one paragraph share.
        heading: the last heading or question above it in the passage.
        owner: the item or the term that it belongs to.
        is_answer: whether it may be marked as the best of an answer.
    """

    text: str
    code: tuple[str, ...] = ()
    kind: Literal["prose", "item", "row", "code"] = "prose"
    paragraph: int = 0
    heading: str = ""
    owner: str = ""
    is_answer: bool = True

    @property
    def scored(self) -> str:
        """The text that is compared with a question."""
        return "\n".join([self.text, *self.code[:_CODE]])


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together. A table is one block, and so is each item of a list."""

    kind: Literal["heading", "prose", "item", "table", "code"]
    lines: Sequence[str]
    indent: int = 0


def units_of(item: RetrievedItem) -> list[Unit]:
    """Return the units of a passage, in order; of code, its definition and the sentences of its documentation."""
    if not is_code(item):
        return text_units(item.text)
    signature = " ".join(str(item.metadata.get("signature") or "").split()).rstrip(" :{")
    symbol = str(item.metadata.get("symbol") or "")
    units = text_units(str(item.metadata.get("doc") or ""))
    units = [replace(unit, owner=f"{symbol} {unit.owner}".strip()) for unit in units]
    if not signature:
        return units
    first = units.pop(0).text if units and units[0].text else ""
    return [Unit(f"`{signature}`{': ' if first else ''}{first}", (), "code", -1, "", symbol), *units]


def text_units(text: str) -> list[Unit]:
    """Return the units of a text, in order."""
    units: list[Unit] = []
    heading, owners = "", dict[int, str]()
    for number, block in enumerate(_blocks(text.splitlines())):
        owners = {indent: name for indent, name in owners.items() if indent < block.indent}
        owner = " ".join(owners.values())
        if block.kind == "heading":
            heading, owners = without_markup(block.lines[0].strip(" #=*")), {}
        elif block.kind == "code":
            shown = [line for line in block.lines if not line.startswith(".. ")]
            code = tuple(dedent("\n".join(shown)).strip("\n").splitlines())
            if units and units[-1].paragraph == number - 1 and units[-1].kind != "row" and not units[-1].code:
                units[-1] = replace(units[-1], code=code)
            elif code:
                units.append(Unit("", code, "code", number, heading, owner, is_answer=False))
        elif block.kind == "table":
            place = (number, heading, owner)
            units += [Unit(row, (), "row", *place, any(map(str.isalnum, row))) for row in _rows(block.lines)]
        else:
            sentences = list(_sentences(block, number, heading, owner))
            first = sentences[0].text if len(sentences) == 1 else ""
            if first.endswith(QUESTION_MARKS):
                heading = first
            else:
                units += sentences
                if sentences and (block.kind == "item" or len(block.lines) == 1):
                    owners[block.indent] = sentences[0].text[:_TERM]
    return units


def without_markup(text: str) -> str:
    """Return a text in one line without links, roles, tags and stars; code keeps its ticks."""

    def shown(match: re.Match[str]) -> str:
        inner = next(filter(None, match.groups()), match[0] if match[0][0] == "`" else "")
        return f"`{inner.strip()}`" if match[2] else inner

    if _signs.search(text):
        text = unescape(_MARKUP.sub(shown, _MARKUP.sub(shown, text)))  # a link may hold a picture
    return " ".join(text.replace("**", "").replace("``", "`").split())


def _sentences(block: _Block, number: int, heading: str, owner: str) -> Iterator[Unit]:
    """Yield the units of a paragraph or an item: sentences, or one for a short item."""
    first, *later_lines = block.lines
    if block.kind == "item" and (marker := _ITEM.match(first)):
        first = first[marker.end() :]
    elif block.kind == "prose" and later_lines and _indent(later_lines[0]) > _indent(first):
        is_term = len(first) <= _TERM and first.rstrip()[-1:] not in (".", ",", ";")
        first = f"{first.strip().rstrip(':')}:" if is_term else first
    raw = " ".join(line.strip().removeprefix("> ") for line in (first, *later_lines))
    text = without_markup(raw)
    # No list of links answers, no entry of a bibliography or of contents, and no header of a mail.
    letters = sum(map(str.isalpha, text))
    addresses = [word for word in text.split() if "://" in word]
    linked = sum(map(str.isalpha, "".join([*map("".join, _MARKUP.findall(raw)), *addresses])))
    name, colon, _ = raw.partition(":")
    is_header = bool(colon) and name.strip().lower() in _MAIL
    is_entry = raw[:1] == "[" and raw[1:].partition("]")[0].isdigit()
    is_text = letters > 2 and 3 * linked < 2 * letters + 2
    may_answer = is_text and not (is_header or is_entry or "....." in raw)
    is_whole = block.kind == "item" and len(text) <= _ENTRY
    for start, end in [(0, len(text))] if is_whole else split_sentences(text):
        sentence = text[start:end]
        if any(map(str.isalnum, sentence)):
            kind: Literal["item", "prose"] = "item" if block.kind == "item" and not start else "prose"
            is_answer = may_answer and not sentence.endswith(QUESTION_MARKS)
            yield Unit(sentence, (), kind, number, heading, owner, is_answer)


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    """Yield the blocks of a text; blank lines and signs of markup are left out."""
    place, literal = 0, -1
    while place < len(lines):
        start, place = place, place + 1
        bare, indent = lines[start].strip(), _indent(lines[start])
        if end := _fence_end(lines, start):
            place = end + 1
            if not bare.startswith("<script") and bare != "---":
                yield _Block("code", lines[start + 1 : end], indent)
        elif bare.startswith(">>> "):  # a session of Python
            place = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
            yield _Block("code", lines[start:place], indent)
        elif bare.startswith(".. ") and "::" in bare and not bare.startswith(_SKIPPED):
            name, _, text = bare[3:].partition("::")
            literal = indent if name.strip() in _LITERAL else -1
            if text.strip() and literal < 0:
                yield _Block("prose", [text.strip()], indent)
        elif not bare or _is_sign(bare):
            continue
        elif _is_heading(lines, start):
            yield _Block("heading", [bare])
            place += _is_underline(lines, place)
        elif _is_rule(lines, place) or (bare[0] == "|" and bare.count("|") > 1):
            while place < len(lines) and "|" in lines[place]:
                place += 1
            yield _Block("table", lines[start:place], indent)
        else:
            block = _paragraph(lines, start, -1 < literal < indent)
            is_command = len(block.lines) == 1 and bare[0] == bare[-1] == "`" and bare.count("`") == 2
            yield _Block("code", [bare.strip("`")], indent) if is_command else block
            place = start + len(block.lines)
            literal = indent if block.lines[-1].rstrip().endswith("::") else -1


def _fence_end(lines: Sequence[str], start: int) -> int:
    """Return the line that closes the code, the script or the head of a page that a line opens; 0 if it opens none."""
    bare = lines[start].strip()
    if bare.startswith(("<pre", "<script")):
        ends = [i for i in range(start, len(lines)) if f"</{bare[1:4]}" in lines[i]]
        return ends[0] if ends and ends[0] > start else 0
    is_code = bare.startswith(FENCES)
    if not (is_code or bare in ("----", "....") or (start == 0 and bare == "---")):
        return 0
    sign = bare[:3] if is_code else bare
    below = range(start + 1, min(len(lines), start + _FENCED))
    return next((i for i in below if lines[i].strip() == sign), len(lines) if is_code else 0)


def _paragraph(lines: Sequence[str], start: int, is_literal: bool) -> _Block:
    """Return the paragraph, the item or the indented code that begins at a line.

    Args:
        is_literal: whether the line above says that code follows.
    """
    indent, is_item = _indent(lines[start]), _is_item(lines[start])
    place = start + 1
    while place < len(lines) and _indent(lines[place]) >= indent * is_item:
        bare = lines[place].strip()
        is_end = not bare or bare.startswith((*FENCES, ".. ", "#", "|"))
        if is_end or _is_sign(bare) or _is_item(lines[place]):
            break
        place += 1
    is_apart = start == 0 or not lines[start - 1].strip()
    is_indented = indent >= 4 and is_apart and not is_item and not lines[start].strip()[0].isupper()
    if is_literal or is_indented:
        while place < len(lines) and (not lines[place].strip() or _indent(lines[place]) >= indent):
            place += 1
        while not lines[place - 1].strip():
            place -= 1
        return _Block("code", lines[start:place], indent)
    if place - start > 1 and _is_underline(lines, place):
        place -= 1  # the heading has no blank line above it
    return _Block("item" if is_item else "prose", lines[start:place], indent)


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _is_item(line: str) -> bool:
    """Return whether a line begins an item of a list, or a field as `:param name:`."""
    bare = line.strip()
    is_field = bare[:1] == ":" and bare[1:2].isalpha() and ": " in bare
    return is_field or _ITEM.match(line) is not None


def _is_sign(bare: str) -> bool:
    """Return whether a line is a sign of markup: a rule, a fence of AsciiDoc, attributes in brackets, a tag alone."""
    is_rule = len(bare) > 2 and not any(map(str.isalnum, bare)) and len(set(bare)) <= 2
    is_tag = bare[:1] == "<" and bare[-1:] == ">" and bare.count("<") == 1 and "://" not in bare
    is_label = bare[:1] == "(" and bare[-2:] == ")="
    in_brackets = bare[:1] == "[" and bare[-1:] == "]" and "](" not in bare and len(bare) < _TERM
    return is_rule or is_tag or is_label or in_brackets or bare.startswith(_SKIPPED)


def _is_heading(lines: Sequence[str], place: int) -> bool:
    bare = lines[place].strip()
    sign = bare[: len(bare) - len(bare.lstrip("#="))]
    is_marked = 0 < len(sign) <= 6 and len(set(sign)) == 1 and bare[len(sign) : len(sign) + 1] == " "
    return is_marked or _is_underline(lines, place + 1)


def _is_underline(lines: Sequence[str], place: int) -> bool:
    """Return whether a line underlines the one before it, which then is a heading."""
    if not 0 < place < len(lines):
        return False
    bare, above = lines[place].strip(), lines[place - 1].strip()
    return len(bare) > 2 and len(set(bare)) == 1 and bare[0] in "=-~^\"'*+#" and len(bare) >= len(above) > 0


def _is_rule(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is the rule below the header of a table."""
    line = lines[place].strip() if place < len(lines) else ""
    return "-" in line and "|" in line and set(line) <= set("|:- +=")


def _rows(lines: Sequence[str]) -> Iterator[str]:
    """Yield the rows of a table, each cell with the name of its column."""
    header: list[str] = []
    for place, line in enumerate(lines):
        cells = [without_markup(cell) for cell in line.strip().strip("|").split("|")]
        if _is_rule(lines, place + 1):
            header = cells
        elif any(cells) and not _is_rule(lines, place):
            names = header if len(header) == len(cells) else [""] * len(cells)
            pairs = zip(names, cells, strict=True)
            yield "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
