"""One snapshot: its files, contents, definitions, and searchers over exactly its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.detail import Detail, Symbol
from sleuth.code.parsing.labels import CATEGORIES
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.snapshots.places import Endings, Folders, Modules, is_below
from sleuth.code.snapshots.record import FileRow, Repository, SnapshotInfo, damaged
from sleuth.code.snapshots.shelf import ANALYZERS, WordLeg, WordSearcher, ranges
from sleuth.errors import ArgumentError
from sleuth.store import LegRequest, SegmentView
from sleuth.store.legs.leg import Bitmap, count, pack
from sleuth.text.analyzers import MAX_TOKEN, get_analyzer

if TYPE_CHECKING:
    from pathlib import Path

    from sleuth.code.snapshots.shelf import Shelf, Words
    from sleuth.store.record.layout import Connection

T = TypeVar("T")
_MOST_DETAILS, _MOST_CONTENTS = 4_096, 256
"""Files whose details, and whose texts, are remembered."""


class FileVersions(Protocol):
    """File versions by key, with their contents, tables, vectors and segments. `CodeStorage` is one.

    Attributes:
        path: the index folder.
    """

    path: Path
    words: Words
    shelf: Shelf

    def reading(self) -> AbstractContextManager[Connection]:
        """Return a connection for a few statements."""

    def members(self, repository: str, id: str) -> NDArray[np.int64]:
        """Keys of a snapshot's file versions, ascending."""

    def file_rows(self, keys: NDArray[np.int64]) -> list[FileRow]:
        """File versions by key, in order of key."""

    def detail(self, key: int) -> bytes:
        """Return the packed results of parsing a file version."""

    def content(self, hash: str) -> bytes:
        """Return a file's text as UTF-8."""

    def vectors(self, fingerprint: str, keys: Sequence[int]) -> dict[int, NDArray[np.float16]]:
        """Embeddings of the chunks of those file versions that have them; each of shape (chunks, dimension)."""

    def add_vectors(self, fingerprint: str, vectors: Mapping[int, NDArray[np.float16]]) -> None:
        """Keep embeddings of file versions, where this process may write."""


class PlainValues:
    """A frozen dataclass with slots, whose fields are fit for JSON."""

    __slots__: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True, eq=False)
class Definition:
    """A symbol and its file."""

    file: FileRow
    index: int
    symbol: Symbol

    @property
    def key(self) -> tuple[int, int]:
        """Equal for two objects of one definition, which may have symbols of their own."""
        return self.file.key, self.index

    def __repr__(self) -> str:
        return f"Definition({self.symbol.qualified} at {self.file.path}:{self.symbol.line})"


class Snapshot:
    """One completed snapshot, opened. Immutable; safe to share between threads.

    Attributes:
        files: its searchable file versions, in order of path: the order of keys depends on what was indexed before, and
            positions in this list break ties and order sums.
        skipped: the others, each with its reason.
        keys: keys of `files`, shape (n,).
        vectors: of its chunks, by embedder; filled by `sleuth.code.search.vectors`.
        firsts, counts: of their chunks, shape (n,).
    """

    def __init__(
        self,
        storage: FileVersions,
        repository: Repository,
        info: SnapshotInfo,
        folders: Sequence[str] = ("",),
    ) -> None:
        """Read the rows of a snapshot.

        Args:
            folders: the files below these are there, and no others.
        """
        self._shared: dict[Callable[[Snapshot], object], object] = {}
        self.storage = storage
        self.repository = repository
        self.info = info
        rows = storage.file_rows(storage.members(repository.id, info.id))
        self._within = folders
        rows = [row for row in rows if self.may_hold(row.path)]
        self.files = sorted([row for row in rows if not row.skip], key=attrgetter("path"))
        self.skipped = [row for row in rows if row.skip]
        self.keys = np.array([row.key for row in self.files], np.int64)
        self.firsts = np.array([row.first_chunk for row in self.files], np.int64)
        self.counts = np.array([row.chunks for row in self.files], np.int64)
        self.vectors: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = {}
        self._details = lru_cache(_MOST_DETAILS)(self._read_detail)
        self._contents = lru_cache(_MOST_CONTENTS)(lambda hash: LineIndex(storage.content(hash)))

    def forget_files(self) -> None:
        """Drop what was read of files, after a pass over many."""
        self._details.cache_clear()
        self._contents.cache_clear()

    def may_hold(self, path: str) -> bool:
        """Return whether a path is below the folders that this snapshot is limited to."""
        return any(is_below(path, folder) for folder in self._within)

    @cached_property
    def by_path(self) -> dict[str, int]:
        """Position in `files` by path."""
        return {row.path: i for i, row in enumerate(self.files)}

    @cached_property
    def endings(self) -> Endings:
        """Positions of files by the last one to five parts of their path."""
        return Endings(list(self.by_path), 5)

    @cached_property
    def modules(self) -> Modules:
        """Positions of files by the last parts of their path joined with dots, without extension."""
        return Modules(list(self.by_path))

    @cached_property
    def in_folder(self) -> Folders:
        """Positions of files by the last one to six parts of their folder's path."""
        return Folders(list(self.by_path))

    def shared(self, make: Callable[[Snapshot], T]) -> T:
        """Return what `make` makes of this snapshot: made once, and shared by all who ask for it."""
        value = self._shared.get(make)
        if value is None:
            value = self._shared.setdefault(make, make(self))
        return cast("T", value)

    @cached_property
    def folders(self) -> NDArray[np.int64]:
        """A number per file that is equal for files of one folder, shape (n,)."""
        numbers: dict[str, int] = {}
        folders = [numbers.setdefault(row.path.rpartition("/")[0], len(numbers)) for row in self.files]
        return np.array(folders, np.int64)

    @cached_property
    def categories(self) -> NDArray[np.int64]:
        """The category of each file, as its place in `CATEGORIES`, shape (n,)."""
        return np.array([CATEGORIES.index(row.category) for row in self.files], np.int64)

    @cached_property
    def file_words(self) -> tuple[WordSearcher, list[SegmentView]]:
        """The searcher over whole files, and its segments."""
        return self._searcher(self.storage.words.files, np.sort(self.keys))

    @cached_property
    def chunk_words(self) -> tuple[WordSearcher, list[SegmentView]]:
        """The searcher over chunks, and its segments."""
        return self._searcher(self.storage.words.chunks, self.chunk_keys)

    @cached_property
    def chunk_keys(self) -> NDArray[np.int64]:
        """Keys of all chunks, ascending."""
        return self.chunks_of(np.ones(len(self.files), np.bool_))

    def _searcher(self, leg: WordLeg, live: NDArray[np.int64]) -> tuple[WordSearcher, list[SegmentView]]:
        with self.storage.reading() as connection:
            views = self.storage.shelf.views(connection, leg, live)
        if sum(len(view) if view.live is None else count(view.live) for view in views) < len(live):
            self.storage.members(self.repository.id, self.info.id)  # raises if it was pruned since
            raise damaged(f"the {leg.name} leg of snapshot {self.info.id}")
        return leg.searcher(views), views

    @cached_property
    def _key_order(self) -> NDArray[np.int64]:
        return np.argsort(self.keys)

    def positions_of_files(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions in `files` of keys."""
        order = self._key_order
        positions: NDArray[np.int64] = order[np.searchsorted(self.keys, keys, sorter=order)]
        return positions

    @cached_property
    def _chunk_order(self) -> NDArray[np.int64]:
        positions = np.flatnonzero(self.counts > 0)
        return positions[np.argsort(self.firsts[positions], kind="stable")]

    def positions_of_chunks(self, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions in `files` of chunk keys."""
        order = self._chunk_order
        if not len(order):
            return np.zeros(0, np.int64)
        positions: NDArray[np.int64] = order[np.searchsorted(self.firsts[order], chunks, "right") - 1]
        return positions

    def bitmaps(self, views: Iterable[SegmentView], rows: NDArray[np.int64]) -> list[Bitmap | None]:
        """Per segment, the rows whose keys are among these, which ascend."""
        return [pack(np.isin(view.keys, rows)) for view in views]

    def chunks_of(self, files: NDArray[np.bool_] | Sequence[int]) -> NDArray[np.int64]:
        """Keys of all chunks of some files, ascending."""
        return np.sort(ranges(self.firsts[files], self.counts[files]))

    def select(self, condition: Callable[[FileRow], bool]) -> NDArray[np.bool_]:
        """Return which files fulfil a condition, shape (n,)."""
        return np.fromiter((condition(row) for row in self.files), bool, len(self.files))

    def detail(self, file: FileRow) -> Detail:
        """Return the results of parsing a file."""
        return self._details(file)

    def _read_detail(self, file: FileRow) -> Detail:
        detail = Detail.read(self.storage.detail(file.key), self.source(file), file.path)
        if len(detail.chunk_table) != file.chunks:
            raise damaged(f"what is kept of {file.path}")
        return detail

    def source(self, file: FileRow) -> bytes:
        """Return a file's text as UTF-8."""
        return self._contents(file.hash).source

    def lines(self, file: FileRow, first: int, last: int) -> str:
        """Return the text of lines `first` to `last`, without the newline after the last."""
        return self._contents(file.hash).cut(first, last)

    def file(self, path: str) -> FileRow:
        """Return the file at a path.

        Raises:
            ArgumentError: none there; names some that are near.
        """
        if (at := self.by_path.get(path)) is not None:
            return self.files[at]
        if (skip := next((row.skip for row in self.skipped if row.path == path), None)) is not None:
            raise ArgumentError(f"path must be a file that is indexed; {path!r} was left out: {skip}")
        import difflib

        suggestions = difflib.get_close_matches(path, list(self.by_path), 3, 0.5)
        raise ArgumentError(
            f"path must be a file of the snapshot, got {path!r}; near it: {', '.join(suggestions) or 'none'}"
        )

    def files_with(self, field: str, *names: str) -> list[int]:
        """Positions of files whose `defines` or `uses` hold one of these names, ascending; all if one is too long."""
        if max(map(len, names), default=0) > MAX_TOKEN:
            return list(range(len(self.files)))
        # `log::info` and `operator bool` are indexed by their words
        analyzer = get_analyzer(ANALYZERS["files"][field])
        words = [words_of_name[-1] for name in names if (words_of_name := [*analyzer.tokens(name)])]
        if not words:
            return []
        hits = self.file_words[0].pool({field: dict.fromkeys(words, 1.0)}, LegRequest(len(self.files)))
        return sorted(self.positions_of_files(hits.keys).tolist())

    def definitions(self, name: str) -> list[Definition]:
        """Return all definitions of a name, or of a dotted name whose last steps match, in order of path and line."""
        last_step = name.rpartition(".")[2]
        definitions = []
        for i in self.files_with("defines", last_step):
            row, detail = self.files[i], self.detail(self.files[i])
            for index in detail.places.get(last_step, ()):
                symbol = detail.symbols[index]
                if name == last_step or f".{symbol.qualified}".endswith(f".{name}"):
                    definitions.append(Definition(row, index, symbol))
        return sorted(definitions, key=lambda d: (d.file.path, d.symbol.line))
