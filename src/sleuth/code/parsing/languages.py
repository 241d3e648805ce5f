"""Which language is this file, and where do its definitions and references stand in the syntax tree?

Each language is one entry: the kinds of its files, its grammar (a wheel of its own, loaded when first needed) and a
query in tree-sitter's query language. The captures of a query have one meaning in every language:

- `def.<kind>`: the node of a definition; its name is its field `name`, or the first `name` captured in it. Constants,
  attributes and types are as many as there are names captured.
- `ref.call`, `ref.new`, `ref.base`, `ref.name`: a name that is called, instantiated, inherited from, or mentioned.
- `import`, `require`: a whole import statement, read by `sleuth.code.parsing.imports`.
- `doc`: a string that documents the definition around it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from sleuth.code.parsing.queries import CAPTURES, QUERIES
from sleuth.errors import ArgumentError
from sleuth.files.kinds import BY_EXTENSION, kind_of_first_line, kind_of_name

if TYPE_CHECKING:
    from sleuth.code.parsing.syntax import Grammar


@dataclass(frozen=True, slots=True)
class Language:
    """A language that files can be in.

    Attributes:
        name: as filters and results spell it.
        kinds: of files that are in it, as `sleuth.files.kinds` spells them; the name itself where empty.
        package: the grammar's package, or "" where text is cut by its layout alone.
        entry: the function of that package that returns the grammar.
        wrappers: node types around a definition that belong to it (decorators, `export`, `template`).
        comment: what opens a line comment.
    """

    name: str
    kinds: tuple[str, ...] = ()
    package: str = ""
    entry: str = "language"
    wrappers: frozenset[str] = frozenset()
    comment: str = "//"


_EXPORT = frozenset(
    {"export_statement", "lexical_declaration", "variable_declaration", "ambient_declaration"}
)

LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            package="tree_sitter_python",
            wrappers=frozenset({"decorated_definition", "expression_statement"}),
            comment="#",
        ),
        Language(
            "javascript",
            package="tree_sitter_javascript",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "typescript",
            package="tree_sitter_typescript",
            entry="language_typescript",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "tsx",
            package="tree_sitter_typescript",
            entry="language_tsx",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "go",
            package="tree_sitter_go",
            wrappers=frozenset({"type_declaration", "const_declaration", "var_declaration"}),
        ),
        Language("rust", package="tree_sitter_rust"),
        Language("java", package="tree_sitter_java"),
        Language("c", package="tree_sitter_c", wrappers=frozenset({"type_definition"})),
        Language(
            "cpp",
            ("cpp", "cuda"),
            package="tree_sitter_cpp",
            wrappers=frozenset({"template_declaration", "type_definition"}),
        ),
        Language("csharp", package="tree_sitter_c_sharp"),
        Language("ruby", package="tree_sitter_ruby", comment="#"),
        Language("php", package="tree_sitter_php", entry="language_php"),
        Language("kotlin", package="tree_sitter_kotlin"),
        Language("scala", package="tree_sitter_scala"),
        Language("bash", ("shell",), package="tree_sitter_bash", comment="#"),
        Language("markdown", comment=""),
        Language("rst", comment=".."),
        Language("text", ("text", "asciidoc"), comment=""),
        Language("json", ("json", "jsonc"), comment=""),
        Language("yaml", comment="#"),
        Language("toml", comment="#"),
        Language("ini", comment="#"),
        Language("xml", comment=""),
        Language("html", ("html", "vue", "svelte", "template"), comment=""),
        Language("css", ("css", "scss"), comment=""),
        Language("sql", comment="--"),
        Language("lua", comment="--"),
        Language("swift"),
        Language("dart"),
        Language("elixir", comment="#"),
        Language("perl", comment="#"),
        Language("r", comment="#"),
        Language("haskell", comment="--"),
        Language("hcl", ("terraform",), comment="#"),
        Language("protobuf"),
        Language("graphql", comment="#"),
        Language("make", ("makefile",), comment="#"),
        Language("docker", ("dockerfile",), comment="#"),
        Language("cmake", comment="#"),
        Language("gradle", ("groovy",)),
        Language("zig"),
        Language("powershell", comment="#"),
    )
}

_BY_KIND = {kind: language for language in LANGUAGES.values() for kind in language.kinds or (language.name,)}
_ALIASES = {
    "c++": "cpp",
    "c#": "csharp",
    "golang": "go",
    "node": "javascript",
    "docs": "markdown",
}


def language_of(path: str) -> Language | None:
    """The language of a file by its name; None where the name says nothing."""
    return _BY_KIND.get(kind_of_name(path))


def language_of_first_line(head: bytes) -> Language | None:
    """The language that a `#!` line names; None where there is no such line."""
    return _BY_KIND.get(kind_of_first_line(head))


def languages_named(name: str) -> list[str]:
    """The languages that a filter value means: "python", "py" and ".py" alike.

    Raises:
        ArgumentError: no language has this name or extension; lists the names.
    """
    key = name.lower().lstrip(".")
    key = _ALIASES.get(key, key)
    if key == "typescript":
        return ["typescript", "tsx"]
    if key in LANGUAGES:
        return [key]
    if language := _BY_KIND.get(key) or _BY_KIND.get(BY_EXTENSION.get(f".{key}", "")):
        return [language.name]
    raise ArgumentError(
        f"language must be one of {', '.join(sorted(LANGUAGES))} or an extension, got {name!r}"
    )


_FACTS = {
    "call": 4, "method_invocation": 4, "member_call_expression": 4, "scoped_call_expression": 4,
    "function_definition": 8, "companion_object": 16, "reference_declarator": 32, "call_expression": 64,
    "jsx_opening_element": 128, "jsx_self_closing_element": 128, "operator_cast": 256,
    "file_scoped_namespace_declaration": 512, "command_name": 1024,
}  # fmt: skip
"""What symbols are for `extract.h`, as bits; 1 for wrappers, 2 for what may stand beside the wrapped."""


@cache
def grammar(name: str) -> Grammar:
    """The grammar of a language that has one, with its patterns. Safe to share between threads."""
    import numpy as np

    from sleuth.code.parsing.patterns import compile_patterns, read_patterns
    from sleuth.code.parsing.syntax import Grammar

    language = LANGUAGES[name]
    made = Grammar(getattr(importlib.import_module(language.package), language.entry)())
    steps = compile_patterns(read_patterns(QUERIES[name]), made.symbol, made.field, CAPTURES)
    facts = [
        _FACTS.get(symbol, 0)
        | (symbol in language.wrappers)
        | 2 * symbol.endswith(("_spec", "declarator", "_declaration", "type_alias"))
        for symbol in made.symbols()
    ]
    made.give(
        np.array(steps.rows, np.int32),
        np.array(steps.starts, np.int32),
        list(steps.words),
        np.array(facts, np.uint16),
        comment=language.comment,
        capitals=name in ("python", "kotlin", "scala"),
        ruby=name == "ruby",
        receivers=name == "go",
    )
    return made
