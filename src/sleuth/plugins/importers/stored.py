"""What readers of other stores yield: documents with their vectors, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError
from sleuth.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A document of another store with its vector.

    Attributes:
        vector: shape (dimension,); None for a document without a vector.
    """

    document: Document
    vector: Sequence[float] | NDArray[np.floating[Any]] | None


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The documents of another store. They are read some at a time, once, in an order that stays.

    Attributes:
        name: of the store, for messages.
        count: how many documents there are, as the store says; None where it does not say.
    """

    name: str
    rows: Iterable[StoredVector]
    count: int | None = None

    def __iter__(self) -> Iterator[StoredVector]:
        return iter(self.rows)


def chosen_name(argument: str, choice: str | None, names: Sequence[str], place: str) -> str:
    """Return the name of a collection or table of a store; by default, that of the only one.

    Args:
        argument: as its caller names it.
        names: those that exist, sorted.
        place: of the store, for the message.

    Raises:
        ArgumentError: there is no such name, or the choice among several is missing.
    """
    name = names[0] if choice is None and len(names) == 1 else choice
    if name is None or name not in names:
        raise ArgumentError(
            f"{argument} must be among those of {place} ({', '.join(names) or 'none'}), got {choice!r}"
        )
    return name
