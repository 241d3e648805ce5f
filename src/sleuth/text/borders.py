"""Borders in plain text, markup and code: pages, headings, blocks, sentences and words.

Positions are character offsets. Every pattern is linear on every text: repeats are possessive or bounded, and what a
repeat may cross never starts another match of itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

WORD_PIECE = 8
"""Visible characters in a token at most: English then has about 1.25 tokens a word, as subword vocabularies do."""

BLANK_RUN = 200
"""Blanks within a chunk at most; a longer run is a border. The kernel `cutter` knows both numbers."""

_DENSE = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
_token = re.compile(rf"[{_DENSE}]|[^\s{_DENSE}]{{1,{WORD_PIECE}}}+")


def count_tokens(text: str) -> int:
    """Count the tokens of `text`: runs of up to 8 visible characters, and each Chinese, Japanese or Korean sign.

    No vocabulary is needed and the count is the same everywhere; for English prose it differs by 10 to 20 % from
    the count of subword tokenizers.
    """
    return len(_token.findall(text))


SMALL = "a-z" + "".join(char for char in map(chr, range(0xB5, 0x530)) if char.islower())
"""Small letters of Latin, Greek and Cyrillic script, for a set of characters in a pattern."""
_CAPITAL = "A-Z" + "".join(char for char in map(chr, range(0xC0, 0x530)) if char.isupper())
_ABBREVIATED = (
    "Dr", "Mr", "Mrs", "Ms", "Fig", "No", "vs", "cf", "etc", "approx", "bzw", "usw", "ggf", "vgl", "ca", r"p\.ex",
)  # fmt: skip
"""What ends no sentence although a capital or a sign follows."""
_ABBREVIATION = (  # one letter is an initial or "z. B.", "т. е."; of small ones beyond ASCII, some are words
    rf"(?<!\b[{_CAPITAL}a-zα-ωа-ю]\.)" + "".join(rf"(?<!\b{word}\.)" for word in _ABBREVIATED)
)

_DATED = (  # in German, where nouns are capitals: "am 3. Oktober"
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert"
)
_NO_DATE = rf"(?!(?:(?<=\b\d\.\s)|(?<=\b\d\d\.\s))(?:{_DATED}))"


def _sentence(abbreviation: str, start: str) -> re.Pattern[str]:
    return re.compile(
        r"[.!?…।॥؟۔。！？｡\n](?:"
        rf"(?<=[.!?…।॥؟۔]){abbreviation}[\"')\]”’»]?\s{{1,9}}(?={start}){_NO_DATE}"
        r"|(?<=[。！？｡])(?=[^。！？｡」』）”’》】\s])"
        r"|(?<=\n)[ \t]{0,12}(?=(?:[-*+•]|\d{1,3}[.)])\s\S)"
        r"|(?<=\n)[ \t\r\f]{0,200}\n"
        r")"
    )


_mixed = _sentence(_ABBREVIATION, rf"[^\s{SMALL}.,;:!?)\]]")
_one_case = _sentence(f"(?i:{_ABBREVIATION})", r"[^\s.,;:!?)\]]")


def sentence_of(text: str) -> re.Pattern[str]:
    """Return the border of sentences, list items or paragraphs in a text; the next one starts at the end of a match.

    A sentence begins with a capital, where a text has capitals and small letters.
    """
    return _one_case if text.islower() or text.isupper() else _mixed


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of `text`, in order, without white space around them; they end where passages do."""
    ends = [match.end() for match in sentence_of(text).finditer(text)]
    spans: list[tuple[int, int]] = []
    for begin, end in pairwise([0, *ends, len(text)]):
        body = text[begin:end].lstrip()
        if body:
            spans.append((end - len(body), end - len(body) + len(body.rstrip())))
    return spans


blank_line = re.compile(r"\n[ \t\r\f]{0,200}\n")
top_level = re.compile(r"\n[ \t\r\f]{0,200}\n(?=[^\s)}\]])")


@dataclass(frozen=True, slots=True)
class Outline:
    """What a scan of a whole text finds.

    Attributes:
        headings: where heading lines start, ascending.
        ends: where the lines of each heading end.
        paths: per heading, its path from the top: "Guide > Install".
        kept: (start, end) of blocks that are cut only where they do not fit a chunk, ascending and apart.
    """

    headings: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()


EMPTY = Outline()


class _Heading(NamedTuple):
    """A heading, and where its lines start and end."""

    start: int
    end: int
    level: int
    title: str


def _outline(headings: list[_Heading], blocks: list[tuple[int, int]]) -> Outline:
    levels: list[int] = []  # of the headings above
    above: list[str] = []  # their paths
    paths = []
    for heading in headings:
        while levels and levels[-1] >= heading.level:
            levels.pop()
            above.pop()
        path = f"{above[-1]} > {heading.title}" if above else heading.title
        levels.append(heading.level)
        above.append(path)
        paths.append(path)
    starts, ends = [heading.start for heading in headings], [heading.end for heading in headings]
    return Outline(tuple(starts), tuple(ends), tuple(paths), tuple(blocks))


# Patterns of lines start with a line feed, so that the engine looks for those alone: a text is scanned with one put
# before it, and what is found is shifted back by one.
_END = r"[ \t]*+(?=\n|\Z)"
_markdown = re.compile(
    r"\n(?= {0,12}+[#|=\-`~])(?: {0,3}+(?:"
    r"(?P<level>\#{1,6})(?>(?:[ \t]++(?P<title>[^\n]*+))?)(?=\n|\Z)"
    r"|\|[^\n]*+(?P<rows>(?>(?:\n {0,3}\|[^\n]*+)+))"
    rf"|(?P<under>=++|-{{2,}}+){_END}"
    r")| {0,12}+(?P<fence>`{3,}+(?![^`\n]*+`)|~{3,}+))"
)
_link = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_NO_TITLE = (" ", "\t", ">", "|", "#", "+ ", "* ", "- ")


def _plain_title(title: str) -> str:
    title = title.strip()[:300]
    if title.endswith("#"):
        bare = title.rstrip("#")
        title = bare if not bare or bare[-1].isspace() else title
    if "[" in title:
        title = _link.sub(r"\1", title)
    return title.strip("*_` \t").replace("`", "")


def scan_markdown(text: str, *, title_only: bool = False) -> Outline:
    """Headings (`#` and underlined), fenced code and tables of Markdown.

    Args:
        title_only: whether the first heading is enough.
    """
    headings: list[_Heading] = []
    blocks: list[tuple[int, int]] = []
    lines = "\n" + text
    position = 0
    while not (title_only and headings) and (match := _markdown.search(lines, position)):
        start, end = match.start(), match.end() - 1
        kind = match.lastgroup
        if kind == "fence":
            fence = match["fence"]
            closing = re.compile(rf"\n {{0,12}}{fence[0]}{{{len(fence)},}}+{_END}").search(lines, match.end())
            end = closing.end() - 1 if closing else len(text)
            blocks.append((start, end))
        elif kind == "rows":
            blocks.append((start, end))
        elif kind == "under":
            # The line above is the title, unless something that was found already holds it.
            above = lines.rfind("\n", position, start)
            title = lines[above + 1 : start][:300]
            if above >= 0 and title and not title.startswith(_NO_TITLE):
                level = 1 if match["under"].startswith("=") else 2
                headings.append(_Heading(above, end, level, _plain_title(title)))
        elif title := _plain_title(match["title"] or ""):
            headings.append(_Heading(start, end, len(match["level"]), title))
        position = end + 1
    return _outline(headings, blocks)


_MARK = r"[=\-`:'\"~^_*+#<>.]"
_rest_line = re.compile(rf"\n(?P<mark>{_MARK})(?P=mark){{2,}}+{_END}")
_BODY = r"(?>(?:\n[ \t]++[^\n]*+|\n(?=\n{0,9}+[ \t]))+)"
_rest_directive = re.compile(rf"\n\.\. [\w-]++::[^\n]*+{_BODY}")
_rest_literal = re.compile(rf"::[ \t]*+\n[ \t]*+(?=\n[ \t]){_BODY}")
_rest_grid = re.compile(r"\n[+|][^\n]*+(?>(?:\n[+|][^\n]*+)+)")


def scan_rest(text: str, *, title_only: bool = False) -> Outline:
    """Headings, directives, literal blocks and grid tables of reStructuredText; levels in order of first use.

    Args:
        title_only: whether the first heading is enough.
    """
    levels: dict[tuple[str, bool], int] = {}
    headings: list[_Heading] = []
    lines = "\n" + text
    for match in _rest_line.finditer(lines):
        start = match.start()
        above = lines.rfind("\n", max(start - 301, 0), start)
        title = lines[above + 1 : start].strip() if above >= 0 else ""
        width = len(match[0].rstrip()) - 1
        if width < len(title) or not any(sign.isalnum() for sign in title):
            continue
        over = lines.rfind("\n", max(above - 301, 0), above) if above else -1
        overlined = over >= 0 and lines[over + 1 : above].rstrip() == match["mark"] * width
        level = levels.setdefault((match["mark"], overlined), len(levels) + 1)
        start = over if overlined else above
        headings.append(_Heading(start, match.end() - 1, level, title.replace("`", "")))
        if title_only:
            break
    return _outline(headings, [] if title_only else _rest_kept(lines))


def _rest_kept(lines: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    if "::" in lines:
        spans += [(match.start(), match.end() - 1) for match in _rest_directive.finditer(lines)]
        spans += [
            (lines.rfind("\n", 0, match.start()), match.end() - 1) for match in _rest_literal.finditer(lines)
        ]
    spans += [(match.start(), match.end() - 1) for match in _rest_grid.finditer(lines)]
    blocks: list[tuple[int, int]] = []
    end_of_last = 0
    for start, end in sorted(spans):
        if start >= end_of_last:
            blocks.append((start, end))
            end_of_last = end
    return blocks
