"""Scores of a hybrid search that compare between queries: how much of the query a piece of code holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sleuth.code.search.fusion import Piece
from sleuth.code.search.pieces import FunctionPiece
from sleuth.code.search.query import weigh
from sleuth.text import get_analyzer
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.similarity import Similar
    from sleuth.code.snapshots.snapshot import Snapshot

P = TypeVar("P", Piece, FunctionPiece)

_STEP: Final = 0.999
_LEAST: Final = 0.01
_FORMULA = "the greater of words and similarity, at most .999 times the score of the hit before"


class _PieceLines(NamedTuple):
    """The lines of a piece, the definition that it belongs to (-1 for none), and its chunks."""

    start: int
    end: int
    symbol: int
    chunks: tuple[int, ...]


def with_fixed_scores(
    snapshot: Snapshot, query: str, pieces: Sequence[P], similar: Similar | None
) -> Iterator[P]:
    """Yield pieces of a ranking in their order, with scores from 0 to 1 that do not depend on other files.

    A score is the greater of two shares: that of the query's words which the piece, its path and its name hold, each
    weighing its idf; and its similarity, counted from that of unrelated texts. No score is above that of a better hit.
    What the whole query names keeps its score.

    Args:
        similar: of the vector leg; None where it did not answer.
    """
    idf = snapshot.chunk_words[0].idf(weigh(query))
    total = sum(idf.values()) or 1.0
    analyzer = get_analyzer("code-english")
    ceiling = 1.0
    for piece in pieces:
        if piece.explanation.name == "exact":
            yield piece
            ceiling = piece.score * _STEP
            continue
        place = _lines_of(snapshot, piece)
        tokens = set(analyzer.tokens(_text_of(snapshot, piece.file, place)))
        words = sum(worth for word, worth in idf.items() if word in tokens) / total
        similarity = 0.0 if similar is None else similar.share_of(piece.file, place.chunks)
        score = min(ceiling, max(words, similarity, _LEAST))
        facts = {"words": words, "similarity": similarity}
        explanation = Explanation("scale", score, _FORMULA, facts, (piece.explanation,))
        yield replace(piece, score=score, explanation=explanation)
        ceiling = score * _STEP


def _lines_of(snapshot: Snapshot, piece: Piece | FunctionPiece) -> _PieceLines:
    detail = snapshot.detail(snapshot.files[piece.file])
    if isinstance(piece, FunctionPiece):
        at = piece.function.symbol
        chunks = tuple(place for place, chunk in enumerate(detail.chunks) if chunk.symbol == at)
        return _PieceLines(detail.symbols[at].start, detail.symbols[at].end, at, chunks)
    chunk = detail.chunks[piece.chunk]
    return _PieceLines(chunk.start, chunk.end, chunk.symbol, (piece.chunk,))


def _text_of(snapshot: Snapshot, file: int, place: _PieceLines) -> str:
    """Return the text of a piece below its path and the name and documentation of its definition."""
    row = snapshot.files[file]
    heads = [row.path]
    if place.symbol >= 0:
        symbol = snapshot.detail(row).symbols[place.symbol]
        heads += [symbol.qualified, symbol.doc]
    return "\n".join((*heads, snapshot.lines(row, place.start, place.end)))
