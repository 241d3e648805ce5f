"""Makes hits of ranked pieces: the code with its container and what it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sleuth.code.graph.walker import GraphWalker
from sleuth.code.parsing.labels import MODULE_LABEL
from sleuth.code.search.context import RetrievedContext, piece_id
from sleuth.code.search.fusion import Piece
from sleuth.code.snapshots.snapshot import Definition, Snapshot
from sleuth.remote import check_cancelled


def contexts_of(
    snapshot: Snapshot, pieces: Sequence[Piece], expand: Sequence[str], *, explain: bool
) -> Iterator[RetrievedContext]:
    """Yield pieces as hits, with the relations in `expand`."""
    walker = GraphWalker(snapshot)
    for piece in pieces:
        check_cancelled()
        yield _context_of(snapshot, walker, piece, expand, explain=explain)


def _context_of(
    snapshot: Snapshot, walker: GraphWalker, piece: Piece, expand: Sequence[str], *, explain: bool
) -> RetrievedContext:
    file = snapshot.files[piece.file]
    detail = snapshot.detail(file)
    chunk = detail.chunks[piece.chunk]
    at, start, end = chunk.symbol, chunk.start, detail.chunks[piece.chunks[-1]].end
    inside = at >= 0 and not start <= detail.symbols[at].line <= end
    symbol = detail.symbols[at] if at >= 0 else None
    content = snapshot.lines(file, start, end)
    context = RetrievedContext(
        file.path,
        content,
        start,
        end,
        min(1.0, piece.score),
        list(symbol.labels) if symbol is not None else [MODULE_LABEL],
        walker.parent(file, at, inside=inside),
        walker.outgoing(file, start, end),
        id=piece_id(file.path, start, end, content),
        repo=snapshot.repository.id,
        snapshot=snapshot.info.id,
        language=file.language,
        symbol=symbol.qualified if symbol is not None else "",
        signature=symbol.signature if symbol is not None else "",
        explanation=piece.explanation if explain else None,
    )
    if expand and symbol is not None:
        context.related = walker.related(Definition(file, at, symbol), expand)
    elif expand:
        context.related = {kind: [] for kind in expand}
    return context
