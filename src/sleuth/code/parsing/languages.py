"""The languages that files can be in, told by their names and first lines.

Each language is one entry: the kinds of its files, and its grammar where it has one (a wheel of its own, loaded when
first needed). Its queries are in `queries/NAME`; `grammars.py` explains their captures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sleuth.arguments import nearest_name
from sleuth.errors import ArgumentError
from sleuth.files.formats import BY_EXTENSION, kind_of_first_line, kind_of_name


@dataclass(frozen=True, slots=True)
class Language:
    """A language that files can be in.

    Attributes:
        name: as filters and results spell it.
        kinds: of files that are in it, as `sleuth.files.kinds` spells them; the name itself where empty.
        package: the grammar's package, or "" where text is cut by its layout alone.
        extra: of Sleuth that brings the package; "" where every installation has it.
        entry: the function of that package that returns the grammar.
        comment: what opens a line comment.
    """

    name: str
    kinds: tuple[str, ...] = ()
    package: str = ""
    extra: str = ""
    entry: str = "language"
    comment: str = "//"


LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            package="tree_sitter_python",
            comment="#",
        ),
        Language(
            "javascript",
            package="tree_sitter_javascript",
        ),
        Language(
            "typescript",
            package="tree_sitter_typescript",
            entry="language_typescript",
        ),
        Language(
            "tsx",
            package="tree_sitter_typescript",
            entry="language_tsx",
        ),
        Language(
            "go",
            package="tree_sitter_go",
        ),
        Language("rust", package="tree_sitter_rust"),
        Language("java", package="tree_sitter_java"),
        Language("c", package="tree_sitter_c"),
        Language(
            "cpp",
            ("cpp", "cuda"),
            package="tree_sitter_cpp",
        ),
        Language("csharp", package="tree_sitter_c_sharp", extra="code"),
        Language("ruby", package="tree_sitter_ruby", comment="#"),
        Language("php", package="tree_sitter_php", extra="code", entry="language_php"),
        Language("kotlin", package="tree_sitter_kotlin", extra="code"),
        Language("scala", package="tree_sitter_scala", extra="code"),
        Language("bash", ("shell",), package="tree_sitter_bash", comment="#"),
        Language("markdown", comment=""),
        Language("rst", comment=".."),
        Language("text", ("text", "asciidoc"), comment=""),
        Language("json", ("json", "jsonc"), comment=""),
        Language("yaml", comment="#"),
        Language("toml", comment="#"),
        Language("ini", comment="#"),
        Language("xml", ("xml", "svg"), comment=""),
        Language("html", ("html", "template"), package="tree_sitter_html", extra="code", comment=""),
        Language("css", ("css", "scss"), package="tree_sitter_css", extra="code", comment=""),
        Language("sql", package="tree_sitter_sql", extra="code", comment="--"),
        Language("lua", package="tree_sitter_lua", extra="code", comment="--"),
        Language("swift", package="tree_sitter_swift", extra="code"),
        Language("dart", package="tree_sitter_dart", extra="code"),
        Language("elixir", package="tree_sitter_elixir", extra="code", comment="#"),
        Language("perl", comment="#"),
        Language("r", comment="#"),
        Language("haskell", comment="--"),
        Language("hcl", ("terraform",), package="tree_sitter_hcl", extra="code", comment="#"),
        Language("protobuf"),
        Language("graphql", package="tree_sitter_graphql", extra="code", comment="#"),
        Language("make", ("makefile",), comment="#"),
        Language("docker", ("dockerfile",), package="tree_sitter_containerfile", extra="code", comment="#"),
        Language("cmake", comment="#"),
        Language("gradle", ("groovy",)),
        Language("zig"),
        Language("powershell", comment="#"),
        Language(
            "vue", package="tree_sitter_html", extra="code"
        ),  # new ones come last: files keep the number
        Language("svelte", package="tree_sitter_html", extra="code"),
    )
}

SCRIPTS: Final = frozenset({"javascript", "typescript", "tsx", "html", "vue", "svelte"})
"""Languages whose definitions and imports are those of JavaScript."""

_BY_KIND = {kind: language for language in LANGUAGES.values() for kind in language.kinds or (language.name,)}
_ALIASES = {
    "c++": "cpp",
    "c#": "csharp",
    "golang": "go",
    "node": "javascript",
    "docs": "markdown",
}


DIALECTS: Final = frozenset({".jsx"})
"""Extensions of a language's files that a filter may mean alone."""


def language_of(path: str) -> Language | None:
    """Return the language of a file by its name; None for an unknown name."""
    return _BY_KIND.get(kind_of_name(path))


def language_of_first_line(head: bytes) -> Language | None:
    """Return the language that a `#!` line names; None where there is no such line."""
    return _BY_KIND.get(kind_of_first_line(head))


def language_named(name: str) -> Language | None:
    """Return the language that a kernel of notebooks calls itself; None for an unknown name."""
    key = name.lower()
    return LANGUAGES.get(_ALIASES.get(key, key)) or (LANGUAGES["python"] if key == "ipython" else None)


def languages_named(name: str) -> list[str]:
    """Return what a filter value means: languages, "python", "py" and ".py" alike, or one of `DIALECTS`.

    Raises:
        ArgumentError: no language has this name or extension; lists the names.
    """
    key = name.lower().lstrip(".")
    key = _ALIASES.get(key, key)
    if f".{key}" in DIALECTS:
        return [f".{key}"]
    if key == "typescript":
        return ["typescript", "tsx"]
    if key in LANGUAGES:
        return [key]
    if language := _BY_KIND.get(key) or _BY_KIND.get(BY_EXTENSION.get(f".{key}", "")):
        return [language.name]
    hint = nearest_name(key, LANGUAGES)
    raise ArgumentError(
        f"language must be one of {', '.join(sorted(LANGUAGES))} or an extension, got {name!r}{hint}"
    )
