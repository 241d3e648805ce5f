"""Ranks functions and methods: what speaks for each, weighed.

    file        the score of its file
    first       one over the place of its file
    text        its chunks answer the query (BM25); `title_text` and `prose_text` those parts of it
    symbol      its qualified name holds words of the title (BM25); `any_symbol` of the whole query
    share       how good its best chunk is among those of its file
    frame       it is in a stack trace of the query, later ones count more
    named       the query names it by an identifier; `told` in prose; rarer names count more
    owner       the query names its class
    lines       it holds a line that the query names by a link, a place or a stack frame
    quoted      it holds what the query has in quotes
    called      a good function uses its name; `calls`: it uses the name of a good one
    meant       it is a special method of Python that the query has a word for, as pickling is `__getstate__`
    size        longer functions are changed more often: log of lines
    method      it belongs to a class; `private`, `special`: its name is like _this, or like __this__

The weights were learned by `benchmarks/code_functions.py` (table: code.md at 885da4c9).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.clues import calls_among, lines_named, quoted_shares
from sleuth.code.search.pieces import Function, FunctionPiece
from sleuth.code.search.query import Query, parts_of
from sleuth.code.search.signals import CHUNK_POOL, best_rows
from sleuth.code.search.special import paraphrased_methods
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Symbol
    from sleuth.code.search.exact import Spot
    from sleuth.code.search.ranking import RankedFiles
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

FILES: Final = 40
"""Functions of so many files are looked at."""
FUNCTION_WEIGHTS: Final[dict[str, float]] = {
    "file": 4.10, "first": 0.48, "text": 1.33, "title_text": 1.66, "prose_text": 1.35, "symbol": -0.01,
    "any_symbol": 1.40, "share": 1.09, "frame": 0.50, "named": 0.67, "told": 0.37, "owner": 0.36, "size": 3.23,
    "lines": 1.66, "quoted": 1.19, "called": 0.58, "calls": 0.49, "method": 0.40, "private": -0.09, "special": 0.33,
    "meant": 1.50,
}  # fmt: skip
_LONG: Final = 200


class FunctionSignals(NamedTuple):
    """What speaks for functions.

    Attributes:
        values: a row per function, a column per name in `FUNCTION_WEIGHTS`; shape (functions, signals), in [0, 1].
    """

    functions: list[Function]
    values: NDArray[np.float32]


def rank_functions(snapshot: Snapshot, query: Query, file_ranking: RankedFiles) -> list[FunctionPiece]:
    """Return the functions of the best files, best first, ties by path and line; the best has the score 1."""
    functions, values = function_signals(snapshot, query, file_ranking)
    if not functions:
        return []
    weights = np.array(list(FUNCTION_WEIGHTS.values()), np.float32)
    totals = values @ weights
    peak = float(totals.max())
    pieces = []
    for function, row, total in zip(functions, values, totals.tolist(), strict=True):
        score = math.exp(total - peak)
        parts = tuple(
            Explanation(name, float(value) * weight, "weight * signal", {"signal": float(value)})
            for (name, weight), value in zip(FUNCTION_WEIGHTS.items(), row, strict=True)
            if value
        )
        formula = "exp(sum of signals - that of the best)"
        pieces.append(FunctionPiece(function, score, Explanation("function", score, formula, {}, parts)))
    order = [(-piece.score, snapshot.files[piece.file].path, piece.function.symbol) for piece in pieces]
    return [pieces[at] for at in sorted(range(len(pieces)), key=order.__getitem__)]


def function_of(snapshot: Snapshot, piece: FunctionPiece) -> Symbol:
    """Return the symbol of a ranked function."""
    file, symbol = piece.function
    return snapshot.detail(snapshot.files[file]).symbols[symbol]


def functions_at(snapshot: Snapshot, spots: Sequence[Spot]) -> list[Function]:
    """Return the functions that chunks are or stand in, in order."""
    functions = []
    for file, chunk in spots:
        detail = snapshot.detail(snapshot.files[file])
        symbol = detail.chunks[chunk].symbol
        if symbol >= 0 and (outer := outer_functions(detail.symbols)[symbol]) >= 0:
            functions.append(Function(file, outer))
    return functions


def function_signals(snapshot: Snapshot, query: Query, file_ranking: RankedFiles) -> FunctionSignals:
    """Return the signals of the functions of the best files."""
    order = np.argsort(-file_ranking.scores, kind="stable")[:FILES].tolist()
    files = [file for file in order if file_ranking.scores[file] > 0]
    chunk_scores = {
        "text": _scores(snapshot, {"context": query.terms}),
        "title_text": _scores(snapshot, {"context": query.title}),
        "prose_text": _scores(snapshot, {"context": query.prose}),
        "symbol": _scores(snapshot, {"symbol": query.title}),
        "any_symbol": _scores(snapshot, {"symbol": query.terms}),
    }
    reader = _SignalReader(snapshot, query, chunk_scores)
    functions: list[Function] = []
    rows: list[dict[str, float]] = []
    peak = float(file_ranking.scores.max()) if len(file_ranking.scores) else 1.0
    for place, file in enumerate(files):
        about_file = {"file": float(file_ranking.scores[file]) / peak, "first": 1.0 / (1 + place)}
        for symbol, values in reader.functions_of(file):
            functions.append(Function(file, symbol))
            rows.append(about_file | values)
    names = list(FUNCTION_WEIGHTS)
    table = np.array([[row.get(name, 0.0) for name in names] for row in rows], np.float32)
    table = table.reshape(len(rows), len(names))
    called, calls = calls_among(snapshot, functions, reader.outer, _good(table))
    table[:, names.index("called")], table[:, names.index("calls")] = called, calls
    table[:, names.index("quoted")] = quoted_shares(snapshot, query, functions)
    table[:, names.index("lines")] = lines_named(snapshot, query, functions)
    return FunctionSignals(functions, table)


def _good(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how well file and words of functions answer, without the learned weights; the best has 1."""
    names = list(FUNCTION_WEIGHTS)
    words = values[:, [names.index(name) for name in ("text", "title_text", "prose_text", "symbol")]]
    good: NDArray[np.float32] = (values[:, names.index("file")] * words.mean(axis=1)) ** 3
    peak = float(good.max(initial=0.0))
    return good / peak if peak > 0 else good


def _scores(snapshot: Snapshot, terms: Mapping[str, Mapping[str, float]]) -> dict[int, float]:
    """Return the scores of chunks by key, the best one 1."""
    if not len(snapshot.chunk_keys) or not any(terms.values()):
        return {}
    searcher, _ = snapshot.chunk_words
    keys, scores = best_rows(searcher, terms, CHUNK_POOL, len(snapshot.chunk_keys), None)
    peak = float(scores.max()) if len(scores) else 0.0
    return dict(zip(keys.tolist(), (scores / peak).tolist(), strict=True)) if peak > 0 else {}


class _SignalReader:
    """Reads the signals of the functions of files, for one query.

    Attributes:
        chunk_scores: of the chunks of each file, by path and by number of the chunk.
        named: parts of the identifiers in the query, such as "read" and "file" of `read_file`.
        told: the same of those that stand in its prose, outside pasted code.
        meant: how clearly the query describes special methods, such as `__getstate__` by "pickle": up to 1.
        outer: by file that was read, the outermost function around each of its symbols, or -1.
    """

    def __init__(
        self, snapshot: Snapshot, query: Query, chunk_scores: Mapping[str, Mapping[int, float]]
    ) -> None:
        self.snapshot = snapshot
        self.query = query
        self.chunk_scores = chunk_scores
        self.named = {part for name in query.plain_names for part in parts_of(name)}
        self.told = {part for name in query.told_names for part in parts_of(name)}
        self.meant = paraphrased_methods(query)
        self.outer: dict[int, list[int]] = {}

    def functions_of(self, file: int) -> list[tuple[int, dict[str, float]]]:
        """Return the functions of a file, by their place among its symbols, with their signals."""
        row = self.snapshot.files[file]
        symbols = self.snapshot.detail(row).symbols
        outer = self.outer[file] = outer_functions(symbols)
        by_function = self._chunks(row, symbols, outer)
        peak = max((values.get("text", 0.0) for values in by_function.values()), default=0.0)
        functions = []
        for at in sorted(set(outer) - {-1}):
            values = by_function.get(at, {})
            values["share"] = values.get("text", 0.0) / peak if peak > 0 else 0.0
            functions.append((at, values | self._names(row, symbols, at)))
        return functions

    def _chunks(
        self, row: FileRow, symbols: Sequence[Symbol], outer: Sequence[int]
    ) -> dict[int, dict[str, float]]:
        """Return by function the best score of its chunks; a class in one piece speaks for all its methods."""
        values: dict[int, dict[str, float]] = {}
        members: dict[int, list[int]] = {}
        for at in sorted(set(outer) - {-1}):
            members.setdefault(symbols[at].parent, []).append(at)
        for place, chunk in enumerate(self.snapshot.detail(row).chunks):
            if chunk.symbol < 0:
                continue
            whole = outer[chunk.symbol]
            inside = [
                at for at in members.get(chunk.symbol, ()) if chunk.start <= symbols[at].line <= chunk.end
            ]
            for at, part in [(whole, 1.0)] if whole >= 0 else [(at, 0.7) for at in inside]:
                best = values.setdefault(at, {})
                for name, scores in self.chunk_scores.items():
                    score = part * scores.get(row.first_chunk + place, 0.0)
                    best[name] = max(best.get(name, 0.0), score)
        return values

    def _names(self, row: FileRow, symbols: Sequence[Symbol], at: int) -> dict[str, float]:
        symbol = symbols[at]
        owner = symbols[symbol.parent] if symbol.parent >= 0 else None
        name = symbol.name
        rare = 0.0
        if name in self.named:
            rare = 1.0 / math.sqrt(max(1, len(self.snapshot.files_with("defines", name))))
        special = name.startswith("__") and name.endswith("__")
        return {
            "frame": self._frame(row, name),
            "named": rare,
            "told": rare if name in self.told else 0.0,
            "owner": float(owner is not None and owner.name in self.named),
            "meant": self.meant.get(name, 0.0),
            "size": min(1.0, math.log1p(symbol.end - symbol.start + 1) / math.log1p(_LONG)),
            "method": float(owner is not None),
            "private": float(name.startswith("_") and not special),
            "special": float(special),
        }

    def _frame(self, row: FileRow, name: str) -> float:
        frames = self.query.frames
        places = [
            place
            for place, frame in enumerate(frames)
            if frame.name.rpartition(".")[2] == name
            and frame.path.rpartition("/")[2] == row.path.rpartition("/")[2]
        ]
        return (places[-1] + 1) / len(frames) if places else 0.0


def outer_functions(symbols: Sequence[Symbol]) -> list[int]:
    """Map each symbol to itself or its outermost enclosing function, or to -1."""
    outer: list[int] = []
    for at, symbol in enumerate(symbols):
        above = outer[symbol.parent] if symbol.parent >= 0 else -1
        is_function = symbol.kind in ("function", "method")
        outer.append(above if above >= 0 else at if is_function else -1)
    return outer
