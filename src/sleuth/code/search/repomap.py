"""Draws the definitions that matter most of a repository, within a token budget.

Files point at the files whose names they use. PageRank over that, drawn towards what the caller cares about, says how
much each file matters. Each definition gets the share of the uses that reach it, and a container half of what reaches
its members. A use counts in full where an import says which file it means; a guess by the bare name counts little.
"""

from __future__ import annotations

import builtins
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.code.graph.modules import files_of
from sleuth.code.search.context import count_tokens
from sleuth.code.snapshots.places import is_below
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Reference, Symbol
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_DAMPING = 0.85
_ROUNDS = 40
_MOST_FILES = 25
"""A name that more files define says nothing about which is meant."""
_MOST_TARGETS = 3
"""Files that an import can mean through a package."""
_OF_MEMBERS = 0.5
"""The share of the weight of members that their container gets."""
_IMPORTED = 1.0
_BARE_TYPE = 0.5
_BARE_NAME = 0.1
_OF_UNKNOWN_OBJECT = 0.02
"""What a use counts: of what an import brings in, of a type or another name by the bare name, of a member."""
_BUILTINS = frozenset(
    {
        "toString",
        "equals",
        "hashCode",
        "constructor",
        "new",
        "main",
        "length",
        "size",
        "push",
        "map",
        "filter",
        "test",
    }
).union(*map(dir, (builtins, str, bytes, list, dict, set, tuple, object)))
"""Names that mostly mean what the language or its collections define."""
_FILLERS = 60
"""Definitions that are tried, one by one, to fill what the best ones leave of a budget."""
_OUTLINED = frozenset(
    {"class", "interface", "struct", "enum", "trait", "function", "method", "module", "type", "macro"}
)


class Weighed(NamedTuple):
    """A definition by the position of its file and its place there, and what it matters."""

    file: int
    place: int
    weight: float


def repository_map(
    snapshot: Snapshot,
    budget: int = 1000,
    *,
    focus: Sequence[str] = (),
    query: str = "",
    count: Callable[[str], int] = count_tokens,
) -> str:
    """Return the most important definitions, by file, in at most `budget` tokens.

    Args:
        focus: paths of files or folders that matter most to the caller.
        query: words that matter most; files that answer them weigh more.
        count: counts tokens.
    """
    check_count(budget, "budget")
    ranked = rank_definitions(snapshot, focus=focus, query=query)
    low, high = 0, len(ranked)
    while low < high:
        check_cancelled()
        middle = (low + high + 1) // 2
        if count(_draw(snapshot, ranked[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    shown = ranked[:low]
    for item in ranked[low : low + _FILLERS]:
        check_cancelled()
        if count(_draw(snapshot, [*shown, item])) <= budget:
            shown.append(item)
    return _draw(snapshot, shown)


def rank_definitions(snapshot: Snapshot, *, focus: Sequence[str] = (), query: str = "") -> list[Weighed]:
    """Return the definitions of a snapshot, most important first."""
    n = len(snapshot.files)
    if not n:
        return []
    edges = _edges(snapshot)
    sources, targets = edges.sources, edges.targets
    ranks = page_rank(sources, targets, edges.weights, _personal(snapshot, focus, query))
    out = np.bincount(sources, edges.weights, minlength=n)
    flow: dict[tuple[int, str], float] = defaultdict(float)
    folders: dict[tuple[int, str], set[int]] = defaultdict(set)
    shares = ranks[sources] * edges.weights / out[sources] if len(sources) else edges.weights
    used_in = snapshot.folders[sources].tolist()
    for target, name, share, folder in zip(
        targets.tolist(), edges.names, shares.tolist(), used_in, strict=True
    ):
        flow[target, name] += share
        folders[target, name].add(folder)
    for use, names in folders.items():  # what many parts use matters more than what one part uses much
        flow[use] *= math.sqrt(len(names))
    ranking: list[Weighed] = []
    for i, row in enumerate(snapshot.files):
        if row.category not in ("test", "generated"):
            ranking += _weighed(i, snapshot.detail(row).symbols, flow, float(ranks[i]))
    return sorted(ranking, key=lambda item: (-item.weight, snapshot.files[item.file].path, item.place))


def _weighed(
    file: int, symbols: Sequence[Symbol], flow: Mapping[tuple[int, str], float], rank: float
) -> list[Weighed]:
    """Return the definitions of a file; each weighs less than its container."""
    weights = [
        flow.get((file, symbol.name), 0.0) + 0.01 * rank / (1 + place) if symbol.kind in _OUTLINED else 0.0
        for place, symbol in enumerate(symbols)
    ]
    for place in reversed(range(len(symbols))):
        if (above := symbols[place].parent) >= 0:
            weights[above] += _OF_MEMBERS * weights[place]
    for place, symbol in enumerate(symbols):
        if symbol.parent >= 0:
            weights[place] = min(weights[place], weights[symbol.parent])
    return [
        Weighed(file, place, weights[place])
        for place, symbol in enumerate(symbols)
        if symbol.kind in _OUTLINED
    ]


def page_rank(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    personal: NDArray[np.float64],
) -> NDArray[np.float64]:
    """PageRank with restarts drawn from `personal`, shape (n,), which sums to 1; the result does too."""
    n = len(personal)
    out = np.bincount(sources, weights, minlength=n)
    share = weights / out[sources] if len(sources) else weights
    ranks = personal.copy()
    for _ in range(_ROUNDS):
        flow = np.bincount(targets, ranks[sources] * share, minlength=n)
        lost = float(ranks[out == 0].sum())
        after = (1 - _DAMPING + _DAMPING * lost) * personal + _DAMPING * flow
        if float(np.abs(after - ranks).sum()) < 1e-9:
            return after
        ranks = after
    return ranks


class _Edges(NamedTuple):
    """Uses of names: from the file `sources` to the file `targets`, positions of shape (n,), with weights and names."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    names: list[str]


def _edges(snapshot: Snapshot) -> _Edges:
    homes_of: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(snapshot.files):
        check_cancelled()
        for name in {s.name for s in snapshot.detail(row).symbols if s.kind in _OUTLINED}:
            homes_of[name].append(i)
    rows: list[tuple[int, int, float, str]] = []
    for source, row in enumerate(snapshot.files):
        check_cancelled()
        for (target, name), uses in _uses(snapshot, row, homes_of).items():
            if target != source:
                rarity = math.log1p(len(snapshot.files) / len(homes_of[name]))
                private = 0.1 if name.startswith("_") else 1.0
                rows.append((source, target, rarity * private * math.sqrt(uses), name))
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    sources, targets, weights, names = columns
    return _Edges(
        np.array(sources, np.int64), np.array(targets, np.int64), np.array(weights, np.float64), list(names)
    )


def _uses(
    snapshot: Snapshot, row: FileRow, homes_of: Mapping[str, Sequence[int]]
) -> dict[tuple[int, str], float]:
    """Return by file and name how often a file uses what is defined there."""
    detail = snapshot.detail(row)
    imported: dict[str, _Imported] = {}
    for item in detail.imports:
        positions, name = files_of(snapshot, row, item)
        if positions:
            imported[item.alias] = _Imported(name if name != "default" else item.alias, positions)
    uses: dict[tuple[int, str], float] = defaultdict(float)
    for reference in detail.references:
        head = re.split(r"\W", reference.qualifier, maxsplit=1)[0] if reference.qualifier else reference.name
        module = imported.get(head) or imported.get(reference.qualifier)
        name, times = reference.name, _IMPORTED
        if module is None:
            homes = homes_of.get(name, ())
            times = _guess(reference, len(homes))
        elif reference.qualifier or module.name in ("", "*"):
            homes = _behind(snapshot, module.positions, homes_of.get(name, ()))
        else:
            name = module.name
            homes = _behind(snapshot, module.positions, homes_of.get(name, ()))
        for home in homes if times else ():
            uses[home, name] += times / len(homes)
    return uses


class _Imported(NamedTuple):
    """What an import means: a name in files by position, or with the name "" or "*" all of these."""

    name: str
    positions: Sequence[int]


def _behind(snapshot: Snapshot, positions: Sequence[int], homes: Sequence[int]) -> Sequence[int]:
    """Return which homes of a name an import of these files means; a package may pass on what its modules define."""
    direct = [home for home in homes if home in positions]
    if direct:
        return direct
    folders = {f"{snapshot.files[at].path.rpartition('/')[0]}/" for at in positions[:_MOST_TARGETS]}
    below = [home for home in homes if any(snapshot.files[home].path.startswith(f) for f in folders)]
    return below if 0 < len(below) <= _MOST_TARGETS else ()


def _guess(reference: Reference, homes: int) -> float:
    """Return what a use counts that no import explains; a name that is only mentioned is mostly a variable."""
    name = reference.name
    if not 0 < homes <= _MOST_FILES or name in _BUILTINS:
        return 0.0
    if reference.qualifier:
        return _OF_UNKNOWN_OBJECT / homes
    if name[:1].isupper():
        return _BARE_TYPE / homes
    return _BARE_NAME / homes if reference.role == "call" else 0.0


def _personal(snapshot: Snapshot, focus: Sequence[str], query: str) -> NDArray[np.float64]:
    n = len(snapshot.files)
    personal = np.full(n, 0.1 if focus or query else 1.0)
    for path in focus:
        at = snapshot.select(partial(_below, path.strip("/")))
        if not at.any():
            raise ArgumentError(f"focus must name files or folders of the snapshot, got {path!r}")
        personal[at] += n / max(1, int(at.sum()))
    if query:
        from sleuth.code.search.query import read_query
        from sleuth.code.search.ranking import rank_files

        scores = rank_files(snapshot, read_query(query)).scores.astype(np.float64) ** 3
        if scores.sum() > 0:
            personal += n * scores / scores.sum()
    scaled: NDArray[np.float64] = personal / personal.sum()
    return scaled


def _below(prefix: str, row: FileRow) -> bool:
    return is_below(row.path, prefix)


def _draw(snapshot: Snapshot, chosen: Sequence[Weighed]) -> str:
    by_file: dict[int, list[int]] = {}
    for file, place, _ in chosen:
        by_file.setdefault(file, []).append(place)
    blocks = []
    for file in sorted(by_file, key=lambda i: snapshot.files[i].path):
        symbols = snapshot.detail(snapshot.files[file]).symbols
        lines = [f"{snapshot.files[file].path}:"]
        shown: set[int] = set()
        for place in sorted(by_file[file]):
            chain = [place]
            while symbols[chain[-1]].parent >= 0:
                chain.append(symbols[chain[-1]].parent)
            for depth, at in enumerate(reversed(chain)):
                if at not in shown:
                    shown.add(at)
                    lines.append(f"{'  ' * (depth + 1)}{symbols[at].signature or symbols[at].name}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
