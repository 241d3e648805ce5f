"""Tells texts that nobody reads, such as minified code, dumps and lists of words, from those that answer questions."""

from __future__ import annotations

import re
from typing import Final

from sleuth.files.formats import CODE
from sleuth.text.cutter import count_signs

_SAMPLE: Final = 16 << 10
"""Characters from the start of a text that are looked at."""
_LONG_LINES: Final = 500
"""Characters of an average line of minified text; lines of prose that are paragraphs have blanks."""
_FEW_BLANKS: Final = 0.06
"""Share of blanks and tabs below which a text of such lines holds no words; that of English prose is about 0.17."""
_MOSTLY: Final = 0.8
"""Share of ASCII from which on a text is in a script that divides words by blanks."""
_LEAST: Final = 4_000
"""Characters of a text that is a dump or minified; shorter ones cost little."""
_FEW_LETTERS: Final = 0.3
_WINDOWS: Final = 8
_WINDOW: Final = 2_000
"""Windows of a text, and characters of each, that are looked at: a manual may begin with a table of contents."""
_SHORT_PAGE: Final = 200
"""Characters of a page that may be a dump; what a shorter one says costs little."""
_LIST: Final = 500
"""Lines of a list of words."""
SAMPLE_OF_ROWS: Final = 256 << 10
"""Bytes from the start of a file of rows that are looked at."""
_MANY_ROWS: Final = 10_000
NUMBERS: Final = "numbers without words"
"""The reason why rows without a letter are left out."""
_REPEATED: Final = 100
"""Times that rows stand in a sample on average from which on they repeat each other."""
_SHORT_ROW: Final = 8
"""Bytes of an average row that says something; each row costs as much as a document of a page."""
_FEW_ROWS: Final = 30
"""Rows of numbers that a person may have written down; they stay if their first row names them."""
_letter = re.compile(rb"[A-Za-z\x80-\xff]")
_number = re.compile(
    rb"\b(?:nan|null|none|true|false|inf|na)\b|[\d.][eE][-+]?\d+|\b0x[0-9a-f]+\b", re.IGNORECASE
)
"""What numbers are written with that is no word."""
_FITS: Final = "SIMPLE  ="
"""How the head of a FITS image begins."""
_generated = re.compile(
    r"@generated\b|\b(?:auto-?)?generated\b[^\n]{0,120}\bdo not (?:edit|modify)"
    r"|\bdo not (?:edit|modify)\b[^\n]{0,120}\bgenerated\b",
    re.IGNORECASE,
)
_MARKED_WITHIN: Final = 1_000
"""Characters at the start of a source file in which it says that it was generated."""
_base64 = re.compile(
    r"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{200,}+={0,2}|(?:[A-Za-z0-9+/]{60,100}\n){4,}[A-Za-z0-9+/]{0,100}={0,2})"
)
_SHORTEST: Final = 200
"""Characters of the shortest run of base64, without blanks, that is replaced."""
_upper, _lower, _digit = re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]")
_LOCKS: Final = frozenset({
    "cargo.lock", "composer.lock", "gemfile.lock", "go.sum", "npm-shrinkwrap.json", "package-lock.json", "pdm.lock",
    "pipfile.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "yarn.lock",
})  # fmt: skip


def why_left_out(name: str, kind: str) -> str:
    """Return why a file with this name is left out unread; "" if it is not."""
    if kind == "svg":
        return "a drawing"
    if name.rpartition("/")[2].lower() in _LOCKS:
        return "generated: a list of locked versions"
    return ""


def why_no_prose(text: str, kind: str) -> str:
    """Return why a text makes no passages that anyone reads; "" if it does.

    Args:
        kind: of its file.
    """
    if kind in CODE and _generated.search(text, 0, _MARKED_WITHIN):
        return "generated, as it says"
    sample = text[:_SAMPLE]
    if sample.startswith(_FITS):
        return "an image or table in FITS"
    if len(sample) < _LEAST:
        return ""
    if "\0" in sample:
        return "binary"
    lines, blanks, letters, visible = count_signs(sample, 0, _SAMPLE)
    lines += 1
    # Only what is mostly ASCII is judged by its blanks: other scripts may write without them.
    if len(sample) > _LONG_LINES * lines and blanks < _FEW_BLANKS * len(sample) and _is_mostly_ascii(sample):
        return "minified, or data without words"
    why = ""
    if kind == "text" and lines > _LIST and _is_list(sample.split("\n")) and _is_mostly_ascii(sample):
        why = "a list of words"
    elif kind not in CODE:
        if len(text) > _WINDOWS * _WINDOW:
            starts = [(len(text) - _WINDOW) * number // (_WINDOWS - 1) for number in range(_WINDOWS)]
            windows = "".join(text[start : start + _WINDOW] for start in starts)
            _, _, letters, visible = count_signs(windows, 0, len(windows))
        why = "a dump of numbers or signs" if letters < _FEW_LETTERS * visible else ""
    return why


def without_dumps(text: str) -> str:
    """Return a text with the same lines whose pages of numbers or signs, such as dotted tables of contents, are empty.

    Form feeds divide pages.
    """
    pages = text.split("\f")
    if len(pages) < 2:
        return text
    for number, page in enumerate(pages):
        _, _, letters, visible = count_signs(page, 0, len(page))
        if len(page) >= _SHORT_PAGE and letters < _FEW_LETTERS * visible:
            pages[number] = "\n" * page.count("\n")
    return "\f".join(pages)


def words_of_tables(text: str) -> str:
    """Return the cells of Markdown tables that hold words, and all lines that are no rows; equal lines stand once."""
    lines: dict[str, None] = {}
    for line in text.split("\n"):
        if line.startswith("|"):
            cells = [cell for cell in line.strip("| ").split(" | ") if any(map(str.isalpha, cell))]
            line = f"| {' | '.join(cells)} |" if cells else ""  # noqa: PLW2901 - the same line
        lines[line] = None
    return "\n".join(lines)


def _is_mostly_ascii(sample: str) -> bool:
    return sample.isascii() or len(sample.encode("ascii", "ignore")) > _MOSTLY * len(sample)


def _is_list(lines: list[str]) -> bool:
    """Return whether nearly all lines that are not blank are one short word."""
    words = list(filter(None, map(str.strip, lines)))
    if len(words) <= _LIST:
        return False
    single = sum(len(word) <= 40 and " " not in word and "\t" not in word for word in words)
    return single > 0.97 * len(words)  # a heading or two may stand among them


def why_no_rows(sample: bytes, kind: str) -> str:
    """Return why the rows of a file are no documents that anyone looks for; "" if they are.

    Args:
        sample: `SAMPLE_OF_ROWS` of the file, or all of it.
        kind: of the file.
    """
    if kind == "json":
        inner = max(sample.count(b"{"), sample.count(b"["))
        rows = inner if inner > 1 else sample.count(b",")
        end = b"," if inner <= 1 else b"}" if sample.count(b"{") == inner else b"]"
    else:
        rows = sample.count(b"\n")
        end = b"\n"
    if rows > _MANY_ROWS and len(sample) < _SHORT_ROW * rows:
        return "many rows of a few characters"
    if rows > _MANY_ROWS and len(set(sample.split(end))) < rows / _REPEATED:
        return "many rows that repeat each other"
    names, _, body = sample.partition(b"\n")
    if kind not in ("csv", "tsv") or b"\0" in sample or not any(sign in body for sign in b"0123456789"):
        return ""
    is_long = body.strip().count(b"\n") + 1 > _FEW_ROWS
    return NUMBERS if (is_long or not has_words(names)) and not has_words(body) else ""


def has_words(cells: bytes) -> bool:
    """Return whether cells hold letters that are no part of a number."""
    return _letter.search(_number.sub(b"", cells)) is not None


def without_base64(text: str) -> str:
    """Return a text in which runs of base64 are `[base64]`, with the same lines."""
    parts: list[str] = []
    done = start = 0
    while start + _SHORTEST <= len(text):
        blank = text.rfind(" ", start, start + _SHORTEST)
        if blank < 0:  # a run of base64 may stand before the next blank
            blank = text.find(" ", start + _SHORTEST)
            blank = len(text) if blank < 0 else blank
            parts += (text[done:start], _base64.sub(_replacement, text[start:blank]))
            done = blank
        start = blank + 1
    return "".join([*parts, text[done:]]) if parts else text


def _replacement(match: re.Match[str]) -> str:
    run = match[0]
    if not all(pattern.search(run) for pattern in (_upper, _lower, _digit)):
        return run
    return "[base64]" + "\n" * run.count("\n")
