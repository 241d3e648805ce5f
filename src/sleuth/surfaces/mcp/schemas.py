"""What the tools are called, what they are for and which arguments they take; and the same for people to install."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sleuth.arguments import MOST_NAME

MOST_RESULTS = 100
"""Lines and commits of one answer at most."""

ANSWER_TOKENS = 1_500
"""Of the answer to a search, unless the call says otherwise: the best hits with their text, the others by name."""

PAGE_TOKENS = 4_000
"""Of any other answer, unless the call says otherwise."""

LEAST_TOKENS = 200

INSTRUCTIONS = """Searches the documents and the code of one folder, named by indexed_root in every answer.
Start with search. The best results have their text; fetch reads others, and more lines, by id. definitions and
references follow a name through code; grep lists every matching line. path is a file or folder below indexed_root;
at is a commit, branch or tag that is indexed, by default the worktree. A cursor in an answer continues it: pass it
back with the same arguments. indexing says how much of the folder is covered yet. stale.files counts files that
changed since they were indexed: read those from disk."""


class ToolSchema(NamedTuple):
    """A tool as clients see it.

    Attributes:
        properties: of its arguments, JSON Schema; the first one, if any, is required.
        is_of_code: whether it is for those alone who may see code.
    """

    name: str
    description: str
    properties: dict[str, dict[str, Any]]
    is_of_code: bool = False

    @property
    def required(self) -> list[str]:
        """The arguments that each call gives."""
        return list(self.properties)[:1]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": False,
        }


_Properties = dict[str, dict[str, Any]]

_TEXT: dict[str, Any] = {"type": "string"}
_SWITCH: dict[str, Any] = {"type": "boolean"}
_NAME: dict[str, Any] = {**_TEXT, "maxLength": MOST_NAME}
_PAGE: _Properties = {"at": _TEXT, "max_tokens": {"type": "integer"}, "cursor": _TEXT}

TOOLS = (
    ToolSchema(
        "search",
        "Find what answers a question, an error message or a stack trace, or defines a name, in documents and code. "
        "Best first; grade says how well they fit.",
        {
            "query": _TEXT,
            "sources": {
                "type": "array",
                "items": {"enum": ["docs", "code"]},
            },
            "path": {**_TEXT, "description": "File or folder."},
            "kind": {**_TEXT, "description": "Of code: function, method, class."},
            "k": {"type": "integer"},
            "max_tokens": {"type": "integer", "default": ANSWER_TOKENS},
        },
    ),
    ToolSchema(
        "fetch",
        "Read a result by its id, or a file by its path: src/app.py, src/app.py:10-40.",
        {"id": _TEXT, **_PAGE},
    ),
    ToolSchema(
        "definitions",
        "Find where a class, function, method or constant is defined, with its code: TokenBucket.refill.",
        {"name": _NAME, **_PAGE},
        is_of_code=True,
    ),
    ToolSchema(
        "references",
        "List every use of a name in code, with its role and the definition that is meant.",
        {"name": _NAME, **_PAGE},
        is_of_code=True,
    ),
    ToolSchema(
        "grep",
        "List and count every line that matches a regular expression of RE2, also in code that is not indexed yet.",
        {
            "pattern": _TEXT,
            "fixed": {**_SWITCH, "description": "The pattern is plain text."},
            "ignore_case": _SWITCH,
            "path": _TEXT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "history",
        "List the commits that touched a file, lines of it (src/app.py:10-40) or a definition, newest first.",
        {"name": _TEXT, **_PAGE},
        is_of_code=True,
    ),
    ToolSchema("status", "Tell what is indexed, and which files changed since.", {}),
)

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
