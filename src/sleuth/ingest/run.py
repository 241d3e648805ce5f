"""Follows what reading yields: adds documents, deletes those that are gone, and fills the table of files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from sleuth.errors import RemoteError
from sleuth.ingest.diff import WITH_OCR, Diff
from sleuth.ingest.documents import Adder
from sleuth.ingest.reading import Record
from sleuth.ingest.reports import PARTS, REFUSED, FileRead, IndexReport, Skipped, Unchanged, to_json
from sleuth.ingest.validate import PreparedDocument
from sleuth.store import FileFacts, KnownFile

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot, Writer
    from sleuth.store.store import Store
    from sleuth.types import StoredDocument

UNREAD: Final = FileFacts(documents=0, own_ids=0, size=0, version=None, reading="", skips=None)
"""The facts of a file that is gone, or holds no text any more."""
_TOGETHER: Final = 1_000
"""Documents that are read together."""


class Run:
    """Writes what a run reads.

    A file is noted after its last document, so that an interrupted file is read again.
    """

    def __init__(
        self, adder: Adder[IndexReport], diff: Diff, ids_of: Callable[[KnownFile], Collection[str]]
    ) -> None:
        """Write with an adder.

        Args:
            ids_of: returns the ids of the documents that the index holds of a file.
        """
        self.adder, self.report, self.diff = adder, adder.report, diff
        self._ids_of = ids_of
        self._named: dict[str, str] = {}  # source by id, if the id is not the source
        self._refused: dict[str, tuple[Skipped, FileFacts, Collection[str]]] = {}
        self._begin("")

    def _begin(self, source: str) -> None:
        """Begin a file, or none."""
        self._source = source
        self._ids: set[str] = set()  # none where no file is known: a new file of rows has many
        self._count = self._own_count = 0
        self._parts: list[Skipped] = []

    def take_all(self, records: Iterator[Record]) -> RemoteError | None:
        """Take records until they end. Ctrl-C, or a source that does not answer, ends them too; those before stay.

        Returns:
            What the source said.
        """
        while True:
            try:
                entry = next(records, None)
            except KeyboardInterrupt:
                self.report.interrupted = True
                return None
            except RemoteError as error:
                return error
            if entry is None:
                return None
            self.take(entry)

    def take(self, entry: Record) -> None:
        """Take the next record of reading."""
        if isinstance(entry, PreparedDocument):
            self._take_document(entry)
        elif isinstance(entry, FileRead):
            self._end_file(entry)
        elif isinstance(entry, Unchanged):
            row = entry.row
            self.diff.mark(row.name)
            if skips := entry.skips:
                self.report.skipped += skips
            else:
                self.report.unchanged += row.documents
            if row.own_ids:
                self._named |= {id: row.name for id in self._ids_of(row) if not is_named_by(id, row.name)}
        else:
            self._take_skipped(entry)
        if self.adder.commit_is_due():
            self.commit()

    def commit(self) -> None:
        """Commit what was read; a file whose end is still to come is read again if that is all of it."""
        if self._count:
            row = self.diff.rows.get(self._source, KnownFile(self._source))
            self._note(self._source, _unfinished(row, self._counts))
        self.adder.commit()

    @property
    def _counts(self) -> FileFacts:
        return FileFacts(documents=self._count, own_ids=self._own_count)

    def _take_document(self, prepared: PreparedDocument) -> None:
        document, id, source = prepared.document, prepared.id, str(prepared.source)
        if document.id is not None:
            first = self._named.setdefault(id, source)
            if first != source:
                reason = f"its id {id!r} is that of {first}: ids must be distinct"
                self._take_skipped(Skipped(source, reason, "row"))
                return
        if not self._count:
            self._source = str(document.metadata.get("path"))
        self.adder.add_prepared(prepared)
        self._count += 1
        self._own_count += not is_named_by(id, self._source)
        if self.diff.rows:
            self._ids.add(id)

    def _take_skipped(self, skip: Skipped) -> None:
        self.report.skipped.append(skip)
        if skip.kind in PARTS:
            self._parts.append(skip)
            return
        source, row = skip.source, self.diff.rows.pop(skip.source, KnownFile(skip.source))
        counts, ids = self._counts, self._ids
        self._begin("")
        if skip.kind == "vanished":
            self.diff.vanished.append(source)
            if counts["documents"]:
                self._note(source, _unfinished(row, counts))
            return
        self.diff.skipped.add(source)
        if skip.kind in REFUSED:
            self._refused[source] = skip, counts, self._outdated(row, ids)
            return
        facts = _unfinished(row, counts) | FileFacts(skips=to_json([skip]))
        if skip.kind == "limits" and skip.size:
            facts |= FileFacts(size=skip.size, version=skip.version, reading=self.diff.limits)
        self._note(source, facts)

    def _end_file(self, entry: FileRead) -> None:
        source, row = entry.source, self.diff.rows.pop(entry.source, None)
        self.report.read += 1
        self.report.bytes += entry.size
        self.diff.mark(source)
        if row is not None:
            self.report.deleted += self._delete(self._outdated(row, self._ids))
        reading, skips = self.diff.reading_of(source), None
        if self._parts:
            skips = to_json(self._parts)
            # The next run that names a program tries pages again.
            if any(part.kind == "page" for part in self._parts):
                reading = reading.removesuffix(WITH_OCR)
        state = FileFacts(size=entry.size, version=entry.version, reading=reading, skips=skips)
        self._note(source, self._counts | state)
        self._begin("")

    def _note(self, source: str, facts: FileFacts) -> None:
        self.adder.writer.note_file(source, **facts)

    def _outdated(self, row: KnownFile, ids: Collection[str]) -> Collection[str]:
        """Return the ids of the documents of a file that are not among others.

        A file of one document that keeps it costs no look into the index.
        """
        if not row.documents or (row.documents == 1 and not row.own_ids and row.name in ids):
            return ()
        return {*self._ids_of(row)}.difference(ids)

    def _delete(self, ids: Collection[str]) -> int:
        """Delete documents that no file of this run has any more; return how many there were."""
        return self.adder.delete(sorted({*ids} - self._named.keys())) if ids else 0

    def forget(self, row: KnownFile) -> int:
        """Delete the documents of a file that is gone; return how many there were."""
        self._note(row.name, UNREAD)
        return self._delete(self._ids_of(row))

    def finish(self, *, prune: bool) -> None:
        """Delete documents of files without text; prune or count missing files."""
        # A link that is a root itself may have been read, too.
        for source in self.diff.unread(self._refused):
            skip, counts, ids = self._refused[source]
            self.report.deleted += self._delete(ids)
            self._note(source, UNREAD | counts | FileFacts(skips=to_json([skip])))
        for row, is_away in self.diff.missing():
            if not row.documents:
                if is_away or row.version is None:
                    self._note(row.name, UNREAD)
            elif is_away and prune:
                self.report.pruned += self.forget(row)
            elif is_away:
                self.report.gone += 1


def _unfinished(row: KnownFile, counts: FileFacts) -> FileFacts:
    """Return the facts of a file with documents of before beside some that were read now."""
    return FileFacts(
        documents=max(row.documents, counts["documents"]),
        own_ids=max(row.own_ids, counts["own_ids"]),
        version=None,
    )


def ids_in(store: Store) -> Callable[[KnownFile], list[str]]:
    """Return a function that gives the ids of the documents that an index holds of a file, as of the last commit."""
    own_ids: dict[str, list[str]] = {}  # by file, those that do not begin with its name, as of an id field

    def ids_of(row: KnownFile) -> list[str]:
        source, begin = row.name, f"{row.name}#"
        with store.reader() as snapshot:
            documents, keys = [snapshot.document(source)], []
            for key, id in snapshot.by_id(begin):
                if not id.startswith(begin):
                    break
                keys.append(key)
            for start in range(0, len(keys), _TOGETHER):
                documents += snapshot.documents_at(keys[start : start + _TOGETHER])
            if row.own_ids and not own_ids:
                for document in snapshot.documents():
                    if is_file(document) and not is_named_by(document.id, file := file_of(document)):
                        own_ids.setdefault(file, []).append(document.id)
        ids = [one.id for one in documents if one and is_file(one) and file_of(one) == source]
        return ids + own_ids.get(source, [])

    return ids_of


def is_named_by(id: str, source: str) -> bool:
    """Return whether an id is the name of a file, or begins with it and a hash sign."""
    return id == source or (id.startswith(f"{source}#") and len(id) > len(source) + 1)


def is_file(document: StoredDocument) -> bool:
    """Return whether a document was read from a file by a run, not added by a program."""
    return "path" in document.metadata and "size" in document.metadata


def file_of(document: StoredDocument) -> str:
    """Return the file of a document: the source of a row is `file#row`, that of a file inside it `file#path`."""
    source = document.source.rpartition("#")[0] if "row" in document.metadata else document.source
    return source.removesuffix(f"#{document.metadata['member']}") if "member" in document.metadata else source


def unsettle(snapshot: IndexSnapshot, writer: Writer, ids: Iterable[str]) -> None:
    """Let the next run read the files of these documents again, which are about to be deleted."""
    for id in ids:
        document = snapshot.document(id)
        if document is not None and is_file(document):
            writer.note_file(file_of(document), version=None)
