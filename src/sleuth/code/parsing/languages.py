"""Which language is this file, and where do its definitions and references stand in the syntax tree?

Each language is one entry: its file names, its grammar (a wheel of its own, loaded when first needed) and a query in
tree-sitter's query language. The captures of a query have one meaning in every language:

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

if TYPE_CHECKING:
    from sleuth.code.parsing.syntax import Grammar


@dataclass(frozen=True, slots=True)
class Language:
    """A language that files can be in.

    Attributes:
        name: as filters and results spell it.
        extensions: of its files, lower case, without the dot.
        filenames: whole names of files that have no telling extension.
        package: the grammar's package, or "" where text is cut by its layout alone.
        entry: the function of that package that returns the grammar.
        wrappers: node types around a definition that belong to it (decorators, `export`, `template`).
        comment: what opens a line comment.
    """

    name: str
    extensions: tuple[str, ...]
    filenames: tuple[str, ...] = ()
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
            ("py", "pyi", "pyw", "pyx", "pxd"),
            ("SConstruct", "wscript"),
            "tree_sitter_python",
            wrappers=frozenset({"decorated_definition", "expression_statement"}),
            comment="#",
        ),
        Language(
            "javascript",
            ("js", "jsx", "mjs", "cjs"),
            package="tree_sitter_javascript",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "typescript",
            ("ts", "mts", "cts"),
            package="tree_sitter_typescript",
            entry="language_typescript",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "tsx",
            ("tsx",),
            package="tree_sitter_typescript",
            entry="language_tsx",
            wrappers=_EXPORT | {"expression_statement"},
        ),
        Language(
            "go",
            ("go",),
            package="tree_sitter_go",
            wrappers=frozenset({"type_declaration", "const_declaration", "var_declaration"}),
        ),
        Language("rust", ("rs",), package="tree_sitter_rust"),
        Language("java", ("java",), package="tree_sitter_java"),
        Language("c", ("c", "h"), package="tree_sitter_c", wrappers=frozenset({"type_definition"})),
        Language(
            "cpp",
            ("cc", "cpp", "cxx", "hpp", "hh", "hxx", "cu", "cuh", "ipp"),
            package="tree_sitter_cpp",
            wrappers=frozenset({"template_declaration", "type_definition"}),
        ),
        Language("csharp", ("cs",), package="tree_sitter_c_sharp"),
        Language(
            "ruby",
            ("rb", "rake", "gemspec"),
            ("Rakefile", "Gemfile"),
            "tree_sitter_ruby",
            comment="#",
        ),
        Language("php", ("php",), package="tree_sitter_php", entry="language_php"),
        Language("kotlin", ("kt", "kts"), package="tree_sitter_kotlin"),
        Language("scala", ("scala", "sc"), package="tree_sitter_scala"),
        Language("bash", ("sh", "bash"), package="tree_sitter_bash", comment="#"),
        Language("markdown", ("md", "markdown", "mdx"), comment=""),
        Language("rst", ("rst",), comment=".."),
        Language("text", ("txt", "adoc"), ("README", "LICENSE", "CHANGELOG", "NOTICE"), comment=""),
        Language("json", ("json", "jsonc", "json5"), comment=""),
        Language("yaml", ("yaml", "yml"), comment="#"),
        Language("toml", ("toml",), comment="#"),
        Language("ini", ("ini", "cfg", "conf", "properties", "env"), comment="#"),
        Language("xml", ("xml", "xsd", "xsl", "svg", "csproj"), comment=""),
        Language("html", ("html", "htm", "erb", "jinja", "j2", "vue", "svelte"), comment=""),
        Language("css", ("css", "scss", "sass", "less"), comment=""),
        Language("sql", ("sql",), comment="--"),
        Language("lua", ("lua",), comment="--"),
        Language("swift", ("swift",)),
        Language("dart", ("dart",)),
        Language("elixir", ("ex", "exs"), comment="#"),
        Language("perl", ("pl", "pm"), comment="#"),
        Language("r", ("r",), comment="#"),
        Language("haskell", ("hs",), comment="--"),
        Language("hcl", ("tf", "hcl", "tfvars"), comment="#"),
        Language("protobuf", ("proto",)),
        Language("graphql", ("graphql", "gql"), comment="#"),
        Language("make", ("mk",), ("Makefile", "GNUmakefile"), comment="#"),
        Language("docker", ("dockerfile",), ("Dockerfile",), comment="#"),
        Language("cmake", ("cmake",), ("CMakeLists.txt",), comment="#"),
        Language("gradle", ("gradle", "groovy")),
        Language("zig", ("zig",)),
        Language("powershell", ("ps1", "psm1"), comment="#"),
    )
}

_BY_EXTENSION = {ext: language for language in LANGUAGES.values() for ext in language.extensions}
_BY_FILENAME = {name: language for language in LANGUAGES.values() for name in language.filenames}
_ALIASES = {
    "c++": "cpp",
    "c#": "csharp",
    "golang": "go",
    "shell": "bash",
    "node": "javascript",
    "docs": "markdown",
}


def language_of(path: str) -> Language | None:
    """The language of a file by its name; None where the name says nothing."""
    filename = path.rpartition("/")[2]
    found = _BY_FILENAME.get(filename)
    if found is None and "." in filename:
        found = _BY_EXTENSION.get(filename.rpartition(".")[2].lower())
    return found


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
    if key in _BY_EXTENSION:
        return [_BY_EXTENSION[key].name]
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
