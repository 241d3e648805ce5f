"""What the tools are called, what they are for and which arguments they take; and the same for people to install."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from types import NoneType
from typing import Any, Final, NamedTuple, get_args

from sleuth.surfaces.operations import Operation
from sleuth.types.request import adapter_of

MOST_RESULTS = 100
"""Lines and commits of one answer at most."""

ANSWER_TOKENS = 1_500
"""Of the answer to a search, unless the call says otherwise: the best hits with their text, the others by name."""

PAGE_TOKENS = 4_000
"""Of any other answer, unless the call says otherwise."""

LEAST_TOKENS = 200

INSTRUCTIONS = """Searches the documents and the code of one folder, named by indexed_root in every answer.
Start with search. The best results have their text, and more has other pieces of their file, each after its lines;
… stands for lines left out. fetch reads them by id, or by path:lines. definitions and references follow a name through
code; grep lists every matching line. path is a file or folder below indexed_root; at is a commit, branch or tag that
is indexed, by default the worktree. A cursor in an answer continues it: pass it back with the same arguments. indexing
says how much of the folder is covered yet. stale.files counts files that changed since they were indexed: read those
from disk."""


class ToolSchema(NamedTuple):
    """A tool as clients see it.

    Attributes:
        properties: of its arguments, JSON Schema.
        required: names of the arguments that each call gives.
        is_of_code: whether it is for those alone who may see code.
    """

    name: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: Sequence[str]
    is_of_code: bool = False

    @classmethod
    def of(cls, tool: Callable[..., Any], *, is_of_code: bool = False) -> ToolSchema:
        """Return the schema of a tool for its parameters after the call; its docstring is its description.

        The first argument, if any, is required. All but the search, which has one answer, give their results in pages.
        """
        _, _, *parameters = signature(tool, eval_str=True).parameters.values()
        properties: dict[str, dict[str, Any]] = {}
        for parameter in parameters:
            forms = [form for form in get_args(parameter.annotation) if form is not NoneType]
            is_optional = NoneType in get_args(parameter.annotation)
            properties[parameter.name] = adapter_of(
                forms[0] if is_optional else parameter.annotation
            ).json_schema()
        if tool.__name__ == "search":
            properties["max_tokens"] = {"type": "integer", "default": ANSWER_TOKENS}
        elif parameters:
            properties |= {"max_tokens": {"type": "integer"}, "cursor": {"type": "string"}}
        return cls(tool.__name__, _sentences(tool), properties, list(properties)[:1], is_of_code)

    @classmethod
    def of_operation(cls, operation: Operation) -> ToolSchema:
        """Return the schema of an operation of a package."""
        properties = {**operation.schema["properties"], "max_tokens": {"type": "integer"}}
        required, sentences = operation.schema.get("required", []), _sentences(operation.function)
        return cls(operation.name, sentences, properties, required)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _sentences(function: Callable[..., Any]) -> str:
    """Return the docstring of a function in one line."""
    return " ".join((function.__doc__ or "").split())


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
