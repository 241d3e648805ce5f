"""What names and expressions mean: a definition with a confidence, or a type at a place."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition

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
