"""How one definition reaches another, by calls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from sleuth.arguments import check_count, check_name
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.types import Resolved
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.snapshot import Definition, PlainValues, Snapshot
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled

_MOST: Final = 20_000
"""Definitions that are looked at."""


@dataclass(frozen=True, slots=True)
class Hop(PlainValues):
    """A definition on a path.

    Attributes:
        line: where it is defined.
        called_at: the line of the call in the definition before; 0 for the first.
        confidence: of that call; 1 for the first.
    """

    name: str
    type: str
    file_path: str
    line: int
    called_at: int = 0
    confidence: float = 1.0


def call_path(snapshot: Snapshot, start: str, end: str, hops: int = 10) -> list[Hop]:
    """Return a shortest chain of calls from one definition to another, both included, or an empty one.

    A class is reached by making an object of it, and reaches what its constructor calls. Calls of an unknown receiver
    count where the name has one meaning; their confidence is low.

    Args:
        hops: calls at most.

    Raises:
        ArgumentError: nothing of these names is defined, or hops below 1.
    """
    check_count(hops, "hops", least=1)
    origins, ends = (snapshot.definitions(check_name(*given)) for given in ((start, "start"), (end, "end")))
    if not (origins and ends):
        argument, name = ("end", end) if not ends else ("start", start)
        raise ArgumentError(f"{argument} must be defined in the snapshot, got {name!r}")
    goals = {d.key for d in ends}
    arrivals: dict[tuple[int, int], tuple[Definition, Hop] | None] = {d.key: None for d in origins}
    queue = deque((d, 0) for d in origins)
    while queue and len(arrivals) < _MOST:
        definition, distance = queue.popleft()
        if definition.key in goals:
            chain: list[Hop] = []
            while (step := arrivals[definition.key]) is not None:
                definition, hop = step
                chain.append(hop)
            return [_hop(definition), *reversed(chain)]
        if distance == hops:
            continue
        check_cancelled()
        for target, line in _calls(snapshot, definition):
            called = target.definition
            if called.key not in arrivals:
                arrivals[called.key] = definition, _hop(called, line, target.confidence)
                queue.append((called, distance + 1))
    return []


def _hop(definition: Definition, called_at: int = 0, confidence: float = 1.0) -> Hop:
    symbol = definition.symbol
    return Hop(symbol.qualified, symbol.kind, definition.file.path, symbol.line, called_at, confidence)


def _calls(snapshot: Snapshot, definition: Definition) -> list[tuple[Resolved, int]]:
    """Return what a definition calls, with the line, the most certain first."""
    detail = snapshot.detail(definition.file)
    bodies = [definition.symbol]
    if definition.symbol.kind in CONTAINERS:
        bodies = [
            symbol
            for symbol in detail.symbols
            if symbol.parent == definition.index and "constructor" in symbol.labels
        ]
    calls: list[tuple[float, int, int, Resolved]] = []
    for body in bodies:
        for reference in detail.references_between(body.start, body.end):
            if reference.role not in ("call", "instantiation"):
                continue
            target = resolver_of(snapshot).resolve(definition.file, reference)
            if target is not None:
                calls.append((-target.confidence, reference.line, len(calls), target))
    return [(target, line) for _, line, _, target in sorted(calls)]
