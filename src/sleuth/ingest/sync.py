"""Compares the files of a run with those the index holds: what to add, to delete and to prune."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.files import ROWS
from sleuth.ingest.documents import UNKNOWN, Adder, State
from sleuth.ingest.loaders.registry import is_built_in, kind_of
from sleuth.ingest.names import FileNames, is_below
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import PARTS, REFUSED, FileRead, IndexReport, Skipped, Unchanged
from sleuth.ingest.validate import identify
from sleuth.ingest.walking import is_gone
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot, StoredDocument


@dataclass(slots=True)
class KnownFile:
    """A file as the index knows it. A run holds one for each file of the index.

    Attributes:
        ids: of its documents.
        size, modified_ns: when it was read; no time if reading did not finish.
        reading: the options that it was read with, as `ReadOptions.reading` writes them.
        excess: what it exceeded when it was last tried.
        is_seen, is_read: whether this run has met it, and has read it or need not.
    """

    ids: list[str] = field(default_factory=list)
    size: int = 0
    modified_ns: int | None = None
    reading: str = ""
    excess: Excess | None = None
    is_seen: bool = False
    is_read: bool = False


class Excess(NamedTuple):
    """A file that exceeded a limit of reading.

    Attributes:
        state: its size and time then.
        limits: as `ReadOptions.limits` writes them.
        reason: which one it exceeded.
    """

    state: State
    limits: str
    reason: str

    def to_note(self) -> str:
        return json.dumps([*self.state, self.limits, self.reason])

    @classmethod
    def from_note(cls, note: str) -> Excess | None:
        """Return what `to_note` wrote; None for anything else."""
        try:
            size, modified_ns, limits, reason = json.loads(note)
        except ValueError:
            return None
        return cls(State(size, modified_ns), str(limits), str(reason))


def known_files(snapshot: IndexSnapshot, roots: Iterable[str]) -> dict[str, KnownFile]:
    """Return the files below the named roots that the index holds documents of, by name."""
    files: dict[str, KnownFile] = {}
    notes = snapshot.notes()
    for root in roots:
        own: dict[str, KnownFile] = {}
        for document in snapshot.documents(under=root or None):
            source = file_of(document)
            # Other documents may have such a source, too; and the file beside a root may be named `root#1`.
            if is_file(document) and is_below(source, root):
                file = own.get(source)
                if file is None:
                    file = own[source] = KnownFile(reading=notes.get(_note(source), ""))
                file.ids.append(document.id)
                if document.modified_ns is not None:
                    file.size, file.modified_ns = document.size, document.modified_ns
        for source, file in own.items():
            files.setdefault(source, file)  # a root may lie below another
        for name, note in notes.items():
            source = name.removeprefix(EXCESS_NOTE)
            if source != name and is_below(source, root):
                files.setdefault(source, KnownFile()).excess = Excess.from_note(note)
    return files


def is_file(document: StoredDocument) -> bool:
    """Return whether a document was read from a file by a run, not added by a program."""
    return document.modified_ns is not None or (
        "path" in document.metadata and "modified" in document.metadata
    )


def file_of(document: StoredDocument) -> str:
    """Return the file of a document: the source of a row is `file#row`, that of a file inside it `file#path`."""
    source = document.source.rpartition("#")[0] if "row" in document.metadata else document.source
    return source.removesuffix(f"#{document.metadata['member']}") if "member" in document.metadata else source


EXCESS_NOTE: Final = "limits "
"""Begins the name of the note of a file that exceeded one."""
READ_NOTE: Final = "read "
"""Begins the name of the note of the options that a file was read with."""
_WITH_OCR: Final = " ocr"
"""Ends that note for files whose pages without text a program has read."""


def _note(source: str) -> str:
    return f"{READ_NOTE}{source}"


class Run:
    """Follows what reading yields, file by file.

    Only the last document of a file stores its size and time, so that an interrupted file is read again.
    """

    def __init__(
        self,
        adder: Adder[IndexReport],
        files: dict[str, KnownFile],
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
        self.adder.language = options.language

    def unchanged(self, source: str, size: int, modified_ns: int) -> bool:
        file = self.files.get(source)
        if file is None:
            return False
        if file.excess is not None:
            return file.excess.state == (size, modified_ns) and file.excess.limits == self.limits
        reading = self._reading(source)
        if reading == file.reading.removesuffix(_WITH_OCR):  # what a program recognised stays
            reading = file.reading
        return (file.size, file.modified_ns) == (size, modified_ns) and file.reading == reading

    def _reading(self, source: str) -> str:
        kind = kind_of(source, loaders=self.loaders)
        if kind == "pdf" and self.recognises:
            return f"{self.readings[False]}{_WITH_OCR}"
        if is_built_in(kind, self.loaders):
            return self.readings[kind in ROWS]
        return f"{self.readings[True]} {kind}".strip()  # a file is read again when its format gets a loader

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
        file = self.files[source]
        file.is_seen = True
        if file.excess is not None:
            reason = f"{file.excess.reason}; not tried again until it changes"
            self.report.skipped.append(Skipped(source, reason, "limits"))
            return
        file.is_read = True
        self.report.unchanged += len(file.ids)
        self.named.update((id, source) for id in file.ids if not id.startswith(source))

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
            self.refused[skip.source] = {*file.ids} - self.ids_of_file
        self.ids_of_file = set()
        if file is not None and skip.kind != "vanished":
            file.is_seen = True

    def _release(self, state: State = UNKNOWN) -> None:
        if self.pending is not None:
            document, self.pending = self.pending, None
            self.adder.add(document, state)

    def _end_file(self, entry: FileRead) -> None:
        source = entry.source
        self.report.read += 1
        self.report.bytes += entry.size
        file = self.files.get(source, KnownFile())
        file.is_seen = file.is_read = True
        self.report.deleted += self._delete({*file.ids} - self.ids_of_file)
        self.ids_of_file = set()
        if file.excess is not None:
            self.adder.writer.note(f"{EXCESS_NOTE}{source}", "")
        reading = self._reading(source)
        if source in self.unread:  # to be tried again by the next run that names a program
            reading = reading.removesuffix(_WITH_OCR)
        if file.reading != reading:
            self.adder.writer.note(_note(source), reading)

    def _delete(self, ids: set[str]) -> int:
        """Delete documents that no file of this run has any more; return how many there were."""
        return self.adder.delete(sorted(ids - self.named.keys())) if ids else 0

    def _forget(self, source: str, ids: set[str]) -> int:
        if self.files[source].reading:
            self.adder.writer.note(_note(source), "")
        if self.files[source].excess is not None:
            self.adder.writer.note(f"{EXCESS_NOTE}{source}", "")
        return self._delete(ids)

    def finish(self, *, prune: bool) -> None:
        """Add the last document; delete documents of files without text; prune or count missing files."""
        self._release()
        for source, ids in self.refused.items():
            if not self.files[source].is_read:  # under another name, such as a link that is a root itself
                self.report.deleted += self._forget(source, ids)
        for source, file in self.files.items():
            # A document that was never noted with a state may have been added by a program.
            is_known = file.modified_ns is not None or file.excess is not None
            if file.is_seen or not is_known or not is_gone(self.names.path_of(source)):
                continue
            if prune:
                self.report.pruned += self._forget(source, {*file.ids})
            else:
                self.report.gone += 1
