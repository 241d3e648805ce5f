"""The languages that files can be in, told by their names and first lines.

Each language of the core is one entry here, and each of a plugin a row of the plugins' table: the kinds of its files,
and its grammar where it has one (a wheel of its own, loaded when first needed).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from sleuth.arguments import nearest_name
from sleuth.code.parsing import imports
from sleuth.code.parsing.language import Language, Trait
from sleuth.errors import ArgumentError
from sleuth.extensions import own_extensions
from sleuth.files.formats import BY_EXTENSION, kind_of_first_line, kind_of_name

_PASSING: Final = """
unwrap expect unwrap_or unwrap_or_default unwrap_or_else clone cloned copied to_owned as_ref as_mut as_deref borrow
borrow_mut lock read write get_mut into_inner iter iter_mut into_iter ok ok_or ok_or_else map_err
"""
_MODULES: Final = "sleuth.code.graph.modules"
_script = partial(
    Language, family="javascript", imports=imports.javascript_imports, files=f"{_MODULES}:script_files"
)
_including = partial(Language, imports=imports.include_imports, files=f"{_MODULES}:included_files")
_page = partial(_script, package="tree_sitter_html", extra="code", imports=imports.markup_imports)
_OWN: Final = (
    Language(
        "python",
        package="tree_sitter_python",
        comment="#",
        imports=imports.python_imports,
        files=f"{_MODULES}:python_files",
        traits=("closed", "capitals"),
        rules="sleuth.code.graph.python:PythonRules",
    ),
    _script("javascript", package="tree_sitter_javascript", aliases=("node",)),
    _script("typescript", package="tree_sitter_typescript", entry="language_typescript"),
    _script("tsx", package="tree_sitter_typescript", entry="language_tsx"),
    Language(
        "go",
        package="tree_sitter_go",
        aliases=("golang",),
        imports=imports.go_imports,
        files=f"{_MODULES}:go_files",
        traits=("shared package", "closed", "types apart"),
    ),
    Language(
        "rust",
        package="tree_sitter_rust",
        imports=imports.rust_imports,
        files=f"{_MODULES}:rust_files",
        traits=("closed", "types apart"),
        passing=frozenset(_PASSING.split()),
    ),
    _including("c", package="tree_sitter_c", traits=("types apart", "preprocessor")),
    _including(
        "cpp",
        ("cpp", "cuda"),
        package="tree_sitter_cpp",
        aliases=("c++",),
        family="c",
        traits=("bare members", "types apart", "preprocessor"),
    ),
    Language(
        "ruby",
        package="tree_sitter_ruby",
        comment="#",
        imports=imports.ruby_imports,
        files=f"{_MODULES}:ruby_files",
        traits=("bare members", "calls apart"),
    ),
    _including("bash", ("shell",), package="tree_sitter_bash", comment="#", imports=imports.bash_imports),
    Language("markdown", comment="", aliases=("docs",)),
    Language("rst", comment=".."),
    Language("text", ("text", "asciidoc"), comment=""),
    Language("json", ("json", "jsonc"), comment=""),
    Language("yaml", comment="#"),
    Language("toml", comment="#"),
    Language("ini", comment="#"),
    Language("xml", ("xml", "svg"), comment=""),
    _page("html", ("html", "template"), comment=""),
    Language(
        "css",
        ("css", "scss"),
        package="tree_sitter_css",
        extra="code",
        comment="",
        imports=imports.css_imports,
        files=f"{_MODULES}:css_files",
    ),
    Language("perl", comment="#"),
    Language("r", comment="#"),
    Language("haskell", comment="--"),
    Language("protobuf"),
    Language("make", ("makefile",), comment="#"),
    Language("cmake", comment="#"),
    Language("gradle", ("groovy",)),
    Language("zig"),
    Language("powershell", comment="#"),
    _page("vue"),
    _page("svelte"),
)
LANGUAGES: Final[dict[str, Language]] = {
    language.name: language
    for language in (*_OWN, *(plugin.load() for plugin in own_extensions("languages").values()))
}
_PLAIN: Final = Language("")


def ways_of(name: str) -> Language:
    """Return a language; for the name of a plugin that is not there, one without a grammar and any ways."""
    return LANGUAGES.get(name, _PLAIN)


def languages_with(trait: Trait) -> frozenset[str]:
    """Return the names of the languages with a trait."""
    return frozenset(name for name, language in LANGUAGES.items() if trait in language.traits)


SCRIPTS: Final = frozenset(name for name, language in LANGUAGES.items() if language.family == "javascript")
"""Languages whose definitions and imports are those of JavaScript."""

_BY_KIND = {kind: language for language in LANGUAGES.values() for kind in language.kinds or (language.name,)}
_ALIASES = {alias: name for name, language in LANGUAGES.items() for alias in language.aliases}


DIALECTS: Final = frozenset({".jsx"})
"""Extensions of a language's files that a filter may mean alone."""


def language_of(path: str, head: bytes = b"") -> Language | None:
    """Return the language of a file by its name, or else by a `#!` line at its head; None for an unknown one."""
    return _BY_KIND.get(kind_of_name(path)) or _BY_KIND.get(kind_of_first_line(head))


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
