"""What a snapshot reads of the storage that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    import numpy as np

    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.shelf import Shelf
    from sleuth.code.snapshots.words import Words
    from sleuth.store.record.layout import Connection


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
