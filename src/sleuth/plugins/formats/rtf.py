"""Extracts text from RTF files, titled by the title in their header."""

from __future__ import annotations

import re
from collections.abc import Callable

from sleuth.ingest.extraction import Extracted, ExtractionError, name_columns, within

_row = re.compile(r"\\trowd\b(?:.*?(\\row)\b|.*)", re.DOTALL)
_paragraph = re.compile(r"\\par(?![a-z])")
_footnote = re.compile(r"\{\\footnote(?![a-z])")
"""striprtf leaves notes out; as groups of plain text they stand where they are referred to."""
_picture = re.compile(r"\{(?:\\\*)?\\(?:shppict|nonshppict|mmathPict|pict)(?![a-zA-Z])")
_brace = re.compile(r"\\[\s\S]|[{}]")
_title = re.compile(r"\{\\title ([^{}]{1,500})\}")


def extract_rtf(data: bytes, limit: int) -> Extracted:
    """Extract the text of the file; rows of tables are rows of Markdown."""
    from striprtf import striprtf

    plain: Callable[..., str] = striprtf.rtf_to_text
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ExtractionError("not readable as RTF: it does not start with {\\rtf")
    source = _footnote.sub(r"{\\plain ", _without_pictures(data.decode("latin-1")))
    try:
        # The paragraphs of a cell would break its row into lines.
        text = plain(
            _row.sub(lambda match: _paragraph.sub(r"\\~ ", match[0]) if match[1] else match[0], source),
            errors="replace",
        )
    except (ValueError, IndexError, LookupError) as error:
        raise ExtractionError(f"not readable as RTF: {error!r}") from error
    text = text.replace("\0", "").strip()
    if not text:
        raise ExtractionError("no text in it")
    match = _title.search(source)
    title = plain(f"{{\\rtf1\\ansi {match[1]}}}", errors="replace").strip() if match else ""
    text = name_columns(_tables(text)) if "\\row" in source else text
    return Extracted(within(text.encode("utf-8", "replace").decode(), limit), title)


def _without_pictures(source: str) -> str:
    """Return the file without groups that hold pictures: striprtf would end at some, as those of formulas."""
    parts = []
    place = 0
    while picture := _picture.search(source, place):
        parts.append(source[place : picture.start()])
        place, depth = len(source), 0
        for sign in _brace.finditer(source, picture.start()):
            depth += (sign[0] == "{") - (sign[0] == "}")
            if not depth:
                place = sign.end()
                break
    return "".join([*parts, source[place:]])


def _tables(text: str) -> str:
    """Return the text with lines such as `Ann|Room 12|`, which are rows, as tables of Markdown."""
    lines: list[str] = []
    in_table = False
    for line in text.split("\n"):
        if line.count("|") > 1 and line.rstrip().endswith("|"):
            cells = [cell.strip() for cell in line.rstrip()[:-1].replace("\xa0", " ").split("|")]
            lines += [] if in_table else [""]
            lines.append(f"| {' | '.join(cells)} |")
            lines += [] if in_table else [f"|{'---|' * len(cells)}"]
            in_table = True
        else:
            lines += [""] if in_table and line.strip() else []
            lines.append(line)
            in_table = False
    return "\n".join(lines)
