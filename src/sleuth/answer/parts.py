"""Parts of a passage that can stand alone as an answer.

A part is a sentence, a list item, a row of a table with the names of its columns, or a block of code. A sentence before
code takes the code along, and a sentence that ends with a colon takes the list or table after it along. A term above
its description, such as an option of a manual page, precedes the first sentence of that description. Headings,
questions, anchors, link definitions and pictures are left out; a question is a heading of the text after it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from sleuth.answer.sentences import split_sentences

Kind = Literal["sentence", "list", "table", "code", "definition"]
BlockKind = Literal["prose", "item", "row", "code", "skip"]

LONGEST = 600
"""Most characters of the part after a colon."""

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]|[ \t]*={3,}[ \t]*$|[ \t]*-{3,}[ \t]*$|[ \t]*[~^\"'`*+#]{4,}[ \t]*$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•:]|\d{1,3}[.)])[ \t]+")
"""A colon begins the description of the term above it."""
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_TURNING = re.compile(r"(?i)\b(?:prev|previous)\b.*\bnext\b")
"""A row of links to the pages before and after."""
_RULE = re.compile(r"[ \t:|+=]*+-[ \t:|+=-]*+$")
_NOISE = re.compile(
    r"[ \t]*(?:<a\s(?=[^>]*?(?:name|id)=)[^>]*+>(?:</a>)?|\[[^\]]+\]:\s*\S+.*|!\[[^\]]*\]\([^)]*\)|<[^>]+>|"
    r"\.\.\s[\w:-]+::.*|\.\.\s_.*|:\w[\w-]*:(?!`).*)[ \t]*$"
)
_TERM = re.compile(
    r"[ \t]*\.\.\s(?:\w+:)?(?:option|confval|envvar|data|function|(?:class|static)?method|class|attribute|exception|"
    r"module|describe|decorator|macro|type|opcode|program)::[ \t]+(.+)"
)
"""reStructuredText that describes what it names."""
_ADMONITION = re.compile(
    r"[ \t]*\.\.\s(?:note|tip|hint|important|attention|caution|warning|danger|seealso|admonition|deprecated|"
    r"version(?:added|changed|removed))::"
)
_CODE_BEGINS = re.compile(
    r"[ \t]*\.\.\s(?:code|code-block|sourcecode|parsed-literal|prompt)::|[ \t]+:[\w-]+:"
)
"""Lines between a colon and the code that it announces: a directive, and its options."""
_OPTION = re.compile(r"`{0,2}(?:--?[\w?#@]|[A-Z][A-Z0-9_]{2,}\b)")
"""How the name of an option, or of a variable in capitals, begins."""
_PHRASE = re.compile(r"[^\s.!?:;,|](?:[^\n!?:;,|]{0,58}[^\s.!?:;,|])?")
"""A line that may be a term: short, without punctuation that a sentence has."""
_CODE_SIGN = re.compile(r"[-_.(\[<=/*\d]")
_DIRECTIVE = re.compile(r"[ \t]*\.\.\s")
_UNDERLINE = re.compile(r"[ \t]*([=\-~^\"'`*+#])\1{2,}[ \t]*$")
_LINES: dict[BlockKind, re.Pattern[str]] = {
    "skip": re.compile(f"{_HEADING.pattern}|{_NOISE.pattern}"),
    "row": _ROW,
}
"""Blocks of a single line."""
_LINK = re.compile(r"!?\[([^\[\]]*+)\]\((?:[^()\s]++|\([^()]*+\))*+(?:\s+\"[^\"]*\")?\)")
_REFERENCE = re.compile(r"(?<![\w:+-])([\w+-]*+):[\w:+-]{2,}+(?<=:)`~?([^`<]*[^`<\s])\s*+(?:<[^`]*+(?<=>))?`")
_HYPERLINK = re.compile(r"(?<!`)`(?![\s`])([^`<>]+?)(?<!\s)(?:\s*<[^`<>]*>)?`__?(?![\w`])")
_STARS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.{1,200}?)(?<=[^\s*])\1(?![\w*])")
_UNDERSCORES = re.compile(
    r"(?<![\w\"'(.])(?:_([a-z]+)_|(__?)(?=[^\s_])([^_\s]++\s[^_]*+)(?<=\S)\2)(?![\w\"'(.])"
)
"""Not around identifiers: `__init__` is one, as is text in quotes or before a parenthesis."""
_TAG = re.compile(
    r"</?(?:a|abbr|b|br|code|dd|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|small|span|strong|sub|summary|sup|"
    r"table|tbody|td|th|thead|tr|tt|u|ul|var)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_DOCSTRING = re.compile(r'"""(.*?)(?:"""|\Z)|\'\'\'(.*?)(?:\'\'\'|\Z)|/\*\*(.*?)(?:\*/|\Z)', re.DOTALL)
"""Also of a piece that ends inside of it."""
_SPACED = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")
"""What lines add to a signature when they are joined."""
_LINE_COMMENT = re.compile(r"\s(?:#|//)\s.*")
_NAME = re.compile(r"\b\w++(?=\s*+[(<\[]|$)")
_LETTER = re.compile(r"[^\W_]")
_COMMENT = re.compile(r"[ \t]*(?://|#|--)")
_COMMENT_SIGN = re.compile(r"^[ \t]*(?:///?!?|#+|--+|\*)?[ \t]?")
_LITERAL = re.compile(r"    |\t|[ ]*>>> |[ ]+\$ |[ ]+\S+[ ]+::=")
"""How indented code, a session, a command or a rule of a grammar begins."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a passage.

    Attributes:
        start, end: characters of the passage, half open.
        text: without markup; code unchanged.
        kind: what it is.
        heading: the heading or the question above it in the passage, and the term that it describes; of a definition,
            file and name; "" without one.
    """

    start: int
    end: int
    text: str
    kind: Kind
    heading: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together: `start` and `end` are characters of the passage."""

    kind: BlockKind
    start: int
    end: int
    indent: int = 0


def answer_parts(text: str) -> list[Part]:
    """Return the parts of a passage, in order.

    Prose is cut into sentences. A sentence that an end of the passage cuts off is left out if there are other parts:
    overlapping passages hold it whole.
    """
    blocks = _blocks(text)
    parts: list[Part] = []
    header: list[str] = []
    headings: list[tuple[int, str]] = []
    announced, section, terms = 0, "", list[str]()
    for place, block in enumerate(blocks):
        body = text[block.start : block.end]
        if block.kind == "row":
            cells = _cells(body)
            if place and blocks[place - 1].kind == "row" and header:
                if not (_RULE.match(body) or _TURNING.search(row := _row(header, cells))):
                    parts.append(Part(block.start, block.end, row, "table"))
            else:
                header = cells
        elif block.kind == "code":
            if block.start < announced:
                continue
            parts.append(Part(block.start, block.end, body.strip("\n"), "code"))
        elif block.kind == "skip":
            section = without_markup(body.partition("\n")[0].strip(" \t#="))
            headings.append((block.end, section))
            terms = [term] if (term := _described(body)) else []
        elif term := _term(text, block, blocks[place + 1] if place + 1 < len(blocks) else None):
            terms.append(term)
            headings.append((block.end, f"{section} {' '.join(terms)}".lstrip()))
        else:
            sentences = _sentences(text, block, blocks[place + 1 :])
            if sentences and terms:
                sentences[0] = replace(sentences[0], text=f"{', '.join(terms)}: {sentences[0].text}")
                terms = []
            parts += sentences
            announced = parts[-1].end if parts else 0
    return _under_headings(text, parts, headings)


def _described(body: str) -> str:
    """Return what a directive of reStructuredText describes; "" if it describes nothing."""
    match = _TERM.match(body)
    return f"`{match[1].strip()}`" if match else ""


def _term(text: str, block: _Block, following: _Block | None) -> str:
    """Return the term that a block of one line names, in backquotes if it looks like code; "" if it names none.

    A term is an option or variable before any prose or item, or a short phrase before prose or a ":" description.
    A phrase that is a list item counts only if prose follows on the next line.
    """
    line = text[block.start : block.end].strip()
    term = without_markup(line)
    if following is None or not term or "\n" in line or following.kind not in ("prose", "item"):
        return ""
    if _OPTION.match(term) and (term[-1] not in ".:" or term.endswith("...")):
        return term if "`" in term else f"`{term}`"
    is_directly_above_prose = following.kind == "prose" and following.start == block.end + 1
    is_followed_by_list = (
        following.kind == "item" and text[following.start : following.end].lstrip()[0] != ":"
    )
    if block.kind == "item" and not is_directly_above_prose:
        return ""
    if is_followed_by_list or not _PHRASE.fullmatch(term):
        return ""
    return f"`{term}`" if _CODE_SIGN.search(term) and "`" not in term else term


def _under_headings(text: str, parts: list[Part], headings: list[tuple[int, str]]) -> list[Part]:
    """Return the parts that may answer, each with the last heading or question that ends before it."""
    statements: list[Part] = []
    for part in parts:
        if part.text.rstrip("\"'”’)*_").endswith(("?", "？", "؟")):
            headings.append((part.end, part.text))
        else:
            statements.append(part)
    statements = [part for part in statements if not _is_fragment(text, part)] or statements
    if not headings:
        return statements
    ends, texts = zip(*sorted(headings), strict=True)
    places = [bisect_right(ends, part.start) for part in statements]
    return [
        replace(part, heading=texts[place - 1]) if place else part
        for part, place in zip(statements, places, strict=True)
    ]


def code_part(text: str, signature: str, doc: str = "") -> Part:
    """Return a piece of code as one part: its signature and the first sentence of its documentation.

    Args:
        signature: "" for a piece that is no definition, such as the head of a file.
        doc: the documentation of the definition that the piece is a part of; read from the text where it is "".
    """
    name = _SPACED.sub("", " ".join(_LINE_COMMENT.sub("", signature).split())).rstrip(" :{")
    documentation = doc or _documentation(text, _NAME.search(name))
    sentences = split_sentences(documentation)
    first = without_markup(documentation[slice(*sentences[0])]) if sentences else ""
    title = ": ".join(part for part in (f"`{name}`" if name else "", first) if part)
    return Part(0, len(text), title, "definition" if name else "sentence")


def _documentation(text: str, name: re.Match[str] | None) -> str:
    """Return a definition's docstring or the comment above it, without comment signs, or "".

    Args:
        name: the definition's. What follows something else than its name is documentation of something inside of it.
    """
    lines = text.strip().splitlines()
    comments = next((i for i, line in enumerate(lines) if not _COMMENT.match(line)), 0)
    match = _DOCSTRING.search(text)
    text_before = text[: match.start()].strip() if match else lines[comments] if lines else ""
    if text_before and name is not None and name[0] not in text_before:
        return ""
    comment_lines = match[match.lastindex or 0].splitlines() if match else lines[:comments]
    return "\n".join(_COMMENT_SIGN.sub("", line) for line in comment_lines)


def without_markup(text: str) -> str:
    """Return a sentence in one line without Markdown's, reStructuredText's and HTML's markup; code keeps its ticks."""
    pieces = re.split(
        r"(``[^`]+``|`[^`]+`)", _REFERENCE.sub(r"\1`\2`", _HYPERLINK.sub(r"\1", " ".join(text.split())))
    )
    for i in range(0, len(pieces), 2):
        piece = _LINK.sub(r"\1", pieces[i])
        piece = _UNDERSCORES.sub(lambda match: match[1] or match[3], _STARS.sub(r"\2", piece))
        pieces[i] = _TAG.sub("", piece)
    line = " ".join("".join(pieces).replace("``", "`").split())
    return re.sub(r"^(?:[-*+•:]|\d{1,3}[.)]|>)\s+", "", line)


def _sentences(text: str, block: _Block, after: list[_Block]) -> list[Part]:
    parts: list[Part] = []
    kind: Kind = "list" if block.kind == "item" else "sentence"
    spans = split_sentences(text[block.start : block.end])
    for number, (first, end_in_block) in enumerate(spans):
        start, end = block.start + first, block.start + end_in_block
        sentence = without_markup(text[start:end])
        if not _LETTER.search(sentence):
            continue
        is_before_code = bool(after) and after[0].kind == "code"
        if number == len(spans) - 1 and (sentence.endswith(":") or is_before_code):
            follows = list(_following(text, block, after))
            if follows:
                last_block = follows[-1]
                list_text = "\n".join(_shown(text, part) for part in follows)
                parts.append(Part(start, last_block.end, f"{sentence}\n{list_text}", _kind_of(last_block)))
                continue
        parts.append(Part(start, end, sentence, kind))
    return parts


def _kind_of(block: _Block) -> Kind:
    kinds: dict[str, Kind] = {"item": "list", "row": "table", "code": "code"}
    return kinds.get(block.kind, "sentence")


def _following(text: str, block: _Block, after: list[_Block]) -> Iterator[_Block]:
    """Yield the blocks of one kind that a colon announces, until they are too long."""
    room = LONGEST
    kind = ""
    for follower in after:
        if follower.kind == "skip" and not kind and _CODE_BEGINS.match(text[follower.start : follower.end]):
            continue
        if follower.kind in ("prose", "skip") or (kind and follower.kind != kind):
            return
        if block.kind == "item" and follower.kind == "item" and follower.indent <= block.indent:
            return
        room -= follower.end - follower.start
        if room < 0 and kind:
            return
        kind = follower.kind
        yield follower
        if kind == "code":
            return


def _shown(text: str, block: _Block) -> str:
    body = text[block.start : block.end]
    if block.kind == "item":
        return f"- {without_markup(body)}"
    return body.strip("\n")


def _is_fragment(text: str, part: Part) -> bool:
    """Return whether a sentence is cut off by an end of the passage."""
    announces = part.text.partition("\n")[0].endswith(":") and not _ITEM.match(text[part.start : part.end])
    if part.kind != "sentence" and not announces:
        return False
    begins = part.text[:1]
    if not text[: part.start].strip() and (begins.islower() or begins in ",;)]"):
        return True
    if part.kind != "sentence":
        return False
    ended = part.text.rstrip("\"'”’)]*_` ")[-1:]
    return not text[part.end :].strip() and ended.isalnum() and len(text) > LONGEST


def _blocks(text: str) -> list[_Block]:
    """Return the blocks of a passage, blank lines left out."""
    raw_lines = text.splitlines(keepends=True)
    lines = text.splitlines()
    starts = [0, *accumulate(map(len, raw_lines))]
    blocks: list[_Block] = []
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        kind, stop = _block_at(lines, place)
        indent = _indent(lines[place])
        blocks.append(_Block(kind, starts[place], starts[stop - 1] + len(lines[stop - 1]), indent))
        place = stop
    return blocks


def _block_at(lines: list[str], place: int) -> tuple[BlockKind, int]:
    """Return the kind of the block that begins at a line, and the line after its last."""
    line, stop = lines[place], place + 1
    if fence := _FENCE.match(line):
        closing = next(
            (i for i in range(stop, len(lines)) if lines[i].strip().startswith(fence.group(1))), len(lines)
        )
        return "code", min(closing + 1, len(lines))
    for kind, pattern in _LINES.items():
        if pattern.match(line):
            return kind, stop
    if _ITEM.match(line):
        return "item", _while(lines, stop, lambda i: _is_prose(lines[i]) and _is_indented(lines[i]))
    literal = _literal_indent(lines, place)
    if literal or (_is_indented(line) and _is_apart(lines, place) and not _is_described(lines, place)):
        return "code", _while(lines, stop, lambda i: _goes_on(lines, i, literal))
    stop = _while(lines, stop, lambda i: _is_prose(lines[i]))
    if stop == place + 1 < len(lines) and _UNDERLINE.match(lines[stop]):
        return "skip", stop + 1
    return "prose", stop


def _while(lines: list[str], place: int, holds: Callable[[int], bool]) -> int:
    """Return the first line from `place` on for which this does not hold."""
    while place < len(lines) and holds(place):
        place += 1
    return place


def _is_indented(line: str) -> bool:
    return _LITERAL.match(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _literal_indent(lines: list[str], place: int) -> int:
    """Return the indent of a block of reStructuredText below a line that ends with "::"; 0 if this line begins none."""
    above = next((line for line in reversed(lines[:place]) if line.strip()), "")
    is_literal = _is_apart(lines, place) and above.rstrip().endswith("::") and not _DIRECTIVE.match(above)
    return _indent(lines[place]) if is_literal and _indent(lines[place]) > _indent(above) else 0


def _is_apart(lines: list[str], place: int) -> bool:
    """Return whether a line is the first or follows a blank one."""
    return place == 0 or not lines[place - 1].strip()


def _is_described(lines: list[str], place: int) -> bool:
    """Return whether an indented line is prose below a directive of reStructuredText, such as a note or an option."""
    indent = _indent(lines[place])
    if lines[place].lstrip().startswith((">>> ", "$ ")):
        return False
    above = (line for line in reversed(lines[:place]) if line.strip() and _indent(line) < indent)
    outer = next(above, "")
    return bool(_TERM.match(outer) or _ADMONITION.match(outer))


def _goes_on(lines: list[str], place: int, literal: int) -> bool:
    """Return whether code goes on at this line, or at the one after it, if it is blank.

    Args:
        literal: indent of a block below two colons; 0 for other code.
    """
    line = lines[place] if lines[place].strip() else "".join(lines[place + 1 : place + 2])
    return _indent(line) >= literal and bool(line.strip()) if literal else _is_indented(line)


def _is_prose(line: str) -> bool:
    starts = (_FENCE, _HEADING, _NOISE, _ROW, _ITEM, _UNDERLINE)
    return bool(line.strip()) and not any(pattern.match(line) for pattern in starts)


def _cells(line: str) -> list[str]:
    return [without_markup(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _row(header: list[str], cells: list[str]) -> str:
    """Name each cell of a row by its column."""
    cells_with_names = [
        f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=False) if cell.strip()
    ]
    return "; ".join(cells_with_names)
