"""Code as a source like any other: a `Retriever` over the snapshots of one repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count, check_query, is_blank
from sleuth.code.search.context import piece_id
from sleuth.code.search.filters import chunk_metadata, file_metadata, read_tree
from sleuth.code.search.fusion import Piece
from sleuth.code.search.retriever import search
from sleuth.code.search.weights import weights_of
from sleuth.filters import Filter, as_filter
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.code.search.retriever import GraphStorage
    from sleuth.code.search.vectors import EmbeddingProvider
    from sleuth.code.snapshots.snapshot import Snapshot


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
        self._storage = storage
        self._repository = repository
        self._snapshot = snapshot
        self._embedder = embedder
        self._weights = weights_of(embedder, None)

    def __repr__(self) -> str:
        return f"SnapshotRetriever({self._repository!r}, {self._snapshot!r})"

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
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
        answer = search(
            snapshot, query, allowed, k=k, strategy=strategy, provider=self._embedder, weights=self._weights
        )
        items = [_item(snapshot, piece) for piece in answer.best(snapshot, query, k, strategy=strategy)]
        return Ranking(items, answer.parts if len(answer.parts) > 1 else ())

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
    item = RetrievedItem(
        id=piece_id(metadata["source"], chunk.start, end, text),
        text=text,
        metadata=metadata,
        score=piece.score,
    )
    item.extra["explanation"] = piece.explanation
    return item
