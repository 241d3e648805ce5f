"""What names and expressions mean, and what a language adds to how its names are resolved.

A name means a definition with a confidence, and an expression a type at a place. A plugin's language has a subclass of
`NameRules`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from sleuth.code.parsing.languages import ways_of
from sleuth.extensions import named_object

if TYPE_CHECKING:
    from sleuth.code.parsing.names import Reference
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition, Snapshot

IN_SCOPE: Final = 0.95  # defined in the scope around the use, or a member of the class around it
BY_IMPORT: Final = 0.9  # an import names it, or a member of a class or module known by name or annotation
OF_BASE: Final = 0.85  # a member of a base class, or one that is defined apart from its class
VISIBLE: Final = 0.8  # in a file imported whole, in a package that is shared, or an extension of a known type
GUESS: Final = 0.35  # of an unknown object the only method of this name, or those of one class
CERTAIN: Final = 0.5  # the only definition of this name in the repository
"""Least confidence of a target that is more than a guess by a method's name; docs/measured/code.md measures those.
The numbers order the evidence and are no probabilities."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A definition that a name means, and how sure that is, in (0, 1]."""

    definition: Definition
    confidence: float


class State(threading.local):
    """What a thread is resolving: the names and fields under way, and how many parameters are followed to calls."""

    def __init__(self) -> None:
        self.under_way: set[tuple[object, ...]] = set()
        self.nesting = 0

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Resolve as if nothing else were under way, one level deeper: what is found is remembered for that level."""
        under_way, self.under_way, self.nesting = self.under_way, set(), self.nesting + 1
        try:
            yield
        finally:
            self.under_way, self.nesting = under_way, self.nesting - 1


class Site(NamedTuple):
    """Where an expression or a type stands: names in it mean what they mean there."""

    file: FileRow
    symbol: int
    line: int


class Type(NamedTuple):
    """A type as it is written, or the class that it is.

    Attributes:
        text: as written; "" where `owner` is the class and nothing says its arguments.
        receiver: the type of the object whose member has this type. It tells what the type parameters of the
            class at `site` stand for.
        is_foreign: whether it is of another project; `text` is then the path to it, such as `stripe.Client`.
        arguments: types that no text names, which `text` calls `ª0`, `ª1`, …: of `[A()]` it is `list[ª0]`.
    """

    text: str
    site: Site
    owner: Definition | None = None
    receiver: Type | None = None
    is_foreign: bool = False
    arguments: tuple[Type, ...] = ()

    def part(self, text: str) -> Type:
        """Return the type of a part of this type, given as it is written here."""
        name = text.strip()
        return self.arguments[int(name[1:])] if name.startswith("ª") else self._replace(text=text, owner=None)


class TypeInference(Protocol):
    """What infers types; see `Inference`."""

    def type_of(self, expression: str, site: Site, depth: int = ...) -> Type | None: ...
    def type_names(self, inferred: Type | None) -> list[str]: ...
    def of_definition(self, definition: Definition, depth: int) -> Type | None: ...
    def element(self, inferred: Type, depth: int) -> Type: ...
    def around(self, file: FileRow, symbol: int) -> Definition | None: ...
    def yielded(self, inferred: Type, depth: int) -> Type: ...
    def levels(self, owner: Definition) -> list[Definition]: ...


class NameResolver(Protocol):
    """What resolves names; see `Resolver`."""

    def resolve(self, file: FileRow, reference: Reference) -> Resolved | None: ...
    def member(self, owner: Definition, name: str, role: str) -> Resolved | None: ...
    def bases(self, owner: Definition) -> list[Definition]: ...
    @property
    def heirs(self) -> Callable[[Definition], list[Definition]]: ...
    @property
    def state(self) -> State: ...
    def foreign_path(self, site: Site, head: str) -> str: ...
    @property
    def rules(self) -> Callable[[str], NameRules]: ...
    @property
    def inference(self) -> TypeInference: ...
    def named(self, name: str) -> list[Definition]: ...
    def extension(self, use: Reference, file: FileRow, receiver: Type | None) -> Resolved | None: ...


class NameRules:
    """The rules of a language at one snapshot; these add nothing. Safe to share between threads.

    Attributes:
        has_extensions: whether definitions outside of a class extend it; `extensions` returns them.
        trusts_names: whether the only definition of a name that extends an unknown object is meant, and no guess.
        has_delegates: whether a definition of kind "type" is the type of a function, which calls return from.
    """

    has_extensions: ClassVar[bool] = False
    trusts_names: ClassVar[bool] = False
    has_delegates: ClassVar[bool] = False

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        self.snapshot = snapshot
        self.resolver = resolver

    def parts(self, owner: Definition) -> Sequence[Definition]:
        """Return the parts of a class, itself first."""
        return [owner]

    def holders(self, owner: Definition) -> Sequence[int]:
        """Return the positions of other definitions of the owner's file whose members count as its own."""
        return []

    def meant(self, members: Sequence[Definition], use: Reference) -> Definition:
        """Return which of the members of one name a use means."""
        return members[0]

    def overload(self, definition: Definition, use: Reference, file: FileRow) -> Definition:
        """Return the definition that the arguments of a call in a file fit, of those with the name of this one."""
        return definition

    def type_named(self, file: FileRow, symbol: int, name: str) -> Definition | None:
        """Return the type that a name means in the definition at `symbol`, without an import that names it."""
        return None

    def extensions(self, use: Reference, file: FileRow, receiver: Sequence[str]) -> Sequence[Definition]:
        """Return the visible definitions of a used name that extend a type of these names; of any type without one."""
        return []

    def extended(self, site: Site) -> Type | None:
        """Return the type that the function around a place extends: it is the object around."""
        return None

    def receivers(self, file: FileRow, line: int, word: str) -> Iterator[Type]:
        """Yield the types of the object around in the blocks around the first use of a word in a line."""
        return iter(())

    def parameter(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of a parameter of the function or block at a place; `depth` values may still be followed."""
        return None

    def passed(self, site: Site, name: str) -> Iterator[tuple[str, Site]]:
        """Yield what calls pass for a parameter of the function at a place, with where they stand."""
        return iter(())

    def form(self, expression: str, site: Site, depth: int) -> Type | None:
        """Return the type of an expression that is no chain of names; `depth` values may still be followed."""
        return None

    def result(self, function: Definition, depth: int) -> Type | None:
        """Return the type of the results of a function without a declared type, where its binding does not say it."""
        return None

    def returned(self, text: str, name: str) -> str:
        """Return the type that a method of one of the language's own types returns, or ""."""
        return ""


@cache
def rules_class(language: str) -> type[NameRules]:
    """Return the rules of a language."""
    place = ways_of(language).rules
    return named_object(place) if place else NameRules
