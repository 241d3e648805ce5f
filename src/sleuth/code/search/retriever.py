"""Answers queries with code: searches, fuses, and expands hits by the graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable
from uuid import UUID

from sleuth.arguments import MOST_K, check_count, check_query, is_blank
from sleuth.code.search.context import RetrievedContexts
from sleuth.code.search.exact import MOST, definitions_meant, spots_of
from sleuth.code.search.filters import CodeFilter, read_filter
from sleuth.code.search.functions import function_of, functions_at, rank_functions
from sleuth.code.search.fusion import Piece, fuse
from sleuth.code.search.hits import contexts_of
from sleuth.code.search.keyword import CHUNKS_PER_FILE, keyword_search
from sleuth.code.search.pieces import Function, FunctionPiece
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.search.scores import with_fixed_scores
from sleuth.code.search.similarity import Similar, nearest_pieces, similar_chunks, similar_files
from sleuth.code.search.weights import LITTLE, weights_of
from sleuth.errors import ArgumentError, RetrievalError, StoreError
from sleuth.logs import logger_of
from sleuth.remote import async_twin
from sleuth.types import Explanation, PartReport

if TYPE_CHECKING:
    from sleuth.code.search.request import CodeRequest
    from sleuth.code.search.vectors import EmbeddingProvider
    from sleuth.code.snapshots.record import Repository, SnapshotInfo
    from sleuth.code.snapshots.snapshot import Snapshot

logger = logger_of("code")

P = TypeVar("P", Piece, FunctionPiece)
STRATEGIES = ("hybrid", "vector", "keyword")
PER_FILE = {"lines": None, "function": None, "file": 1}
"""By granularity, hits of one file at most; None for no limit."""
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


class RankedCode(NamedTuple, Generic[P]):
    """What a search for code gives.

    Attributes:
        pieces: best first.
        parts: what each leg did.
        similar: of the vector leg in a hybrid search; None where it did not answer.
        by_words: score of the keyword leg by file and chunk.
    """

    pieces: list[P]
    parts: tuple[PartReport, ...]
    similar: Similar | None = None
    by_words: Mapping[tuple[int, int], float] = {}

    def best(self, snapshot: Snapshot, query: str, k: int, *, strategy: str) -> list[P]:
        """Return the first `k` pieces; those of a hybrid search with scores that compare between queries."""
        first = self.pieces[:k]
        if strategy != "hybrid":
            return first
        return list(with_fixed_scores(snapshot, query, first, self.similar, self.by_words))


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
        self.storage = storage
        self.embedding_provider = embedding_provider

    def retrieve(  # noqa: PLR0917 - the order is specified
        self,
        query: str,
        repo_id: str | UUID,
        snapshot_id: str | None = None,
        limit: int = 10,
        strategy: str = "hybrid",
        filters: dict[str, Any] | None = None,
        *,
        expand: Sequence[str] = (),
        explain: bool = True,
        weights: Mapping[str, float] | str | None = None,
        granularity: str = "lines",
        per_file: int | None = None,
    ) -> RetrievedContexts:
        """Return the best pieces of code for a query, best first, ties by path and line.

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
            granularity: what a hit is: "lines", a piece of a file; "function", a whole one; "file", its best piece.
            per_file: hits of one file at most; where None, 1 for "file", 3 by words for "lines", all for "function".

        Raises:
            ArgumentError: an argument that breaks its rule, or a strategy that needs an embedder.
            UnknownRepositoryError, UnknownSnapshotError: list the known ones.
            FilterError: an unknown key or value.
            RetrievalError: every leg failed.
            IndexDamagedError: the index on disk does not read.
        """
        limit = self._check(query, limit, strategy)
        shares = weights_of(self.embedding_provider, self._weights, weights)
        check_granularity(granularity, per_file, strategy)
        repository = self.storage.repository(str(repo_id) if isinstance(repo_id, UUID) else repo_id)
        snapshot = self.storage.open_snapshot(repository, self.storage.snapshot(repository, snapshot_id))
        allowed = read_filter(snapshot, filters, functions=granularity == "function")
        if is_blank(query) or limit == 0:
            return RetrievedContexts()
        find = search_functions if granularity == "function" else search
        answer = find(
            snapshot,
            query,
            allowed,
            k=limit,
            strategy=strategy,
            provider=self.embedding_provider,
            weights=shares,
            per_file=per_file or PER_FILE[granularity],
        )
        best = answer.best(snapshot, query, limit, strategy=strategy)
        return RetrievedContexts(contexts_of(snapshot, best, expand, explain=explain), answer.parts)

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
            granularity=request.granularity,
            per_file=request.per_file,
        )

    def _check(self, query: str, limit: int, strategy: str) -> int:
        check_query(query)
        if strategy not in STRATEGIES:
            raise ArgumentError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
        if strategy != "keyword" and self.embedding_provider is None:
            raise ArgumentError(
                f"embedding_provider must be given for strategy {strategy!r}, got None; "
                "pass one to CodeRetriever or use strategy='keyword'"
            )
        return check_count(limit, "limit", most=MOST_K)


def check_granularity(granularity: str, per_file: int | None, strategy: str) -> None:
    """Refuse what is no granularity, and functions ranked by vectors alone.

    Raises:
        ArgumentError: says what is allowed.
    """
    if granularity not in PER_FILE:
        raise ArgumentError(f"granularity must be one of {', '.join(PER_FILE)}, got {granularity!r}")
    if per_file is not None:
        check_count(per_file, "per_file", least=1)
    if granularity == "function" and strategy == "vector":
        raise ArgumentError(
            "strategy must be 'keyword' or 'hybrid' with granularity 'function', got 'vector'"
        )


def search(
    snapshot: Snapshot,
    query: str,
    allowed: CodeFilter,
    *,
    k: int,
    strategy: str,
    provider: EmbeddingProvider | None,
    weights: Mapping[str, float] | None = None,
    per_file: int | None = None,
) -> RankedCode[Piece]:
    """Find the best chunks by a strategy: `k` or more, of which the first `k` are those of any greater `k`.

    Args:
        per_file: chunks of one file at most; the keyword leg gives 3 where None.

    Raises:
        RetrievalError: every leg failed.
        IndexDamagedError: the index on disk does not read.
    """
    shares = weights_of(provider, weights)
    pool = POOL if shares["vector"] <= LITTLE else _DEEP_POOL
    depth = max(k if per_file is None else CHUNKS_PER_FILE * k, pool if strategy == "hybrid" else 0)
    similar: list[Similar] = []

    def by_meaning() -> list[Piece]:
        similar.append(similar_chunks(snapshot, query, allowed, provider))
        return nearest_pieces(snapshot, similar[0], depth, allowed)

    def by_words() -> list[Piece]:
        meaning = similar_files(snapshot, similar[0]) if similar else None
        return keyword_search(snapshot, read_query(query), depth, allowed, meaning)

    legs = {"vector": by_meaning, "keyword": by_words}
    answers, report = _asked(legs if strategy == "hybrid" else {strategy: legs[strategy]})
    if not answers:
        raise RetrievalError(
            f"every leg failed: {'; '.join(f'{r.name}: {r.error}' for r in report)}",
            context={"query": query, "k": k, "strategy": strategy},
        ) from report[0].exception
    if similar and not similar[0].is_related and not _holds_words(snapshot, query, allowed):
        return RankedCode([], report)
    if len(answers) == 1:
        pieces = next(iter(answers.values()))
    else:
        pieces = fuse(snapshot, {name: pieces[:pool] for name, pieces in answers.items()}, shares)
        pieces += _below(snapshot, pieces, answers, pool)
    if strategy != "vector":
        pieces = _exact_first(snapshot, query, allowed, pieces)
    by_words_score = {(piece.file, piece.chunk): piece.score for piece in answers.get("keyword", ())}
    return RankedCode(_first_of_files(pieces, per_file), report, next(iter(similar), None), by_words_score)


def _below(
    snapshot: Snapshot, fused: Sequence[Piece], answers: Mapping[str, Sequence[Piece]], pool: int
) -> list[Piece]:
    """Return what the legs found below their pools, by rank, with scores that fall from the least of the fused ones."""
    known = {(piece.file, piece.chunk) for piece in fused}
    added: list[Piece] = []
    for row in zip_longest(*answers.values()):
        for piece in sorted(
            filter(None, row), key=lambda piece: (snapshot.files[piece.file].path, piece.chunk)
        ):
            if (piece.file, piece.chunk) not in known:
                known.add((piece.file, piece.chunk))
                score = fused[-1].score * pool / (pool + 1 + len(added))
                why = Explanation("below", score, "below the pools, by rank", {}, (piece.explanation,))
                added.append(replace(piece, score=score, explanation=why))
    return added


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
            reports[name] = _failed(name, error, began)
        else:
            reports[name] = _answered(name, answers[name], began)
    return answers, tuple(reports[name] for name in sorted(reports))


def _holds_words(snapshot: Snapshot, query: str, allowed: CodeFilter) -> bool:
    """Return whether any code matches a query by its words."""
    return bool(keyword_search(snapshot, read_query(query), 1, allowed))


def search_functions(
    snapshot: Snapshot,
    query: str,
    allowed: CodeFilter,
    *,
    k: int,
    strategy: str,
    provider: EmbeddingProvider | None,
    weights: Mapping[str, float] | None = None,
    per_file: int | None = None,
) -> RankedCode[FunctionPiece]:
    """Find the best `k` functions, best first; those that the whole query names before all others."""
    reports: list[PartReport] = []
    meaning, similar = None, None
    if strategy == "hybrid":
        began = time.perf_counter()
        try:
            similar = similar_chunks(snapshot, query, allowed, provider)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - reported; words answer
            reports.append(_failed("vector", error, began))
        else:
            reports.append(_answered("vector", similar.scores, began))
            if similar.is_related or _holds_words(snapshot, query, allowed):
                meaning = similar_files(snapshot, similar)
    began = time.perf_counter()
    parsed_query = read_query(query)
    file_ranking = rank_files(snapshot, parsed_query, allowed.files, meaning)
    pieces = rank_functions(snapshot, parsed_query, file_ranking)
    if allowed.labels:
        pieces = [p for p in pieces if not allowed.labels.isdisjoint(function_of(snapshot, p).labels)]
    by_name = [
        Function(snapshot.by_path[definition.file.path], definition.index)
        for definition in definitions_meant(snapshot, query.strip())[:MOST]
    ]
    exact = [*by_name, *functions_at(snapshot, spots_of(snapshot, query))]
    pieces.sort(key=lambda piece: exact.index(piece.function) if piece.function in exact else len(exact))
    pieces = _first_of_files(pieces, per_file)[:k]
    return RankedCode(pieces, (_answered("keyword", pieces, began), *reports), similar)


def _first_of_files(pieces: list[P], most: int | None) -> list[P]:
    """Return the first `most` pieces of each file, in order; all where None."""
    if most is None:
        return pieces
    counts: Counter[int] = Counter()
    first = []
    for piece in pieces:
        counts[piece.file] += 1
        if counts[piece.file] <= most:
            first.append(piece)
    return first


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
    scores = [1.0 - _EXACT * rank for rank in range(len(spots))]
    exact = [
        Piece(*spot, score, Explanation("exact", score, formula, {"rank": rank}))
        for rank, (spot, score) in enumerate(zip(spots, scores, strict=True), 1)
    ]
    ceiling = 1.0 - _EXACT * MOST
    others = (piece for piece in pieces if (piece.file, piece.chunk) not in set(spots))
    return exact + [_lowered(piece, ceiling) for piece in others]


def _lowered(piece: Piece, factor: float) -> Piece:
    """Return a piece with a part of its score."""
    score = piece.score * factor
    why = Explanation(
        "others", score, f"score * {factor}: below what the query names", {}, (piece.explanation,)
    )
    return replace(piece, score=score, explanation=why)


def _failed(name: str, error: Exception, began: float) -> PartReport:
    logger.warning("the leg %r failed with %s", name, type(error).__name__)
    reason = f"{type(error).__name__}: {error}"
    return PartReport(name, "failed", time.perf_counter() - began, error=reason, exception=error)


def _answered(name: str, candidates: Sized, began: float) -> PartReport:
    return PartReport(name, "ok", time.perf_counter() - began, len(candidates))
