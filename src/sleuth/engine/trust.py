"""How far the default fusion trusts a leg for one query whose hits may have nothing in common with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sleuth.compose.fuse import overlap

if TYPE_CHECKING:
    from sleuth.store import Hits

_FIRST: Final = 20
_AMONG: Final = 100
_ENOUGH: Final = 0.3  # the agreement from which all of the weight counts
_LEAST: Final = 0.25  # the share of the weight that counts without any agreement
"""Chosen over 31 collections and 14 whose vectors say nothing (table: quality.md at 885da4c9)."""


_NAME = re.compile(r"[a-z][A-Z]|_|\w\.\w|::|\w\(")
"""Marks a name of code: getItem, get_item, os.path, std::map, main()."""


def names_alone(query: str) -> bool:
    """Return whether all words of a query are names of code, for which a reader looks by their letters."""
    words = query.split()
    return bool(words) and all(map(_NAME.search, words))


def trust_in(hits: Hits, certain: Hits) -> float:
    """Return the share of a leg's weight that counts, .25 to 1: all of it where it agrees enough with a certain leg.

    Where vectors are worth something, half of the first hits of each leg are among the first hundred of the other;
    where they are not, one in five is, by chance and by the words that a text and its vector have in common.
    """
    return min(1.0, max(_LEAST, agreement(certain, hits) / _ENOUGH))


def agreement(one: Hits, other: Hits) -> float:
    """Return the share of the first 20 hits of each leg among the first 100 of the other; 1 if a leg has no hits."""
    if not len(one.keys) or not len(other.keys):
        return 1.0
    return overlap(one, other, _FIRST, _AMONG)
