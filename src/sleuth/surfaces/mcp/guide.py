"""Instructions for agents: when to use which tool, as a section of a file and as a skill."""

from __future__ import annotations

from typing import Final

ADVICE: Final = """\
The MCP server `sleuth` searches this repository. Its index is brought up to date before each answer.

- A question, a symptom, an error message or a stack trace: `search`.
- Where a name is defined: `definitions`. Who uses it, before you change it: `references`.
- Why code is as it is: `history` of a file, of lines or of a definition.
- A result without its text, or lines of a file: `fetch` with its id or `src/app.py:10-40`.
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

SECTION: Final = f"## Searching this repository\n\n{ADVICE}"
