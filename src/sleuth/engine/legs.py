"""The legs that an index can have, registered by name: the built-in ones and those of plugins alike.

An index has the built-in legs that its settings allow, and those that its setting `legs` names: "NAME", or
"NAME:ARGUMENT" for a leg that takes a model, separated by commas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from sleuth.columns.leg import ColumnsLeg
from sleuth.dense import DenseLeg
from sleuth.errors import ArgumentError, StoreError
from sleuth.extensions import extension, own_extensions
from sleuth.lexical import LexicalLeg
from sleuth.store import LegContext, RankingLeg
from sleuth.store.legs.searching import IndexLeg

if TYPE_CHECKING:
    from sleuth.protocols import Embedder
    from sleuth.settings import IndexSettings
    from sleuth.store import EncodingCache, Finding
    from sleuth.store.store import Store

_KINDS: Final[dict[str, type[IndexLeg]]] = {}


def register_leg(kind: type[IndexLeg]) -> None:
    """Make a leg known by its name to all indexes that this process opens from now on.

    Raises:
        ArgumentError: another class has the name, or the name cannot be written in settings.
    """
    name = str(kind.name)
    if not name.isidentifier():
        raise ArgumentError(f"the name of a leg must be an identifier, got {name!r}")
    if _KINDS.setdefault(name, kind) is not kind:
        raise ArgumentError(f"the name of a leg must be free, got {name!r} of {_KINDS[name].__qualname__}")


for _kind in (LexicalLeg, ColumnsLeg, DenseLeg):
    register_leg(_kind)

_EVERYWHERE: Final = tuple(_KINDS)
"""Legs that indexes have without naming them."""

WEIGHTS: Final = {name: kind.weight for name, kind in _KINDS.items() if issubclass(kind, RankingLeg)}
"""Of the default fusion, by leg, chosen over all test collections at once (docs/concepts/ranking.md)."""


def leg_kind(name: str) -> type[IndexLeg]:
    """Return a leg by name; those of plugins are registered when they are first asked for.

    Raises:
        ArgumentError: no such leg; lists those there are.
    """
    if name not in _KINDS:
        plugin = extension("legs", name)
        if plugin is None:
            names = ", ".join(_KINDS | own_extensions("legs"))
            raise ArgumentError(f"legs must be among {names}, got {name!r}: install the package that has it")
        register_leg(plugin.load())
    return _KINDS[name]


def ranking_legs() -> tuple[str, ...]:
    """Return the names of the legs that rank."""
    return tuple(name for name, kind in _KINDS.items() if issubclass(kind, RankingLeg))


def legs_of_embedder() -> list[str]:
    """Return the names of the legs that another embedder makes again."""
    return [name for name, kind in _KINDS.items() if kind.of_embedder]


def open_legs(
    settings: IndexSettings, embedder: Embedder | None = None, cache: EncodingCache | None = None
) -> list[IndexLeg]:
    """Return the legs of an index, in the order in which they are reported.

    Args:
        cache: keeps what slow models make; None where queries alone are asked.

    Raises:
        ArgumentError: settings that a leg cannot have, or that name an unknown leg.
    """
    spellings = [spelling.strip() for spelling in settings.legs.split(",") if spelling.strip()]
    arguments = dict.fromkeys(_EVERYWHERE, "")
    for spelling in spellings:
        name, _, argument = spelling.partition(":")
        if name in arguments:
            raise ArgumentError(
                f"legs must name each leg once beside the built-in ones, got {settings.legs!r}"
            )
        arguments[name] = argument
    legs: list[IndexLeg] = []
    for name, argument in arguments.items():
        leg = leg_kind(name).open(LegContext(settings, argument, embedder, cache))
        if leg is not None:
            legs.append(leg)
    return legs


def legs_that_rank(legs: Iterable[IndexLeg]) -> dict[str, RankingLeg[Any]]:
    """Return those of some legs that rank, by name."""
    return {leg.name: leg for leg in legs if isinstance(leg, RankingLeg)}


def fill(store: Store, leg: IndexLeg, progress: Callable[[int, int], None] | None, *, timeout: float) -> int:
    """Build the rows of a leg that commits left out; see `Engine.embed`."""
    with store.reader() as snapshot:
        segments = snapshot.segments(leg.name)
        total = snapshot.uncovered(leg.name) if progress else 0
    rows = 0

    def batch(more: int, _: int) -> None:
        if progress:
            progress(min(rows + more, total), total)

    def segment(count: int, most: int) -> None:
        nonlocal rows, total
        rows, total = count, max(total, most)
        batch(0, 0)

    leg.begin(segments, batch)
    count = store.build(leg.name, segment, timeout=timeout)
    leg.end()
    return count


def inspect(store: Store, legs: Iterable[IndexLeg]) -> list[Finding]:
    """Return what is wrong with the segments of legs that are sound each by itself."""
    try:
        with store.reader() as snapshot:
            return [finding for leg in legs for finding in leg.inspect(snapshot.segments(leg.name))]
    except StoreError:
        return []  # the store's own check reports it
