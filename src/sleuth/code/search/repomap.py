"""Which definitions would a newcomer, or a model, have to know first? A map of a repository within a token budget.

Files point at the files whose names they use; PageRank over that, drawn towards what the caller cares about, says how
much each file matters, and each definition gets the share of the uses that reach it (as in aider's repository map).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.code.search.context import count_tokens
from sleuth.code.snapshots.places import is_below
from sleuth.errors import ArgumentError

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_DAMPING = 0.85
_ROUNDS = 40
_MOST_FILES = 25
"""A name that more files define says nothing about which is meant."""
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
    """The most important definitions, by file, in at most `budget` tokens.

    Args:
        focus: paths of files or folders that matter most to the caller.
        query: words that matter most; files that answer them weigh more.
        count: counts tokens.
    """
    check_count(budget, "budget")
    ranked = rank_definitions(snapshot, focus=focus, query=query)
    low, high = 0, len(ranked)
    best = ""
    while low <= high:
        middle = (low + high) // 2
        text = _draw(snapshot, ranked[:middle])
        if count(text) <= budget:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


def rank_definitions(snapshot: Snapshot, *, focus: Sequence[str] = (), query: str = "") -> list[Weighed]:
    """The definitions of a snapshot, heaviest first."""
    n = len(snapshot.files)
    if not n:
        return []
    defined, used = _names(snapshot)
    sources, targets, weights, names = _edges(defined, used, n)
    ranks = page_rank(sources, targets, weights, _personal(snapshot, focus, query))
    out = np.bincount(sources, weights, minlength=n)
    flow: dict[tuple[int, str], float] = defaultdict(float)
    for source, target, weight, name in zip(
        sources.tolist(), targets.tolist(), weights.tolist(), names, strict=True
    ):
        flow[target, name] += float(ranks[source]) * weight / float(out[source])
    found = []
    for i, row in enumerate(snapshot.files):
        if row.category in ("test", "generated"):
            continue
        for place, symbol in enumerate(snapshot.detail(row).symbols):
            if symbol.kind in _OUTLINED:
                weight = flow.get((i, symbol.name), 0.0) + 0.01 * float(ranks[i]) / (1 + place)
                found.append(Weighed(i, place, weight))
    return sorted(found, key=lambda item: (-item.weight, snapshot.files[item.file].path, item.place))


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


def _names(snapshot: Snapshot) -> tuple[dict[str, list[int]], list[Counter[str]]]:
    defined: dict[str, list[int]] = defaultdict(list)
    used: list[Counter[str]] = []
    for i, row in enumerate(snapshot.files):
        detail = snapshot.detail(row)
        for name in {s.name for s in detail.symbols if s.kind in _OUTLINED}:
            defined[name].append(i)
        counted: Counter[str] = Counter()
        for reference in detail.references:
            # A method of an unknown object may be anybody's: it counts little.
            sure = not reference.qualifier or reference.role in ("import", "inheritance", "instantiation")
            counted[reference.name] += 1.0 if sure else 0.1  # type: ignore[assignment]
        used.append(counted)
    return defined, used


def _edges(
    defined: dict[str, list[int]], used: list[Counter[str]], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], list[str]]:
    sources: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    names: list[str] = []
    for source, counted in enumerate(used):
        for name, times in counted.items():
            homes = defined.get(name, ())
            if not 0 < len(homes) <= _MOST_FILES:
                continue
            rarity = (
                math.log1p(n / len(homes))
                * (0.1 if name.startswith("_") else 1.0)
                * (2.0 if len(name) > 7 else 1.0)
            )
            for target in homes:
                if target != source:
                    sources.append(source)
                    targets.append(target)
                    weights.append(rarity * math.sqrt(times) / len(homes))
                    names.append(name)
    return np.array(sources, np.int64), np.array(targets, np.int64), np.array(weights), names


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
