"""The files that an index holds, as a run compares them with those on disk."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.ingest.documents import State
from sleuth.ingest.names import is_below

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot
    from sleuth.store.store import Store
    from sleuth.types import StoredDocument

EXCESS_NOTE: Final = "limits "
"""Begins the name of the note of a file that exceeded one."""
READ_NOTE: Final = "read "
"""Begins the name of the note of the options that a file was read with."""
_FEW: Final = 1_000
"""Documents that are read together."""


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


@dataclass(slots=True)
class KnownFile:
    """A file as the index knows it.

    Attributes:
        ids: of its documents; none where the collection of the file asks the index for them.
        size, modified_ns: when it was read; no time if reading did not finish.
        reading: the options that it was read with, as `ReadOptions.reading` writes them.
        excess: what it exceeded when it was last tried.
        is_seen, is_read: whether this run has met it, and has read it or need not.
        documents: how many it has.
    """

    ids: Sequence[str] = ()
    size: int = 0
    modified_ns: int | None = None
    reading: str = ""
    excess: Excess | None = None
    is_seen: bool = False
    is_read: bool = False
    documents: int = 0


class KnownFiles(dict[str, KnownFile]):
    """Files by name, all in memory."""

    def unseen(self) -> Iterator[tuple[str, KnownFile]]:
        """Yield those that this run has not met."""
        yield from ((source, file) for source, file in self.items() if not file.is_seen)

    def mark(self, source: str, *, is_read: bool = False) -> None:
        """Note that this run has met a file, and whether it has read it or need not."""
        if file := self.get(source):
            file.is_seen, file.is_read = True, file.is_read or is_read

    def ids_of(self, source: str) -> Sequence[str]:
        """Return the ids of the documents of a file."""
        return self[source].ids if source in self else ()

    def own_ids_of(self, source: str) -> Sequence[str]:
        """Return ids that do not begin with the name of the file, such as those of an id field."""
        return [id for id in self.ids_of(source) if not _is_named_by(id, source)]

    def ids_besides(self, source: str, ids: set[str]) -> set[str]:
        """Return the ids of the documents of a file that are not among others."""
        return {*self.ids_of(source)} - ids


class IndexedFiles:
    """The files of an index in 33 bytes each, found by hashes of their names; ids are asked of the index when needed.

    The hash is that of Python, which has another key in each process. So nobody can choose names with equal hashes, and
    files that share one by chance differ in the next run.

    Attributes:
        names: hashes, ascending.
        sizes, times, readings: when each was read, as of `KnownFile`; `readings` are places in `spellings`.
        counts: of the documents of each.
        flags: of each, as `HAS_STATE` and others.
        own_ids, excesses: of the few files that have such, by name, as of `KnownFile`.
    """

    HAS_STATE, IS_ONE_OF_ITS_IDS, IS_SEEN, IS_READ = 1, 2, 4, 8

    def __init__(self, store: Store, roots: Sequence[str]) -> None:
        """Read which files below the named roots the index holds documents of."""
        self._store, self._roots = store, roots
        self._source, self._place = "", -1  # of the last file that was asked for
        self._file: KnownFile | None = None
        self.names, self.sizes, self.times = array("Q"), array("q"), array("q")
        self.counts, self.readings, self.flags = array("I"), array("I"), array("B")
        self.own_ids: dict[str, list[str]] = {}
        self.excesses: dict[str, Excess] = {}
        numbers = {"": 0}
        with store.reader() as snapshot:
            notes = snapshot.notes()
            for source, document in files_below(snapshot, roots):
                reading = notes.get(f"{READ_NOTE}{source}", "")
                self._add(source, document, numbers.setdefault(reading, len(numbers)))
        self.spellings = list(numbers)
        for name, note in notes.items():
            source = name.removeprefix(EXCESS_NOTE)
            excess = Excess.from_note(note) if source != name else None
            if excess and any(is_below(source, root) for root in roots):
                self._add(source)
                self.excesses[source] = excess
        if self.names:
            self._sort()

    def __len__(self) -> int:
        return len(self.names)

    def _add(self, source: str, document: StoredDocument | None = None, reading: int = 0) -> None:
        """Add a document of a file, or a file without one."""
        name = _hash(source)
        if not self.names or self.names[-1] != name:
            self.names.append(name)
            for values in (self.sizes, self.times, self.counts, self.flags):
                values.append(0)
            self.readings.append(reading)
        if document is None:
            return
        self.counts[-1] += 1
        if document.modified_ns is not None:
            self.sizes[-1], self.times[-1] = document.size, document.modified_ns
            self.flags[-1] |= self.HAS_STATE
        if document.id == source:
            self.flags[-1] |= self.IS_ONE_OF_ITS_IDS
        elif not _is_named_by(document.id, source):
            self.own_ids.setdefault(source, []).append(document.id)

    def _sort(self) -> None:
        """Order the files by hash, and join what was added of one file at several times."""
        import numpy as np

        order = np.argsort(np.asarray(self.names), kind="stable")
        names, flags = np.asarray(self.names)[order], np.asarray(self.flags)[order]
        firsts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
        states = np.maximum.reduceat(np.where(flags & self.HAS_STATE, np.arange(len(order)), 0), firsts)
        places = order[np.maximum(states, firsts)]  # of the last document that notes the state of the file
        counts = np.add.reduceat(np.asarray(self.counts)[order], firsts, dtype=np.uint32)
        self.sizes, self.times, self.readings = (
            array(values.typecode, np.asarray(values)[places].tobytes())
            for values in (self.sizes, self.times, self.readings)
        )
        self.names, self.counts = array("Q", names[firsts].tobytes()), array("I", counts.tobytes())
        self.flags = array("B", np.bitwise_or.reduceat(flags, firsts).tobytes())

    def _place_of(self, source: str) -> int:
        """Return the place of a file in the arrays; -1 if the index does not know it."""
        if source is not self._source:  # a file is asked for several times in a row
            name = _hash(source)
            place = bisect_left(self.names, name)
            is_there = place < len(self.names) and self.names[place] == name
            self._source, self._place, self._file = source, place if is_there else -1, None
        return self._place

    def get(self, source: str) -> KnownFile | None:
        """Return what the index knows of a file, without the ids of its documents."""
        place = self._place_of(source)
        if self._file is None and place >= 0:
            flags = self.flags[place]
            self._file = KnownFile(
                size=self.sizes[place],
                modified_ns=self.times[place] if flags & self.HAS_STATE else None,
                reading=self.spellings[self.readings[place]],
                excess=self.excesses.get(source),
                is_seen=bool(flags & self.IS_SEEN),
                is_read=bool(flags & self.IS_READ),
                documents=self.counts[place],
            )
        return self._file

    def mark(self, source: str, *, is_read: bool = False) -> None:
        """Do as `KnownFiles.mark`."""
        if (place := self._place_of(source)) >= 0:
            self.flags[place] |= self.IS_SEEN | (self.IS_READ if is_read else 0)
            self._file = None

    def unseen(self) -> Iterator[tuple[str, KnownFile]]:
        """Yield the files that this run has not met, each once."""
        if all(flags & self.IS_SEEN for flags in self.flags):
            return
        with self._store.reader() as snapshot:
            for source in chain((source for source, _ in files_below(snapshot, self._roots)), self.excesses):
                file = self.get(source)
                if file is not None and not file.is_seen:
                    self.mark(source)
                    yield source, file

    def ids_of(self, source: str) -> list[str]:
        """Return the ids of the documents of a file, as of the last commit."""
        begin = f"{source}#"
        with self._store.reader() as snapshot:
            documents, keys = [snapshot.document(source)], _keys_below(snapshot, begin)
            while page := list(islice(keys, _FEW)):
                documents += snapshot.documents_at(page)
        ids = [row.id for row in documents if row and is_file(row) and file_of(row) == source]
        return ids + self.own_ids.get(source, [])

    def own_ids_of(self, source: str) -> Sequence[str]:
        """Do as `KnownFiles.own_ids_of`."""
        return self.own_ids.get(source, ())

    def ids_besides(self, source: str, ids: set[str]) -> set[str]:
        """Do as `KnownFiles.ids_besides`; a file of one document that keeps it costs no look into the index."""
        place = self._place_of(source)
        is_kept = source in ids and self.flags[place] & self.IS_ONE_OF_ITS_IDS
        if place < 0 or (is_kept and self.counts[place] == 1):
            return set()
        return {*self.ids_of(source)} - ids


def files_below(snapshot: IndexSnapshot, roots: Sequence[str]) -> Iterator[tuple[str, StoredDocument]]:
    """Yield the documents of files below these names, each once, with the names of their files."""
    for number, root in enumerate(roots):
        roots_before = roots[:number]
        for document in snapshot.documents(under=root or None):
            source = file_of(document)
            # Other documents may have such a source, too; and the file beside a root may be named `root#1`.
            is_new = is_below(source, root) and not (
                roots_before and any(is_below(source, one) for one in roots_before)
            )
            if is_new and is_file(document):
                yield source, document


def is_file(document: StoredDocument) -> bool:
    """Return whether a document was read from a file by a run, not added by a program."""
    return document.modified_ns is not None or (
        "path" in document.metadata and "modified" in document.metadata
    )


def file_of(document: StoredDocument) -> str:
    """Return the file of a document: the source of a row is `file#row`, that of a file inside it `file#path`."""
    source = document.source.rpartition("#")[0] if "row" in document.metadata else document.source
    return source.removesuffix(f"#{document.metadata['member']}") if "member" in document.metadata else source


def _keys_below(snapshot: IndexSnapshot, begin: str) -> Iterator[int]:
    """Yield the keys of documents whose ids begin so, and are longer."""
    for key, id in snapshot.by_id(begin):
        if not id.startswith(begin):
            return
        yield key


def _hash(source: str) -> int:
    return hash(source) & 0xFFFF_FFFF_FFFF_FFFF


def _is_named_by(id: str, source: str) -> bool:
    """Return whether an id is the name of a file, or begins with it and a hash sign."""
    return id == source or (id.startswith(f"{source}#") and len(id) > len(source) + 1)
