"""The documents of an index: adds, updates, deletes, lists and counts them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sleuth import filters
from sleuth.arguments import check_count
from sleuth.errors import ArgumentError, EmbeddingError, FilterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.view import IndexView
    from sleuth.filters import Filter, FilterForm
    from sleuth.ingest import AddReport, IndexProgress, IndexReport, ReadOptions, Skipped, Source
    from sleuth.ingest.reports import MoveReport
    from sleuth.ingest.roots import Root
    from sleuth.store import IndexSnapshot
    from sleuth.types import Document, RetrievedItem, StoredDocument
    from sleuth.vector_store.rows import ArrowTable


MANY: Final = 1_000
"""Documents of one call whose segments take milliseconds to open."""


class DocumentPage(NamedTuple):
    """Some documents of a listing.

    Attributes:
        documents: in order of id, without their text.
        after: what to give as `after` for the next page; None on the last one.
    """

    documents: tuple[StoredDocument, ...]
    after: str | None


class Documents:
    """The documents that one view of an index shows; `Engine` has these calls."""

    def __init__(self, view: IndexView) -> None:
        self._view, self._backend = view, view.backend

    # --- in

    def add(
        self,
        documents: Iterable[Document | Mapping[str, Any]] | ArrowTable | str | Path,
        *,
        text_field: str | None = None,
        id_field: str = "id",
        progress: Callable[[AddReport], None] | None = None,
        timeout: float = 10.0,  # for another writer: a commit takes less, a stuck writer is reported soon
    ) -> AddReport:
        """Add documents or the rows of a table; those whose id is there are replaced, unchanged ones cost nothing.

        Documents are committed in batches: what `progress` has reported stays, whatever happens later.

        Args:
            documents: any iterable of documents, also of LangChain's, or a table: a data frame of pandas or Polars, a
                table or reader of Arrow, a data set of Hugging Face, an iterable of mappings, or the path of a file of
                Parquet, Arrow or JSON lines or of a folder of such files. It is streamed.
            text_field: column of a table that holds the texts; None takes `text`, `page_content`, `content` or `body`.
            id_field: column of a table that holds the ids, which may be missing. Further columns are metadata.
            progress: called after each commit.
            timeout: seconds to wait for another writer.

        Raises:
            ArgumentError: a document that cannot be kept, or that lies outside of the scope; names it. Batches before
                it are kept. Or a table without a column of texts.
            MissingPackageError: pyarrow is not installed, and the table needs it.
            IndexLockedError: another writer did not finish in time; names it.
            EmbeddingError: the vectors could not be made. Where commits do not wait for them, the documents are
                committed and the error says how to go on.
        """
        from sleuth.ingest.api import add_documents
        from sleuth.ingest.options import AUTO
        from sleuth.vector_store.rows import documents_of

        settings = self._backend.settings
        report = add_documents(
            self._view.store,
            self._backend.cutter,
            _documents_until_cancelled(documents_of(documents, text_field, id_field)),
            language=AUTO if settings.tells_languages else "",
            progress=progress,
            timeout=timeout,
        )
        self._embed_committed(timeout=timeout)
        self._open_written(report)
        return report

    def index(
        self,
        paths: Sequence[str | Path | Source],
        *,
        options: ReadOptions | Mapping[str, Any] | None = None,
        prune: bool = False,
        changed: Collection[str | Path] | None = None,
        progress: Callable[[IndexProgress], None] | None = None,
        embedding: Callable[[int, int], None] | None = None,
        timeout: float = 10.0,  # as of `add`
    ) -> IndexReport:
        """Read files, folders and other sources into the index: what changed is replaced, what did not costs nothing.

        Sources are given as a `Source`, or by an address such as `imaps://anna@mail.example.org/INBOX`. A file is named
        by its path relative to the folder that holds the index folder if it lies below that, else by its absolute path
        (`files`). The options are remembered for each path and address, and hold for all below it.

        Args:
            options: which files to read, and how: `ReadOptions`, a mapping that changes some of the remembered options,
                or None for the remembered ones.
            prune: also delete documents of `paths` whose file is gone.
            changed: files and folders that may have changed, are new or gone, as a watcher names them; nothing else
                below `paths` is looked at. None looks at everything.
            progress: called now and then while files are read.
            embedding: called with passages done and to do, while vectors are made that commits do not wait for.
            timeout: seconds to wait for another writer.

        Raises:
            ArgumentError: a path that does not exist, or an engine with a scope.
            RemoteError: a source does not answer; what was read before is committed, and the next run goes on there.
            IndexInterrupted: Ctrl-C; what was read so far is committed, and the report so far is attached.
            EmbeddingError: as `embed`; the files are read.
        """
        from sleuth.ingest.api import index_paths
        from sleuth.ingest.reports import IndexInterrupted

        self._view.check_unscoped("index files")
        report = index_paths(
            self._backend.store,
            self._backend.cutter,
            paths,
            names=self._backend.files,
            index=self._backend.path,
            options=options,
            prune=prune,
            changed=changed,
            progress=_until_cancelled(progress),
            timeout=timeout,
        )
        try:
            self._embed_committed(progress=embedding, timeout=timeout)
        except KeyboardInterrupt:
            report.interrupted = True
            raise IndexInterrupted(report) from None
        self._open_written(report)
        return report

    def roots(self) -> list[Root]:
        """Return the files and folders that were indexed by name, with the options remembered for each."""
        from sleuth.ingest.roots import roots_in

        self._view.check_unscoped("list what was indexed by name")
        with self._view.store.reader() as snapshot:
            return roots_in(snapshot.noted_files(), self._backend.files)

    def skips(self) -> list[Skipped]:
        """Return the files, folders and parts of files that `index` could not read, with the reasons.

        They are in order of path, at most 2,000, as the last run over each of them found them.
        """
        from sleuth.ingest.reports import MOST_SKIPS, skips_of

        self._view.check_unscoped("list what could not be read")
        with self._view.store.reader() as snapshot:
            skips = chain.from_iterable(map(skips_of, snapshot.noted_files()))
            return sorted(islice(skips, MOST_SKIPS), key=lambda skip: skip.path)

    def move(self, old: str | Path, new: str | Path, *, timeout: float = 10.0) -> MoveReport:
        """Give the documents of a renamed file or folder the new name; they keep text, metadata and vectors.

        Args:
            old, new: paths before and after.
            timeout: seconds to wait for another writer.

        Raises:
            ArgumentError: the index holds no file of the old path, or an engine with a scope.
        """
        from sleuth.ingest.updates import move_documents

        self._view.check_unscoped("move files")
        old_name, new_name = self._backend.files.name_of(old), self._backend.files.name_of(new)
        report = move_documents(self._backend.store, old_name, new_name, timeout=timeout)
        if not any(report):
            raise ArgumentError(f"old must be the path of a file or folder that is indexed, got {str(old)!r}")
        self._embed_committed(timeout=timeout)
        return report

    def embed(self, *, progress: Callable[[int, int], None] | None = None, timeout: float = 10.0) -> int:
        """Make the vectors that are still to be made; `add` and `index` do so themselves, and can be broken off.

        Args:
            progress: called with passages done and passages to do.

        Returns:
            Passages embedded; 0 where the embedder is so fast that commits wait for it, and where it is not installed:
            the vectors are made when the index is opened with it.

        Raises:
            EmbeddingError: the embedder does not answer, or gives vectors of another length than before.
        """
        return self._backend.embed(_until_cancelled(progress), timeout=timeout)

    def _open_written(self, report: AddReport) -> None:
        """Open the segments of many new documents, so that no search waits for that."""
        if report.added + report.updated >= MANY:
            with self._backend.store.reader() as snapshot:
                self._backend.searchers_of(snapshot)

    def _embed_committed(  # waits as long as `add`
        self, *, progress: Callable[[int, int], None] | None = None, timeout: float = 10.0
    ) -> None:
        """Make the vectors of documents that were just committed; an error says that it is, and how to go on."""
        if not self._backend.later_legs:
            return
        try:
            self.embed(progress=progress, timeout=timeout)
        except (EmbeddingError, TimeoutError) as error:
            message = (
                "the documents are committed and their words are searched, but vectors are missing; when the embedder "
                f"answers, Engine.embed() or `sleuth index` makes them. The embedder failed: {error}"
            )
            raise EmbeddingError(message, service=getattr(error, "service", "")) from error

    def update(
        self,
        changes: Mapping[str, Any],
        ids: Iterable[str] | None = None,
        *,
        filter: FilterForm = None,
        timeout: float = 10.0,  # as of `add`
    ) -> list[str]:
        """Change metadata of documents; their text is neither read nor embedded again.

        Args:
            changes: new values by key, as metadata of documents; None (and NaN) removes a key.
            ids: of the documents; None for all that match `filter`, of which one must be there.
            filter: which documents, by their passages; with `ids`, both must hold.

        Returns:
            The ids of the documents that changed.

        Raises:
            ArgumentError: changes that the index cannot keep or that the engine writes itself (`source`, ...), or
                neither ids nor filter. In an engine with a scope also a document that does not lie in it as a whole
                before and after the change; nothing is changed then.
            FilterError: a filter that cannot be read, or a key that no document has.
        """
        from sleuth.ingest.updates import check_changes, updated

        changes = check_changes(changes)
        with self._view.store.writer(timeout=timeout) as writer, self._view.store.reader() as snapshot:
            names = self._named(snapshot, ids, filter)
            updated_ids = [id for id in names if updated(snapshot, writer, id, changes)]
        self._embed_committed(timeout=timeout)
        return updated_ids

    # --- out

    def delete(  # waits as long as `add`
        self, ids: Iterable[str] | None = None, *, filter: FilterForm = None, timeout: float = 10.0
    ) -> list[str]:
        """Delete documents by id or by filter; their text leaves the disk.

        Args:
            ids: of the documents; None for all that match `filter`, of which one must be there.
            filter: which documents, by their passages: a document goes whole where one passage matches. With `ids`,
                both must hold.

        Returns:
            The ids that were there.

        Raises:
            ArgumentError: neither ids nor filter; or a document that lies only in part in the scope of this engine.
            FilterError: a filter that cannot be read, or a key that no document has.
        """
        from sleuth.ingest.run import unsettle

        with self._view.store.writer(timeout=timeout) as writer, self._view.store.reader() as snapshot:
            names = self._named(snapshot, ids, filter)
            unsettle(snapshot, writer, names)
            return writer.delete(names)

    def _named(self, snapshot: IndexSnapshot, ids: Iterable[str] | None, filter: FilterForm) -> list[str]:
        """Return the ids that a change is about, each once: those named that match, or all that match."""
        tree = filters.as_filter(filter)
        if ids is None and tree is None:
            raise ArgumentError("ids or filter must say which documents, got neither")
        if tree is not None:
            from sleuth.engine.selection import unknown_keys

            # `lang!=de` with a misspelt key would match everything.
            if notes := unknown_keys(tree, self._view.backend.searchers_of(snapshot).key_names(snapshot)):
                raise FilterError("; ".join(notes))
        if ids is not None and (isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable)):
            raise ArgumentError(f"ids must be a list of document ids, got {ids!r}")
        from sleuth.store.record.layout import check_text

        names = None if ids is None else dict.fromkeys(check_text(id, "each of ids") for id in ids)
        if names is not None and tree is None:
            return list(names)
        keys = self._keys_where(snapshot, tree)
        matching = dict.fromkeys(document.id for document in snapshot.documents_at(keys.tolist()))
        return list(matching) if names is None else [id for id in names if id in matching]

    def _keys_where(self, snapshot: IndexSnapshot, tree: Filter | None) -> NDArray[np.int64]:
        """Keys of the documents that match a filter, ascending."""
        return self._view.backend.searchers_of(snapshot).select(snapshot, tree).document_keys()

    def get(self, id: str) -> list[RetrievedItem]:
        """Return the passage, or all passages of the document, with this id, in order; empty where there is neither."""
        from sleuth.store.record.layout import check_text
        from sleuth.types import RetrievedItem

        with self._view.store.reader() as snapshot:
            key = snapshot.key_of(check_text(id, "id"))
            rows = snapshot.chunks_of(id) if key is None else snapshot.rows([key])
        return [RetrievedItem(id=row.id, text=row.text, metadata=row.metadata) for row in rows]

    def documents(self, under: str | None = None) -> list[StoredDocument]:
        """Return the documents of the newest version, without their text; with `under`, those whose source is this path
        or lies below it.
        """
        with self._view.store.reader() as snapshot:
            return list(snapshot.documents(under))

    def list_documents(
        self, *, filter: FilterForm = None, after: str | None = None, limit: int = 100
    ) -> DocumentPage:
        """Return one page of the documents that match a filter, by id.

        Pages follow each other by id, so a document that stays in the index comes exactly once, whatever is added or
        deleted between two pages.

        Args:
            filter: which documents, by their passages: a document is listed where one passage matches.
            after: `DocumentPage.after` of the page before; None for the first.
            limit: how many at most, 1 or more.
        """
        from sleuth.remote import check_cancelled

        limit = check_count(limit, "limit", least=1)
        tree = filters.as_filter(filter)
        with self._view.store.reader() as snapshot:
            selection = None if tree is None else set(self._keys_where(snapshot, tree).tolist())
            keys: list[int] = []
            for key, _ in snapshot.by_id("" if after is None else after):
                check_cancelled()
                if selection is None or key in selection:
                    keys.append(key)
                    if len(keys) > limit:
                        break
            documents = tuple(snapshot.documents_at(keys[:limit]))
        return DocumentPage(documents, documents[-1].id if len(keys) > limit else None)


def _documents_until_cancelled(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents until the caller is cancelled."""
    from sleuth.remote import check_cancelled

    for document in documents:
        check_cancelled()
        yield document


def _until_cancelled(progress: Callable[..., None] | None) -> Callable[..., None] | None:
    """Wrap a progress callback; raises KeyboardInterrupt once the async caller is cancelled."""
    from sleuth.remote.cancellation import current_cancellation

    cancellation = current_cancellation.get()
    if cancellation is None:
        return progress

    def report(*args: Any) -> None:
        if cancellation.requested:
            raise KeyboardInterrupt
        if progress is not None:
            progress(*args)

    return report
