"""Instructions for agents: when to use which tool, as a section of a file and as a skill."""

from __future__ import annotations

from typing import Final

_BEGIN: Final = "<!-- sleuth: begin -->\n"
_END: Final = "<!-- sleuth: end -->\n"

ADVICE: Final = """\
The MCP server `sleuth` searches this repository. Its index is brought up to date before each answer.

- A question, a symptom, an error message or a stack trace: `search`. Send other wordings of it as `queries`.
- Where a name is defined: `definitions`. Who uses it, before you change it: `references`.
- Why code is as it is: `history` of a file, of lines or of a definition.
- An answer that was cut: the same call with its `cursor`. Lines of a file: `fetch` with `src/app.py:10-40`.
- `indexing` in an answer says that the index is not complete yet: ask again, or read the files it names.
- Every line with a text or a regular expression, counted: `grep`.
"""

SKILL: Final = f"""\
---
name: sleuth
description: Search this repository by meaning and by name. Use it to find where something is done, what uses a \
definition, and why code changed, before reading whole files.
---

{ADVICE}"""


def with_section(text: str | None) -> str:
    """Return a file with the advice at its end; one that has it gets the present one in its place."""
    section = f"{_BEGIN}## Searching this repository\n\n{ADVICE}{_END}"
    text = text or ""
    start, end = text.find(_BEGIN), text.find(_END)
    if 0 <= start < end:
        return text[:start] + section + text[end + len(_END) :]
    return f"{text}\n{section}" if text else section


def without_section(text: str | None) -> str | None:
    """Remove the section that `with_section` added, with the newline before it.

    Returns None if nothing is left or there was no file, and the text unchanged if it has no section.
    """
    if text is None:
        return None
    start, end = text.find(_BEGIN), text.find(_END)
    if not 0 <= start < end:
        return text
    rest = text[: max(start - 1, 0)] + text[end + len(_END) :]
    return rest or None
