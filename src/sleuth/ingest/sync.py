"""Compares the files of a run with those the index holds: what to add, to delete and to prune."""

from __future__ import annotations

from typing import Final

from sleuth.files.formats import ROWS
from sleuth.ingest.documents import UNKNOWN, Adder, State
from sleuth.ingest.known import (
    EXCESS_NOTE,
    READ_NOTE,
    Excess,
    IndexedFiles,
    KnownFile,
    KnownFiles,
)
from sleuth.ingest.loaders.registry import is_built_in, kind_of
from sleuth.ingest.names import FileNames
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import PARTS, REFUSED, FileRead, IndexReport, Skipped, Unchanged
from sleuth.ingest.validate import identify
from sleuth.ingest.walking import is_gone
from sleuth.types import Document

_WITH_OCR: Final = " ocr"
"""Ends that note for files whose pages without text a program has read."""


class Run:
    """Follows what reading yields, file by file.

    Only the last document of a file stores its size and time, so that an interrupted file is read again.
    """

    def __init__(
        self,
        adder: Adder[IndexReport],
        files: KnownFiles | IndexedFiles,
        report: IndexReport,
        names: FileNames,
    ) -> None:
        self.adder = adder
        self.files = files
        self.report = report
        self.names = names
        self.read_with(DEFAULT)
        self.pending: Document | None = None
        self.ids_of_file: set[str] = set()
        self.named: dict[str, str] = {}  # source by id, if the id is not the source
        self.unread: set[str] = set()  # files with pages that hold no text
        self.refused: dict[str, set[str]] = {}  # documents of files that no longer hold text

    def read_with(self, options: ReadOptions) -> None:
        """Set the options of the files that follow."""
        self.limits = options.limits
        self.loaders = options.loaders
        self.recognises = bool(options.ocr)
        self.readings = {rows: options.reading(rows=rows) for rows in (False, True)}
        self.readings_by_kind: dict[str, str] = {}
        self.adder.language, self.adder.loaders = options.language, options.loaders

    def unchanged(self, source: str, size: int, modified_ns: int) -> bool:
        file = self.files.get(source)
        if file is None:
            return False
        if file.excess is not None:
            return file.excess.state == (size, modified_ns) and file.excess.limits == self.limits
        if (file.size, file.modified_ns) != (size, modified_ns):
            return False
        noted, reading = file.reading, self._reading(source)
        return reading in (noted, noted.removesuffix(_WITH_OCR))  # what a program recognised stays

    def _reading(self, source: str) -> str:
        kind = kind_of(source, loaders=self.loaders)
        if kind not in self.readings_by_kind:
            if kind == "pdf" and self.recognises:
                reading = f"{self.readings[False]}{_WITH_OCR}"
            elif is_built_in(kind, self.loaders):
                reading = self.readings[kind in ROWS]
            else:  # a file is read again when its format gets a loader
                reading = f"{self.readings[True]} {kind}".strip()
            self.readings_by_kind[kind] = reading
        return self.readings_by_kind[kind]

    def take(self, entry: Document | Skipped | Unchanged | FileRead) -> None:
        if isinstance(entry, Document):
            self._take_document(entry)
        elif isinstance(entry, FileRead):
            self._release(State(entry.size, entry.modified_ns))
            self._end_file(entry)
        elif isinstance(entry, Unchanged):
            self._take_unchanged(entry.source)
        else:
            self._take_skipped(entry)
        if self.adder.commit_is_due():
            self.adder.commit()

    def _take_document(self, document: Document) -> None:
        id = identify(document)
        if document.id is not None:
            source = str(document.metadata.get("source"))
            first = self.named.setdefault(id, source)
            if first != source:
                reason = f"its id {id!r} is that of {first}: ids must be distinct"
                self.report.skipped.append(Skipped(source, reason, "row"))
                return
        self._release()
        self.pending = document
        if self.files:  # else no document is deleted for its absence: a file of rows has many ids
            self.ids_of_file.add(id)

    def _take_unchanged(self, source: str) -> None:
        file = self.files.get(source)
        if file is None:
            return
        self.files.mark(source, is_read=file.excess is None)
        if file.excess is not None:
            reason = f"{file.excess.reason}; not tried again until it changes"
            self.report.skipped.append(Skipped(source, reason, "limits"))
            return
        self.report.unchanged += file.documents
        self.named.update((id, source) for id in self.files.own_ids_of(source))

    def _take_skipped(self, skip: Skipped) -> None:
        self.report.skipped.append(skip)
        if skip.kind in PARTS:
            if skip.kind == "page":
                self.unread.add(skip.source)
            return
        self._release()
        file = self.files.get(skip.source)
        if skip.kind == "limits" and skip.size:
            excess = Excess(State(skip.size, skip.modified_ns), self.limits, skip.reason)
            self.adder.writer.note(f"{EXCESS_NOTE}{skip.source}", excess.to_note())
        if file is not None and skip.kind in REFUSED:
            self.refused[skip.source] = self.files.ids_besides(skip.source, self.ids_of_file)
        self.ids_of_file = set()
        if skip.kind != "vanished":
            self.files.mark(skip.source)

    def _release(self, state: State = UNKNOWN) -> None:
        if self.pending is not None:
            document, self.pending = self.pending, None
            self.adder.add(document, state)

    def _end_file(self, entry: FileRead) -> None:
        source = entry.source
        self.report.read += 1
        self.report.bytes += entry.size
        file = self.files.get(source) or KnownFile()
        self.files.mark(source, is_read=True)
        self.report.deleted += self._delete(self.files.ids_besides(source, self.ids_of_file))
        self.ids_of_file = set()
        if file.excess is not None:
            self.adder.writer.note(f"{EXCESS_NOTE}{source}", "")
        reading = self._reading(source)
        if source in self.unread:  # to be tried again by the next run that names a program
            reading = reading.removesuffix(_WITH_OCR)
        if file.reading != reading:
            self.adder.writer.note(f"{READ_NOTE}{source}", reading)

    def _delete(self, ids: set[str]) -> int:
        """Delete documents that no file of this run has any more; return how many there were."""
        return self.adder.delete(sorted(ids - self.named.keys())) if ids else 0

    def _forget(self, source: str, file: KnownFile, ids: set[str]) -> int:
        if file.reading:
            self.adder.writer.note(f"{READ_NOTE}{source}", "")
        if file.excess is not None:
            self.adder.writer.note(f"{EXCESS_NOTE}{source}", "")
        return self._delete(ids)

    def finish(self, *, prune: bool) -> None:
        """Add the last document; delete documents of files without text; prune or count missing files."""
        self._release()
        for source, ids in self.refused.items():
            file = self.files.get(source)
            if file and not file.is_read:  # under another name, such as a link that is a root itself
                self.report.deleted += self._forget(source, file, ids)
        for source, unseen in self.files.unseen():
            # A document that was never noted with a state may have been added by a program.
            is_known = unseen.modified_ns is not None or unseen.excess is not None
            if not is_known or not is_gone(self.names.path_of(source)):
                continue
            if prune:
                self.report.pruned += self._forget(source, unseen, {*self.files.ids_of(source)})
            else:
                self.report.gone += 1
