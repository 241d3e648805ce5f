"""What the tools are called, what they are for, and which arguments they take."""

from __future__ import annotations

from typing import Any, NamedTuple

from sleuth.arguments import MOST_NAME
from sleuth.engine import SearchRequest

MOST_RESULTS = 100
"""Lines and commits of one answer at most."""

INSTRUCTIONS = """Searches the documents and the code of one folder, named by indexed_root in every answer.
Start with search; fetch what a result shows in part; definitions and references follow a name through code; grep
lists every matching line.
indexing, where it stands, says how much of the folder is covered yet, or why none is: answers grow from call to call.
stale.files counts files that changed since they were indexed: read those from disk; null if nobody knows. omitted
counts results that did not fit into max_tokens: pass cursor back, with the same arguments, for the next ones."""


class ToolSchema(NamedTuple):
    """A tool as clients see it.

    Attributes:
        properties: of its arguments, JSON Schema; the first one, if any, is required.
    """

    name: str
    title: str
    description: str
    properties: dict[str, dict[str, Any]]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.properties)[:1],
            "additionalProperties": False,
        }


_Properties = dict[str, dict[str, Any]]

_NAME = {"type": "string", "minLength": 1, "maxLength": MOST_NAME}
_PATHS = {
    "type": "array",
    "items": {"type": "string"},
    "description": 'Only these files and folders, as ["src", "docs/guide.md"].',
}
_AT: _Properties = {
    "at": {
        "type": "string",
        "description": "Commit, branch or tag that is indexed; default: the worktree as it is.",
    }
}
_PAGE: _Properties = {
    "max_tokens": {
        "type": "integer",
        "minimum": 200,
        "default": 4000,
        "description": "Most tokens of the answer; what does not fit is shortened, then left to the cursor.",
    },
    "cursor": {"type": "string", "description": "From the last answer: goes on where it ended."},
}


TOOLS = (
    ToolSchema(
        "search",
        "Search documents and code",
        "Find passages of documents and pieces of code that answer a question, contain words or define a name. "
        "Takes natural language, identifiers, error messages and stack traces. Returns the best first, with text, "
        "path and lines. grade says how well they fit: likely answers, may help, or nothing close.",
        {
            **SearchRequest.properties(),
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 5,
                "description": "Other wordings of the same question; the results of all are fused.",
            },
            "paths": _PATHS,
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "fetch",
        "Read a passage, file or lines",
        "Read the text of a result by its id, or of a file by its path, as src/app.py or src/app.py:10-40.",
        {
            "id": {"type": "string", "description": "An id from an answer, or a path with or without lines."},
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "definitions",
        "Go to definition",
        "Find where a class, function, method or constant is defined, with its code.",
        {
            "name": _NAME | {"description": "A name, or a dotted one such as TokenBucket.refill."},
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "references",
        "Find all references",
        "List every use of a name in code: calls, imports, subclasses. Each with its line, its role and the "
        "definition that is meant.",
        {
            "name": _NAME | {"description": "A name; a dotted one counts only uses of that definition."},
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "grep",
        "Find every line",
        "List every line of documents and code that matches a regular expression of RE2, and count them all: complete, "
        "also in code that is not indexed yet.",
        {
            "pattern": {
                "type": "string",
                "description": "As in def refill\\b; without lookaround.",
            },
            "fixed": {"type": "boolean", "default": False, "description": "The pattern is plain text."},
            "ignore_case": {
                "type": "boolean",
                "default": False,
                "description": "Upper and lower case are the same.",
            },
            "filter": {
                "type": "string",
                "description": 'Only lines in matching passages or code, as in "kind:class language:python".',
            },
            "paths": _PATHS,
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "history",
        "See why code changed",
        "List the commits that touched a file, some lines of it or a definition, newest first, with their messages.",
        {
            "name": {
                "type": "string",
                "description": "A path, a path with lines as src/app.py:10-40, or the name of a definition.",
            },
            **_AT,
            **_PAGE,
        },
    ),
    ToolSchema(
        "status",
        "See what is indexed",
        "Tell which folder, commits and documents are indexed, and which files changed since.",
        {},
    ),
)
