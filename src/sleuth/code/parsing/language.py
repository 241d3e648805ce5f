"""What a language of code is: its grammar, how its imports are read, and its ways with names.

A language with a grammar is a package of `sleuth.plugins.languages`, or an entry of `languages.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

Trait: TypeAlias = Literal[
    "bare members", "shared package", "closed", "calls apart", "types apart", "capitals", "named constructors",
    "preprocessor",
]  # fmt: skip
"""A way of a language, most of them with names:

- bare members: a member of the object around is named without it.
- shared package: the files of a folder see each other's names.
- closed: a file sees no names but its own, its package's, imported ones and those of the language.
- calls apart: a call without a receiver never calls a variable.
- types apart: a variable is never instantiated.
- capitals: a call of a capitalised name makes an object.
- named constructors: a constructor is a method with the name of its class, and uses mean the class.
- preprocessor: lines such as `#if` and `#else` choose what is compiled.
"""


class Import(NamedTuple):
    """One name that an import brings in.

    Attributes:
        module: the path as written, such as `..models`, `./x`, `a.b`, `fmt`.
        name: what is taken out of it; "" where the module itself is, "*" where everything is.
        alias: what it is called in this file.
    """

    module: str
    name: str
    alias: str
    line: int = 0


class Container(Protocol):
    """What labels depend on of the definition around another."""

    kind: str
    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Its own labels."""


def no_imports(_text: str) -> Iterable[Import]:
    """Return nothing: a language without imports, or whose imports are not read."""
    return ()


@dataclass(frozen=True, slots=True)
class Language:
    """A language that files can be in.

    Attributes:
        name: as filters and results spell it; `aliases` are other spellings.
        kinds: of files that are in it, as `sleuth.files.formats` spells them; the name itself where empty.
        package: the grammar's package, or "" where text is cut by its layout alone.
        extra: of Sleuth that brings the package; "" where every installation has it.
        entry: the function of that package that returns the grammar.
        comment: what opens a line comment.
        queries: the folder of its queries; `queries/NAME` beside `grammars.py` where it is None.
        imports: reads one import statement.
        files: "module:function" that finds the files of an import, as `sleuth.code.graph.modules.files_of` does; ""
            where they are not looked for.
        is_public: returns whether other modules may use a definition, by its name, the bytes before its name and the
            definition around it; None where a leading underscore says so.
        family: a language whose files use its definitions; "" for itself.
        passing: methods of its own types that return what is inside, or the same again.
        own_object: words for the object around, beside those of all languages.
        rules: "module:class" of its `NameRules`; "" where it has none.
    """

    name: str
    kinds: tuple[str, ...] = ()
    package: str = ""
    extra: str = ""
    entry: str = "language"
    comment: str = "//"
    aliases: tuple[str, ...] = ()
    queries: Path | None = None
    imports: Callable[[str], Iterable[Import]] = no_imports
    files: str = ""
    is_public: Callable[[str, bytes, Container | None], bool] | None = None
    family: str = ""
    traits: tuple[Trait, ...] = ()
    passing: frozenset[str] = frozenset()
    own_object: frozenset[str] = frozenset()
    rules: str = ""
