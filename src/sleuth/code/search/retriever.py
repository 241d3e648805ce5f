"""Answers queries with code: searches, fuses, and expands hits by the graph."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from sleuth.arguments import MOST_K, check_count, check_kind, check_query, check_strings, is_blank
from sleuth.code.graph.walker import GraphWalker
from sleuth.code.parsing.chunks import unit_at
from sleuth.code.parsing.labels import MODULE_LABEL
from sleuth.code.search.context import RetrievedContext, RetrievedContexts, piece_id
from sleuth.code.search.exact import MOST, spots_of
from sleuth.code.search.filters import CodeFilter, chunk_metadata, file_metadata, read_filter, read_tree
from sleuth.code.search.fusion import Piece, fuse, with_fixed_scores
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import keyword_search
from sleuth.code.search.request import CodeRequest
from sleuth.code.search.units import whole_definitions
from sleuth.code.search.vectors import (
    EmbeddingProvider,
    Similar,
    nearest_pieces,
    similar_chunks,
    similar_files,
)
from sleuth.code.search.weights import LITTLE, weights_of
from sleuth.code.snapshots.record import Repository, SnapshotInfo
from sleuth.code.snapshots.snapshot import Definition, Snapshot
from sleuth.errors import ArgumentError, RetrievalError, StoreError
from sleuth.filters import FilterForm, as_filter
from sleuth.logs import logger_of
from sleuth.remote import async_twin, check_cancelled
from sleuth.types import Explanation, PartReport, Ranking, RetrievedItem

logger = logger_of("code")

STRATEGIES = ("hybrid", "vector", "keyword")
POOL = 20
"""Chunks of each leg that are fused, whatever is asked for; what is below them follows."""
_DEEP_POOL = 200
"""The same where ranks of vectors count: they find other files than words do."""
_EXACT = 1e-3
"""What the score of a named definition loses for each better one, so that equal scores do not hide their order."""


@runtime_checkable
class GraphStorage(Protocol):
    """Where a retriever finds repositories and their snapshots. `CodeStorage` is the embedded one.

    Contract: `repository` and `snapshot` raise `UnknownRepositoryError` and `UnknownSnapshotError`, which list the
    known ones; `snapshot` gives completed ones only; what `open_snapshot` gives never changes.
    """

    def repository(self, name: str) -> Repository:
        """Return the repository of an id, path or URL."""

    def snapshot(self, repository: Repository, name: str | None = None) -> SnapshotInfo:
        """Return the completed snapshot of a name, or the newest."""

    def open_snapshot(self, repository: Repository, info: SnapshotInfo) -> Snapshot:
        """Return what can be read at that snapshot."""


class CodeRetriever:
    """Answers queries with code in its context. Safe to share between threads."""

    def __init__(
        self,
        storage: GraphStorage,
        embedding_provider: EmbeddingProvider | None,
        *,
        weights: Mapping[str, float] | str | None = None,
    ) -> None:
        """Create a retriever over a storage.

        Args:
            embedding_provider: text to vectors; None where only the strategy "keyword" is used.
            weights: of the legs "keyword" and "vector" in a hybrid search, as {"vector": 0.5} or "vector=0.5". Where
                one is left out, words weigh 1, and vectors `code_weight` of the embedder, or .25 without one.

        Raises:
            ArgumentError: weights that break their rule.
        """
        self._weights = weights_of(embedding_provider, weights)
        self.storage = check_kind(storage, GraphStorage, "storage", "what open_code opens")
        self.embedding_provider = embedding_provider

    def retrieve(  # noqa: PLR0917 - the order is specified
        self,
        query: str,
        repo_id: str | Path | UUID,
        snapshot_id: str | None = None,
        limit: int = 10,
        strategy: str = "hybrid",
        filters: dict[str, Any] | None = None,
        *,
        expand: Sequence[str] = (),
        explain: bool = True,
        weights: Mapping[str, float] | str | None = None,
        per_file: int | None = None,
    ) -> RetrievedContexts:
        """Return the best definitions for a query, best first, ties by path and line.

        A definition is whole, however long; a class of more than 24 lines is a hit of its own beside its methods. With
        the strategy "vector", hits are pieces of at most some 80 lines.

        The result is a list. Its `parts` report what each leg did. A leg that fails is also logged.

        Args:
            query: a question, identifiers, code, a stack trace or a whole report.
            repo_id: a repository's id, path or URL.
            snapshot_id: a commit, branch, tag or content id that was indexed; the newest completed one for None.
            limit: 0 or more; a limit above the number of hits gives all.
            strategy: "hybrid", "vector" or "keyword".
            filters: by `path_prefix`, `language`, `exclude_language`, `category`, `exclude_category`, `labels`.
            expand: relations to add to each hit: callers, callees, siblings, implementations, tests.
            explain: attach how each score is computed.
            weights: of the legs "keyword" and "vector" in a hybrid search; those of the constructor where left out.
            per_file: hits of one file at most; no limit where None.

        Raises:
            ArgumentError: an argument that breaks its rule, or a strategy that needs an embedder.
            UnknownRepositoryError, UnknownSnapshotError: list the known ones.
            FilterError: an unknown key or value.
            RetrievalError: every leg failed.
            IndexDamagedError: the index on disk does not read.
        """
        check_query(query)
        check_count(limit, "limit", most=MOST_K)
        check_strings(expand, "expand")
        if strategy not in STRATEGIES:
            raise ArgumentError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
        if strategy != "keyword" and self.embedding_provider is None:
            raise ArgumentError(
                f"embedding_provider must be given for strategy {strategy!r}, got None; "
                "pass one to CodeRetriever or use strategy='keyword'"
            )
        shares = weights_of(self.embedding_provider, self._weights, weights)
        if per_file is not None:
            check_count(per_file, "per_file", least=1)
        repository = self.storage.repository(str(repo_id) if isinstance(repo_id, Path | UUID) else repo_id)
        snapshot = self.storage.open_snapshot(repository, self.storage.snapshot(repository, snapshot_id))
        allowed = read_filter(snapshot, filters)
        if is_blank(query) or limit == 0:
            return RetrievedContexts()
        pieces, parts = search(
            snapshot,
            query,
            allowed,
            k=limit,
            strategy=strategy,
            provider=self.embedding_provider,
            weights=shares,
            per_file=per_file,
        )
        return RetrievedContexts(_contexts_of(snapshot, pieces, expand, explain=explain), parts)

    aretrieve = async_twin(retrieve)

    def run(self, request: CodeRequest, repository: str, snapshot: str | None = None) -> RetrievedContexts:
        """Return the best pieces of code for a request, in a snapshot of a repository; raises as `retrieve`."""
        return self.retrieve(
            request.query,
            repository,
            snapshot,
            request.k,
            request.strategy or ("keyword" if self.embedding_provider is None else "hybrid"),
            dict(request.filters),
            expand=request.expand or (),
            explain=request.explain,
            weights=request.weights,
            per_file=request.per_file,
        )


def search(
    snapshot: Snapshot,
    query: str,
    allowed: CodeFilter,
    *,
    k: int,
    strategy: str,
    weights: Mapping[str, float],
    provider: EmbeddingProvider | None = None,
    per_file: int | None = None,
) -> tuple[list[Piece], tuple[PartReport, ...]]:
    """Return the best `k` definitions by a strategy, which are the first of any greater `k`, and a report of each leg.

    Scores of a hybrid search compare between queries.

    Args:
        weights: of each leg.
        per_file: hits of one file at most; no limit where None.

    Raises:
        RetrievalError: every leg failed.
        IndexDamagedError: the index on disk does not read.
    """
    pool = POOL if weights["vector"] <= LITTLE else _DEEP_POOL
    depth = max(2 * k, pool) if strategy == "hybrid" else k
    question = read_query(query)
    similar: list[Similar] = []

    def by_meaning() -> list[Piece]:
        similar.append(similar_chunks(snapshot, query, allowed, provider))
        most = depth if per_file is None else MOST_K  # chunks of other files follow those of one
        return nearest_pieces(snapshot, similar[0], most, allowed)

    def by_words() -> list[Piece]:
        meaning = similar_files(snapshot, similar[0]) if similar else None
        return keyword_search(snapshot, question, depth, allowed, meaning)

    legs = {"vector": by_meaning, "keyword": by_words}
    answers, report = _asked(legs if strategy == "hybrid" else {strategy: legs[strategy]})
    if not answers:
        raise RetrievalError(
            f"every leg failed: {'; '.join(f'{r.name}: {r.error}' for r in report)}",
            context={"query": query, "k": k, "strategy": strategy},
        ) from report[0].exception
    if similar and not similar[0].is_related and not keyword_search(snapshot, question, 1, allowed):
        return [], report  # no code has a meaning or a word of the query
    if len(answers) == 1:
        pieces = next(iter(answers.values()))
    else:
        # What a leg without weight alone found is left out.
        counting = {name: pieces for name, pieces in answers.items() if weights[name]}
        pieces = fuse(snapshot, {name: pieces[:pool] for name, pieces in counting.items()}, weights)
        pieces += _below(snapshot, pieces, counting, pool)
    nearest = next(iter(similar), None)
    word_scores = {piece.file: piece.score for piece in answers.get("keyword", ())}
    if "keyword" in answers and (strategy == "keyword" or weights["keyword"]):
        pieces = whole_definitions(
            snapshot, question, pieces, k, by_words=word_scores, allowed=allowed, similar=nearest
        )
    if strategy != "vector":
        pieces = _exact_first(snapshot, query, allowed, pieces)
    if per_file is not None:
        numbers = defaultdict[int, Iterator[int]](count)  # of the pieces of each file, from 0
        pieces = [piece for piece in pieces if next(numbers[piece.file]) < per_file]
    pieces = pieces[:k]
    if strategy == "hybrid":
        share_of = None if nearest is None else nearest.share_of
        pieces = list(with_fixed_scores(snapshot, query, pieces, share_of, word_scores))
    return pieces, report


def _below(
    snapshot: Snapshot, fusion: Sequence[Piece], answers: Mapping[str, Sequence[Piece]], pool: int
) -> list[Piece]:
    """Return the pieces that the legs ranked below their pools, by rank, with scores below those of the fusion."""
    places = {(piece.file, piece.chunk) for piece in fusion}
    pieces_below: list[Piece] = []
    for row in zip_longest(*answers.values()):
        pieces = filter(None, row)
        for piece in sorted(pieces, key=lambda piece: (snapshot.files[piece.file].path, piece.chunk)):
            if (piece.file, piece.chunk) not in places:
                places.add((piece.file, piece.chunk))
                score = fusion[-1].score * pool / (pool + 1 + len(pieces_below))
                why = Explanation("below", score, "below the pools, by rank", {}, (piece.explanation,))
                pieces_below.append(replace(piece, score=score, explanation=why))
    return pieces_below


def _asked(
    legs: Mapping[str, Callable[[], list[Piece]]],
) -> tuple[dict[str, list[Piece]], tuple[PartReport, ...]]:
    """Return what each leg gives, asked one after the other, and a report of each, by name."""
    answers: dict[str, list[Piece]] = {}
    reports: dict[str, PartReport] = {}
    for name, ask in legs.items():
        began = time.perf_counter()
        try:
            answers[name] = ask()
        except StoreError:
            raise  # an index that is damaged is no matter of one leg
        except Exception as error:  # noqa: BLE001 - reported; raised where no other leg answers
            logger.warning("the leg %r failed with %s", name, type(error).__name__)
            reason = f"{type(error).__name__}: {error}"
            seconds = time.perf_counter() - began
            reports[name] = PartReport(name, "failed", seconds, error=reason, exception=error)
        else:
            reports[name] = PartReport(name, "ok", time.perf_counter() - began, len(answers[name]))
    return answers, tuple(reports[name] for name in sorted(reports))


def _exact_first(snapshot: Snapshot, query: str, allowed: CodeFilter, pieces: list[Piece]) -> list[Piece]:
    """Put what the whole query names before all else."""
    spots = [
        spot
        for spot in spots_of(snapshot, query)
        if (allowed.files is None or allowed.files[spot.file]) and allowed.allows(*spot)
    ]
    if not spots:
        return pieces
    formula = f"above all others: the query is a name or a place; 1 - {_EXACT} for each better one"
    chunks = {spot.file: snapshot.detail(snapshot.files[spot.file]).chunks for spot in spots}
    units = dict.fromkeys((spot.file, unit_at(chunks[spot.file], spot.chunk)) for spot in spots)
    exact = []
    for rank, (file, unit) in enumerate(units, 1):
        score = 1.0 - _EXACT * (rank - 1)
        why = Explanation("exact", score, formula, {"rank": rank})
        exact.append(Piece(file, unit[0], score, why, len(unit)))
    ceiling = 1.0 - _EXACT * MOST
    formula = f"score * {ceiling}: below what the query names"
    for piece in pieces:
        if (piece.file, piece.chunks) not in units:
            score = piece.score * ceiling
            why = Explanation("others", score, formula, {}, (piece.explanation,))
            exact.append(replace(piece, score=score, explanation=why))
    return exact


def _contexts_of(
    snapshot: Snapshot, pieces: Sequence[Piece], expand: Sequence[str], *, explain: bool
) -> Iterator[RetrievedContext]:
    """Yield pieces as hits, with the relations in `expand`."""
    walker = GraphWalker(snapshot)
    for piece in pieces:
        check_cancelled()
        file = snapshot.files[piece.file]
        detail = snapshot.detail(file)
        chunk = detail.chunks[piece.chunk]
        at, start, end = chunk.symbol, chunk.start, detail.chunks[piece.chunks[-1]].end
        symbol = detail.symbols[at] if at >= 0 else None
        content = snapshot.lines(file, start, end)
        yield RetrievedContext(
            file.path,
            content,
            start,
            end,
            min(1.0, piece.score),
            list(symbol.labels) if symbol is not None else [MODULE_LABEL],
            walker.parent(file, at, inside=symbol is not None and not start <= symbol.line <= end),
            walker.outgoing(file, start, end),
            id=piece_id(file.path, start, end, content),
            repo=snapshot.repository.id,
            snapshot=snapshot.info.id,
            language=file.language,
            symbol=symbol.qualified if symbol is not None else "",
            signature=symbol.signature if symbol is not None else "",
            related=walker.related(Definition(file, at, symbol), expand)
            if symbol
            else {kind: [] for kind in expand},
            explanation=piece.explanation if explain else None,
        )


class SnapshotRetriever:
    """Answers with pieces of code, to be fused, filtered, reranked and cited. Safe to share between threads.

    An item's text is the code, its id the file's absolute path, lines and a hash of the code. Its metadata has
    `source`, `path`, `language`, `category`, `repository`, `repository_path`, `snapshot`, `source_type` ("code"),
    `start_line` and `end_line`, and of a definition `symbol`, `name`, `kind`, `labels`, `signature` and `container`.
    Filters may use all of them. `doc` is the documentation of the definition, also where the piece does not hold it.
    Scores are in [0, 1], and each item carries its explanation.
    """

    def __init__(
        self,
        storage: GraphStorage,
        repository: str,
        snapshot: str | None = None,
        *,
        embedder: EmbeddingProvider | None = None,
    ) -> None:
        """Search one repository.

        Args:
            storage: as `open_code` opens it; it stays open.
            repository: its id, path or URL.
            snapshot: a commit, branch, tag or content id; where None, each call takes the newest one.
            embedder: search by words and meaning; by words alone where None.
        """
        self._storage = check_kind(storage, GraphStorage, "storage", "what open_code opens")
        self._repository = repository
        self._snapshot = snapshot
        self._embedder = embedder
        self._weights = weights_of(embedder, None)

    def __repr__(self) -> str:
        return f"SnapshotRetriever({self._repository!r}, {self._snapshot!r})"

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the best `k` pieces of code among those that match `filter`.

        Raises:
            ArgumentError: a query that is not a string, or a wrong k.
            FilterError: a filter that cannot be read; says where.
            UnknownRepositoryError, UnknownSnapshotError: list the known ones.
            RetrievalError: every leg failed.
        """
        k = check_count(k)
        check_query(query)
        tree = as_filter(filter)
        repository = self._storage.repository(self._repository)
        snapshot = self._storage.open_snapshot(repository, self._storage.snapshot(repository, self._snapshot))
        if not k or is_blank(query):
            return Ranking(())
        allowed = read_tree(snapshot, tree)
        strategy = "keyword" if self._embedder is None else "hybrid"
        pieces, parts = search(
            snapshot, query, allowed, k=k, strategy=strategy, provider=self._embedder, weights=self._weights
        )
        return Ranking([_item(snapshot, piece) for piece in pieces], parts if len(parts) > 1 else ())

    aretrieve = async_twin(retrieve)


def _item(snapshot: Snapshot, piece: Piece) -> RetrievedItem:
    file = snapshot.files[piece.file]
    detail = snapshot.detail(file)
    chunk = detail.chunks[piece.chunk]
    end = detail.chunks[piece.chunks[-1]].end
    text = snapshot.lines(file, chunk.start, end)
    metadata = file_metadata(snapshot, file) | chunk_metadata(detail, piece.chunk)
    if chunk.symbol >= 0 and (doc := detail.symbols[chunk.symbol].doc):
        metadata["doc"] = doc
    return RetrievedItem(
        id=piece_id(metadata["source"], chunk.start, end, text),
        text=text,
        metadata=metadata,
        score=piece.score,
        extra={"explanation": piece.explanation},
    )
