"""How do the parts work together? The engine opens an index, adds to it, and answers from it.

with Engine.open("index", create=True) as engine:
    engine.add([Document("Tokens are refilled every second.", {"source": "limits.md"})])
    for item in engine.retrieve("how often are tokens refilled", k=3):
        print(item.score, item.id, item.text)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.filters import as_filter
from sleuth.lexical import FieldSpec, LexicalLeg, LexicalSearcher
from sleuth.settings import IndexSettings
from sleuth.store.alignment import align
from sleuth.store.columns import ColumnsLeg, ColumnsSearcher
from sleuth.store.store import Store
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.filters import Filter
    from sleuth.ingest.jobs import AddReport, IndexProgress, IndexReport
    from sleuth.ingest.options import ReadOptions
    from sleuth.store.legs import Bitmap
    from sleuth.store.reading import Snapshot
    from sleuth.store.values import Finding, Repair, Row, StoredDocument
    from sleuth.text.snippets import Snippet
    from sleuth.types import Document


Order: TypeAlias = "Callable[[NDArray[np.int64]], Sequence[Any]]"


class _Searchers:
    """The searchers of one version, shared by all threads."""

    def __init__(
        self, snapshot: Snapshot, lexical: LexicalLeg, order: Order, previous: _Searchers | None
    ) -> None:
        self.version = snapshot.version
        self.lexical = LexicalSearcher(
            lexical, snapshot.segments("lexical"), ids=order, previous=previous and previous.lexical
        )
        self.columns = ColumnsSearcher(snapshot.segments("columns"))
        self._views = {name: snapshot.segments(name) for name in ("columns", "lexical")}

    def allowed(self, tree: Filter | None, leg: str) -> list[Bitmap] | None:
        """The rows that a filter lets answer, over the segments of a leg; None for all."""
        if tree is None:
            return None
        return align(self.columns.bitmap(tree), self._views["columns"], self._views[leg])


class Engine:
    """An open index: adds documents and answers queries. Safe to share between threads.

    Attributes:
        path: the index folder.
        settings: what the index was made with.
        repairs: what was mended on opening; empty for a healthy index.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path = store.path
        self.settings = IndexSettings.from_dict(store.settings)
        self._lexical = lexical_leg(self.settings)
        self._searchers: _Searchers | None = None
        self._opening = threading.Lock()
        self._held = threading.local()
        self.repairs: tuple[Repair, ...] = tuple(store.attach([self._lexical, ColumnsLeg()]))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        settings: IndexSettings | Mapping[str, Any] | None = None,
    ) -> Engine:
        """Open the index in folder `path`.

        Args:
            create: make it where there is none.
            settings: for a new index; an index that is there keeps its own, and other values are refused.

        Raises:
            IndexNotFoundError: no index there, and `create` is False.
            IndexDamagedError, FormatVersionError: an index that cannot be read; the message says what to do.
            ArgumentError: settings that are invalid, or not those of the index.
        """
        wanted = settings.to_dict() if isinstance(settings, IndexSettings) else dict(settings or {})
        full = IndexSettings.from_dict(wanted)
        store = Store.open(path, create=create, settings=full.to_dict())
        try:
            check_settings(wanted, store)
            return cls(store)
        except BaseException:
            store.close()
            raise

    def add(
        self,
        documents: Iterable[Document],
        *,
        progress: Callable[[AddReport], None] | None = None,
        timeout: float = 10.0,
    ) -> AddReport:
        """Add documents; those whose id is there already are replaced, unchanged ones cost nothing.

        Documents are committed in batches: what `progress` has reported stays, whatever happens later.

        Args:
            documents: any iterable; it is streamed.
            progress: called after each commit.
            timeout: seconds to wait for another writer.

        Raises:
            ArgumentError: a document that cannot be kept; names it. Batches before it are kept.
            IndexLockedError: another writer did not finish in time; names it.
        """
        from sleuth.ingest.jobs import add_documents

        return add_documents(self._store, self.settings, documents, progress=progress, timeout=timeout)

    def index(
        self,
        paths: Sequence[str | Path],
        *,
        options: ReadOptions | None = None,
        prune: bool = False,
        progress: Callable[[IndexProgress], None] | None = None,
        timeout: float = 10.0,
    ) -> IndexReport:
        """Read files and folders into the index: what changed is replaced, what did not costs nothing.

        Args:
            options: which files to read, and how.
            prune: also delete documents below `paths` whose file is gone.
            progress: called now and then.
            timeout: seconds to wait for another writer.

        Raises:
            ArgumentError: a path that does not exist.
            IndexInterrupted: Ctrl-C; what was read so far is committed, and the report so far is attached.
        """
        from sleuth.ingest.jobs import index_paths

        return index_paths(
            self._store,
            self.settings,
            paths,
            options=options,
            prune=prune,
            progress=progress,
            timeout=timeout,
        )

    def delete(self, ids: Iterable[str], *, timeout: float = 10.0) -> list[str]:
        """Delete documents by id; their text leaves the disk.

        Returns:
            The ids that were there.
        """
        if isinstance(ids, str):
            raise ArgumentError(f"ids must be a list of document ids, got {ids!r}; write [{ids!r}]")
        with self._store.writer(timeout=timeout) as writer:
            return writer.delete(ids)

    def retrieve(
        self,
        query: str,
        k: int = 10,
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        explain: bool = False,
    ) -> Ranking:
        """The best `k` passages for `query` in the newest committed version.

        A blank query, or one of which no word is in the index, finds nothing; so does a `k` of 0.

        Args:
            k: 0 or more; a k above what there is gives all there is.
            filter: which passages may answer: a tree, a Mongo-style dict or the text form (`docs/filters.md`).
            explain: attach to every item how its score comes about.

        Raises:
            ArgumentError: a query that is not a string, a k that is negative or not an int.
            FilterError: a filter that cannot be read; says where.
        """
        check_query(query, k)
        tree = as_filter(filter)
        with self._store.reader() as snapshot:
            searchers = self._searchers_of(snapshot)
            hits = searchers.lexical.search(query, k, allowed=searchers.allowed(tree, "lexical"))
            keys = hits.keys.tolist()
            rows = snapshot.rows(keys)
            items = [_item(row, score) for row, score in zip(rows, hits.scores.tolist(), strict=True)]
            if explain:
                for key, item in zip(keys, items, strict=True):
                    item.extra["explanation"] = searchers.lexical.explain(query, key)
        return Ranking(items)

    async def aretrieve(
        self,
        query: str,
        k: int = 10,
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        explain: bool = False,
    ) -> Ranking:
        """`retrieve`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.retrieve, query, k, filter=filter, explain=explain)

    def get(self, id: str) -> list[RetrievedItem]:
        """The passage, or all passages of the document, with this id, in order; empty where there is neither."""
        with self._store.reader() as snapshot:
            key = snapshot.key_of(id)
            rows = snapshot.chunks_of(id) if key is None else snapshot.rows([key])
        return [_item(row, None) for row in rows]

    def documents(self, under: str | None = None) -> list[StoredDocument]:
        """The documents of the newest version, without their text; with `under`, those whose source is this path
        or lies below it.
        """
        with self._store.reader() as snapshot:
            return list(snapshot.documents(under))

    def snippet(self, query: str, item: RetrievedItem, *, width: int = 200) -> Snippet:
        """The window of at most `width` characters that shows best why a passage matches, with its matches."""
        from sleuth.text.analyzers import get_analyzer
        from sleuth.text.snippets import snippet

        return snippet(item.text, query, get_analyzer(self.settings.analyzer), width=width)

    def searcher(self, leg: str) -> LexicalSearcher | ColumnsSearcher:
        """One leg of the newest version, for measurements: keys and scores, without text."""
        with self._store.reader() as snapshot:
            searchers = self._searchers_of(snapshot)
        found: LexicalSearcher | ColumnsSearcher | None = getattr(searchers, leg, None)
        if found is None:
            raise ArgumentError(f"leg must be among columns, lexical, got {leg!r}")
        return found

    def refresh(self) -> int:
        """Load the newest committed version now, as the next `retrieve` would; returns its number."""
        with self._store.reader() as snapshot:
            return self._searchers_of(snapshot).version

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes, versions, per leg; plain values, fit for JSON."""
        status = self._store.status()
        return {
            "path": str(status.path),
            "documents": status.counts.documents,
            "passages": status.counts.chunks,
            "record_bytes": status.record_bytes,
            "format": status.format,
            "version": status.version,
            "settings": dict(status.settings),
            "holder": status.holder and dict(status.holder),
            "legs": {
                leg.name: {
                    "passages": leg.rows - leg.dead,
                    "uncovered": leg.uncovered,
                    "deleted": leg.dead,
                    "segments": leg.segments,
                    "bytes": leg.bytes,
                    "fingerprint": leg.fingerprint,
                }
                for leg in status.legs
            },
        }

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that every leg covers every passage once; with `full`, also every checksum."""
        return self._store.check(full=full)

    def compact(self) -> None:
        """Merge each leg into one segment and give free space back to the disk."""
        self._store.compact()

    def close(self) -> None:
        """Let go of the index. Closing twice is fine."""
        self._searchers = None
        self._store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _order(self, keys: NDArray[np.int64]) -> list[tuple[str, int]]:
        """By what ties break: asked by searchers while this thread holds a snapshot."""
        snapshot: Snapshot = self._held.snapshot
        return snapshot.order(keys.tolist())

    def _searchers_of(self, snapshot: Snapshot) -> _Searchers:
        self._held.snapshot = snapshot
        found = self._searchers
        if found is None or found.version != snapshot.version:
            with self._opening:
                found = _Searchers(snapshot, self._lexical, self._order, self._searchers)
                self._searchers = found
        return found


def lexical_leg(settings: IndexSettings) -> LexicalLeg:
    """The lexical leg that settings describe: one field, fed by title, heading and text."""
    weights = {"title": settings.title_weight, "heading": settings.heading_weight, "text": 1}
    sources = {name: weight for name, weight in weights.items() if weight}
    return LexicalLeg({"text": FieldSpec(settings.analyzer, sources)}, k1=settings.k1, b=settings.b)


def check_settings(wanted: Mapping[str, Any], store: Store) -> None:
    """Refuse settings that are not those of the index.

    Raises:
        ArgumentError: names the first that differs, with both values.
    """
    for name, value in wanted.items():
        kept = store.settings.get(name)
        if kept != value:
            raise ArgumentError(
                f"{name} must be {kept!r} as in the index at {store.path}, got {value!r}; "
                "to change it, index into another folder"
            )


def check_query(query: str, k: int) -> None:
    """Refuse what no retriever can answer.

    Raises:
        ArgumentError: says which argument, its rule and its value.
    """
    if not isinstance(query, str):
        raise ArgumentError(f"query must be a string, got {query!r}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ArgumentError(f"k must be an int of 0 or more, got {k!r}")


def _item(row: Row, score: float | None) -> RetrievedItem:
    return RetrievedItem.trusted(row.id, row.text, row.metadata, score)
