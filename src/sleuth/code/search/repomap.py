"""Draws the definitions that matter most of a repository, within a token budget.

Files point at the files whose names they use. PageRank over these links, drawn towards the focus of the caller, says
how much each file matters. Each definition gets the share of the uses that reach it, and a container half of the shares
of its members. A use counts in full where an import says which file it means; a guess by the bare name counts little.
With a query, functions weigh by how well they answer it, too.
"""

from __future__ import annotations

import builtins
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.code.graph.inference import BARE_MEMBERS, OWN_OBJECT
from sleuth.code.graph.modules import files_of
from sleuth.code.parsing.names import grouped
from sleuth.code.search.context import count_tokens
from sleuth.code.snapshots.places import is_below
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

DAMPING = 0.25
"""How much a file hands on to what it uses. With the usual 0.85 helpers of helpers come before what most files use."""
_ROUNDS = 40
_MOST_FILES = 25
"""A name that more files define says nothing about which is meant."""
_MOST_TARGETS = 3
"""Files that an import can mean through a package."""
_OF_MEMBERS = 0.5
"""The share of the weight of members that their container gets."""
_IMPORTED = 1.0
_BARE_TYPE = 0.5
_BARE_NAME = 0.1  # it may be a variable
_OF_UNKNOWN_OBJECT = 0.02
"""Weight of a use: of an imported name, of a type or another name by its bare name, of a member."""
_AS_BASE = 5.0
"""How many uses a class counts for that extends another one."""
_COMMON = "toString equals hashCode constructor new main length size push map filter test"
_OWN_TYPES = (str, bytes, list, dict, set, tuple, object)
_BUILTINS = frozenset(_COMMON.split()).union(dir(builtins), *map(dir, _OWN_TYPES))
"""Names that mostly mean what the language or its collections define."""
_PART = re.compile(r"\W")
_FILLERS = 60
"""Definitions that are tried, one by one, to fill what the best ones leave of a budget."""
_OF_ANSWERS = 2.0
_FALL = 0.75
"""What the best answer to a query weighs beside the definition that is used most, and how the next ones fall off."""
_MOST_ANSWERS = 40
"""Files whose definitions can answer a query."""
_MOST_SIGNATURE = 100
"""Characters of a signature that are drawn."""
_OUTLINED = frozenset(
    {"class", "interface", "struct", "enum", "trait", "function", "method", "module", "type", "macro"}
)


class Weighed(NamedTuple):
    """A definition by the position of its file and its place there, and what it matters."""

    file: int
    place: int
    weight: float


def repository_map(
    snapshot: Snapshot, budget: int = 1000, *, focus: Sequence[str] = (), query: str = ""
) -> str:
    """Return the most important definitions, by file, in at most `budget` tokens, as `count_tokens` counts them.

    Args:
        focus: paths of files or folders that matter most to the caller; their definitions come first.
        query: words that matter most; functions that answer them, and what their files use, weigh more.
    """
    check_count(budget, "budget")
    definitions = rank_definitions(snapshot, focus=focus, query=query)
    low, high = 0, len(definitions)
    while low < high:
        check_cancelled()
        middle = (low + high + 1) // 2
        if count_tokens(_draw(snapshot, definitions[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    selection = definitions[:low]
    for item in definitions[low : low + _FILLERS]:
        check_cancelled()
        if count_tokens(_draw(snapshot, [*selection, item])) <= budget:
            selection.append(item)
    return _draw(snapshot, selection)


def rank_definitions(snapshot: Snapshot, *, focus: Sequence[str] = (), query: str = "") -> list[Weighed]:
    """Return the definitions of a snapshot, most important first."""
    if not snapshot.files:
        return []
    focused = np.zeros(len(snapshot.files), np.bool_)
    for path in focus:
        prefix = path.strip("/")
        at = np.array([is_below(row.path, prefix) for row in snapshot.files], np.bool_)
        if not at.any():
            raise ArgumentError(f"focus must name files or folders of the snapshot, got {path!r}")
        focused |= at
    scores, answers = _answers(snapshot, query) if query else (np.zeros(len(snapshot.files)), [])
    n, is_steered = len(focused), bool(focused.any() or scores.any())
    personal = np.full(n, 0.1 if is_steered else 1.0)  # so what all files use still shows beside the focus
    if focused.any():
        personal[focused] += n / int(focused.sum())
    if (nearness := scores**3).sum() > 0:
        personal += n * nearness / nearness.sum()
    personal /= personal.sum()
    graph = snapshot.shared(_use_graph)
    ranks = page_rank(graph.sources, graph.targets, graph.weights, personal)
    out_weights = np.bincount(graph.sources, graph.weights, minlength=n)
    shares = ranks[graph.sources] * graph.weights / out_weights[graph.sources]
    # By file and name, what the uses of the name carry of the ranks of their files.
    flow: dict[tuple[int, str], float] = defaultdict(float)
    folders: dict[tuple[int, str], set[int]] = defaultdict(set)
    targets, used_in = graph.targets.tolist(), snapshot.folders[graph.sources].tolist()
    for target, name, share, folder in zip(targets, graph.names, shares.tolist(), used_in, strict=True):
        flow[target, name] += share
        folders[target, name].add(folder)
    for use, names in folders.items():  # what many parts use matters more than what one part uses much
        flow[use] *= math.sqrt(len(names))
    peak = max(flow.values(), default=1.0)
    focus_uses = [use for use in flow if focused[use[0]]]
    lift = peak / max((flow[use] for use in focus_uses), default=peak)
    for use in focus_uses:  # the best definition of the focus weighs as much as any
        flow[use] *= lift
    relevance: dict[int, dict[int, float]] = defaultdict(dict)
    for rank, (file, place) in enumerate(answers):
        relevance[file][place] = _OF_ANSWERS * peak * (1 + rank) ** -_FALL
    ranking: list[Weighed] = []
    for i, row in enumerate(snapshot.files):
        if row.category not in ("test", "generated"):
            ranking += _weighed(i, graph.outlines[i], flow, float(ranks[i]), relevance.get(i, {}))
    return sorted(ranking, key=lambda item: (-item.weight, snapshot.files[item.file].path, item.place))


class _Outlined(NamedTuple):
    """A definition in the outline of its file.

    Attributes:
        parent: position of its container, -1 at the file's top.
        is_drawn: whether the map can show it; functions of functions are left out.
    """

    name: str
    parent: int
    is_drawn: bool


def _weighed(
    file: int,
    outline: Sequence[_Outlined],
    flow: Mapping[tuple[int, str], float],
    rank: float,
    relevance: Mapping[int, float],
) -> list[Weighed]:
    """Return the definitions of a file; each weighs less than its container.

    Args:
        relevance: by place, what a definition weighs because it answers the query.
    """
    at_top = {item.name for item in outline if item.parent < 0}
    weights = [
        (0.0 if item.parent >= 0 and item.name in at_top else flow.get((file, item.name), 0.0))
        + 0.01 * rank / (1 + place)  # little: it orders definitions that nothing uses
        + relevance.get(place, 0.0)
        if item.is_drawn
        else 0.0
        for place, item in enumerate(outline)
    ]
    for place in reversed(range(len(outline))):
        if (above := outline[place].parent) >= 0:
            weights[above] += _OF_MEMBERS * weights[place]
    for place, item in enumerate(outline):
        if item.parent >= 0:
            weights[place] = min(weights[place], weights[item.parent])
    return [Weighed(file, place, weights[place]) for place, item in enumerate(outline) if item.is_drawn]


def _answers(snapshot: Snapshot, query: str) -> tuple[NDArray[np.float64], list[tuple[int, int]]]:
    """Return how well each file answers a query, shape (n,), and the definitions that do, best first."""
    from sleuth.code.search.filters import CodeFilter
    from sleuth.code.search.query import read_query
    from sleuth.code.search.ranking import keyword_search, rank_files
    from sleuth.code.search.units import whole_definitions

    question, everywhere = read_query(query), CodeFilter()
    pieces = keyword_search(snapshot, question, _MOST_ANSWERS, everywhere)
    scores = {piece.file: piece.score for piece in pieces}
    hits = whole_definitions(snapshot, question, pieces, _MOST_ANSWERS, by_words=scores, allowed=everywhere)
    definitions = []
    for piece in hits:
        symbol = snapshot.detail(snapshot.files[piece.file]).chunks[piece.chunk].symbol
        if symbol >= 0:
            definitions.append((piece.file, symbol))
    return rank_files(snapshot, question).scores.astype(np.float64), definitions


def page_rank(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    personal: NDArray[np.float64],
) -> NDArray[np.float64]:
    """PageRank with restarts drawn from `personal`, shape (n,), which sums to 1; the result does too."""
    n = len(personal)
    out_weights = np.bincount(sources, weights, minlength=n)
    share = weights / out_weights[sources]
    ranks = personal.copy()
    for _ in range(_ROUNDS):
        flow = np.bincount(targets, ranks[sources] * share, minlength=n)
        lost = float(ranks[out_weights == 0].sum())
        next_ranks = (1 - DAMPING + DAMPING * lost) * personal + DAMPING * flow
        if float(np.abs(next_ranks - ranks).sum()) < 1e-9:  # a round keeps at most DAMPING of a change
            return next_ranks
        ranks = next_ranks
    return ranks


class _UseGraph(NamedTuple):
    """What a map needs of every file of a snapshot, whatever it is drawn for.

    Attributes:
        outlines: the definitions of each.
        sources, targets: the file that uses a name and the one that defines it, positions of shape (n,).
        weights, names: of these uses.
    """

    outlines: list[list[_Outlined]]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    names: list[str]


class _Homes(NamedTuple):
    """The files that define a name, by position: `of` anywhere, `at_top` outside of other definitions."""

    of: dict[str, list[int]]
    at_top: dict[str, list[int]]


def _use_graph(snapshot: Snapshot) -> _UseGraph:
    outlines: list[list[_Outlined]] = []
    for row in snapshot.files:
        check_cancelled()
        symbols, outline = snapshot.detail(row).symbols, []
        for symbol in symbols:
            container_kind = symbols[symbol.parent].kind if symbol.parent >= 0 else ""
            is_drawn = symbol.kind in _OUTLINED and container_kind not in ("function", "method")
            outline.append(_Outlined(symbol.name, symbol.parent, is_drawn))
        outlines.append(outline)
    homes = _Homes(defaultdict(list), defaultdict(list))
    for i, outline in enumerate(outlines):
        map_items = [item for item in outline if item.is_drawn]
        for name in {item.name for item in map_items}:
            homes.of[name].append(i)
        for name in {item.name for item in map_items if item.parent < 0}:
            homes.at_top[name].append(i)
    rows: list[tuple[int, int, float, str]] = []
    # From the last file on: its detail was read last, and is remembered.
    for source, row in reversed([*enumerate(snapshot.files)]):
        check_cancelled()
        for (target, name), uses in reversed(_uses(snapshot, row, homes).items()):
            if target != source:
                rarity = math.log1p(len(snapshot.files) / len(homes.of[name]))
                privacy = 0.1 if name.startswith("_") else 1.0  # meant for its own file
                rows.append((source, target, rarity * privacy * math.sqrt(uses), name))
    sources, targets, weights, names = zip(*reversed(rows), strict=True) if rows else ((), (), (), ())
    return _UseGraph(
        outlines,
        np.array(sources, np.int64),
        np.array(targets, np.int64),
        np.array(weights, np.float64),
        list(names),
    )


def _uses(snapshot: Snapshot, row: FileRow, homes: _Homes) -> dict[tuple[int, str], float]:
    """Return by file and name how often a file uses what is defined there."""
    detail = snapshot.detail(row)
    imported: dict[str, tuple[Sequence[int], str]] = {}  # files by position, and a name in them or "" or "*"
    uses: dict[tuple[int, str], float] = defaultdict(float)
    for item in detail.imports:
        files, name = files_of(snapshot, row, item)
        name = name if name != "default" else item.alias
        imported[item.alias] = files, name
        if files:
            for home in _behind(snapshot, files, homes.at_top.get(name, ())):
                uses[home, name] += _IMPORTED
    for reference in detail.references:
        if reference.role == "import":
            continue
        head = _PART.split(reference.qualifier, 1)[0] if reference.qualifier else reference.name
        positions, imported_name = imported.get(head) or imported.get(reference.qualifier) or (None, "")
        name, times = reference.name, _IMPORTED
        if (positions is not None and not positions) or reference.qualifier in OWN_OBJECT:
            continue  # of another project, or of the class itself
        if positions is None:
            is_bare = not reference.qualifier and row.language not in BARE_MEMBERS
            targets: Sequence[int] = (homes.at_top if is_bare else homes.of).get(name, ())
            # Nothing says what is meant; a name that is only mentioned is mostly a variable.
            is_type = name[:1].isupper()
            share = _OF_UNKNOWN_OBJECT if reference.qualifier else _BARE_TYPE if is_type else _BARE_NAME
            is_mention = reference.role == "reference" and not is_type
            if not 0 < len(targets) <= _MOST_FILES or name in _BUILTINS or is_mention:
                continue
            times = share / len(targets)
        elif reference.qualifier or imported_name in ("", "*"):
            targets = _behind(snapshot, positions, homes.of.get(name, ()))
        else:
            name = imported_name
            targets = _behind(snapshot, positions, homes.at_top.get(name, ()))
        if reference.role == "inheritance":
            times *= _AS_BASE
        for home in targets if times else ():
            uses[home, name] += times / len(targets)
    return uses


def _behind(snapshot: Snapshot, positions: Sequence[int], homes: Sequence[int]) -> Sequence[int]:
    """Return which homes of a name an import of these files means; a package may pass on what its modules define."""
    direct = [home for home in homes if home in positions]
    if direct:
        return direct
    folders = {f"{snapshot.files[at].path.rpartition('/')[0]}/" for at in positions[:_MOST_TARGETS]}
    below = [home for home in homes if any(snapshot.files[home].path.startswith(f) for f in folders)]
    return below if 0 < len(below) <= _MOST_TARGETS else ()


def _draw(snapshot: Snapshot, selection: Sequence[Weighed]) -> str:
    by_file = grouped(selection, lambda definition: definition.file)
    blocks = []
    for file in sorted(by_file, key=lambda i: snapshot.files[i].path):
        detail = snapshot.detail(snapshot.files[file])
        lines = [f"{snapshot.files[file].path}:"]
        places: set[int] = set()
        for place in sorted(definition.place for definition in by_file[file]):
            for depth, (at, symbol) in enumerate(reversed([*detail.enclosing(place)])):
                if at not in places:
                    places.add(at)
                    head = symbol.signature or symbol.name
                    if len(head) > _MOST_SIGNATURE:
                        head = f"{head[: _MOST_SIGNATURE - 1].rstrip()}…"
                    lines.append(f"{'  ' * (depth + 1)}{head}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
