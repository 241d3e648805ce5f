"""Grammars of languages with their queries, loaded when a file first needs them.

The queries of a language are files of its plugin's folder, or of `queries/LANGUAGE`, in tree-sitter's query language:
`definitions.scm`, `references.scm`, `bindings.scm`, `imports.scm`, and `injections.scm` where a file can hold parts in
other languages. A first line `; inherits: ecma, jsx` puts the queries of other folders before them.

The captures have one meaning in every language:

- `@definition.KIND`: the node of a definition; `@name` is its name and `@scope` what the name belongs to, such as a
  receiver. Where C hides the name, `@declarator` is what it is inside of. `@body` is where its signature ends. After
  `(#set! reaches "end of file")` the rest of the file belongs to the definition.
- `@wrapper` around `@wrapped`: what belongs to a definition, such as decorators or `export`.
- `@doc`: a string that documents its enclosing definition.
- `@reference.call`, `.instantiation`, `.inheritance`, `.type`, `.value`: a use of `@name`, which follows
  `@qualifier`. `.mention`, a name that may be a variable, `.elsewhere` and `.quoted` are decided by
  `sleuth.code.parsing.parse`.
- `@binding.variable`, `.element`, `.member`, `.assigned`, `.outer`, `.argument`, `.generic`, `.part`: `@name` gets a
  value; `kinds.BINDINGS` explains the kinds. `@type` is its declared type. `@value` is what it is assigned, or the
  collection of an element. On the name of a definition, `@type` is what a function returns or a field holds.
- `@import`: a whole import statement, read by `sleuth.code.parsing.imports`.
- `@injection.LANGUAGE`: a part in another language, such as a script of a page; `none` is a language that is not read.
  Of several patterns that find a part, the last one counts.

A capture whose name begins with `_` serves the predicates of its pattern.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.kinds import BINDING_NUMBERS, KINDS, ROLE_NUMBERS
from sleuth.code.parsing.languages import LANGUAGES, ways_of
from sleuth.errors import CodeError, MissingPackageError

if TYPE_CHECKING:
    import tree_sitter

PURPOSES: Final = ("definitions", "references", "bindings", "imports", "injections")
INJECTED: Final = ("javascript", "typescript", "tsx", "css", "none")
"""What a part of a file can be written in."""
_QUERIES: Final = Path(__file__).parent / "queries"
_INHERITS: Final = re.compile(r"; inherits: ([\w, ]+)\n")
_CAPTURE: Final = re.compile(r"@([\w.]+)")
_SUBJECTS: Final = (
    "import", "doc", "wrapper", *(f"definition.{kind}" for kind in KINDS), *ROLE_NUMBERS, *BINDING_NUMBERS,
    *(f"injection.{name}" for name in INJECTED),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern of a query.

    Attributes:
        subject: the capture that says what it finds, such as `definition.class` or `import`.
        group: its first word; `kind` is the rest, or "".
        to_the_end: whether the rest of the file belongs to the definition.
    """

    subject: str
    group: str
    kind: str
    to_the_end: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language that files can be parsed in. Safe to share between threads.

    Attributes:
        name: in `LANGUAGES`.
        query: of all purposes.
        patterns: of the query, by number.
        roles: by pattern the number of the role of the uses that it finds, -1 where it finds something else;
            shape (patterns,).
        bindings: by pattern the number of the kind of the bindings that it finds, or -1; shape (patterns,).
    """

    name: str
    language: tree_sitter.Language
    query: tree_sitter.Query
    patterns: tuple[Pattern, ...]
    roles: NDArray[np.int32]
    bindings: NDArray[np.int32]


@cache
def has_grammar(name: str) -> bool:
    """Return whether the grammar of a language that has one is installed."""
    return find_spec(LANGUAGES[name].package) is not None


@cache
def grammar(name: str) -> Grammar:
    """Return the grammar of a language that has one.

    Raises:
        CodeError: the installed grammar does not fit the queries, or tree-sitter does not read it.
        MissingPackageError: the grammar is not installed.
    """
    import tree_sitter

    package = LANGUAGES[name].package
    if not has_grammar(name):
        raise MissingPackageError(package.replace("_", "-"), LANGUAGES[name].extra, f"parsing {name}")
    entry = getattr(importlib.import_module(package), LANGUAGES[name].entry)
    text = "".join(query_text(name, purpose) for purpose in PURPOSES)
    try:
        language = tree_sitter.Language(entry())
        query = tree_sitter.Query(language, text)
    except ValueError as error:
        installed = package.replace("_", "-")
        raise CodeError(
            f"the installed {installed} does not fit the queries for {name} ({error}); "
            f"install the one this version is made for: pip install --upgrade sleuth {installed}"
        ) from error
    patterns = tuple(_pattern(query, number, text) for number in range(query.pattern_count))
    for subject in {pattern.subject for pattern in patterns} & (ROLE_NUMBERS | BINDING_NUMBERS).keys():
        # The pattern's number says it; a node for each use would cost time.
        query.disable_capture(subject)
    roles, bindings = (
        np.array([numbers.get(pattern.subject, -1) for pattern in patterns], np.int32)
        for numbers in (ROLE_NUMBERS, BINDING_NUMBERS)
    )
    return Grammar(name, language, query, patterns, roles, bindings)


def query_text(language: str, purpose: str) -> str:
    """Return the query of a language for a purpose, with those it inherits before it, or ""."""
    path = (ways_of(language).queries or _QUERIES / language) / f"{purpose}.scm"
    if not path.is_file():
        return ""
    text = path.read_text("utf-8")
    inherits_match = _INHERITS.match(text)
    names = inherits_match[1].split(",") if inherits_match else ()
    return "".join(query_text(name.strip(), purpose) for name in names) + text


def _pattern(query: tree_sitter.Query, number: int, text: str) -> Pattern:
    source = text.encode()[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
    captures = _CAPTURE.findall(re.sub(r"(?m);.*$", "", source.decode()))
    subjects = [capture for capture in captures if capture in _SUBJECTS]
    if len(subjects) != 1:
        raise CodeError(f"a pattern must have one of the captures {_SUBJECTS}, got {source.decode()!r}")
    group, _, kind = subjects[0].partition(".")
    reaches_end = query.pattern_settings(number).get("reaches") == "end of file"
    return Pattern(subjects[0], group, kind, reaches_end)
