"""What is known of a repository's files before they are listed."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sleuth.code.repository.listing import FileTime, Listed

if TYPE_CHECKING:
    from sleuth.code.repository.git import Index

Pair = tuple[str, str]
"""Path and hash: a file version."""


@dataclass(slots=True)
class Recall:
    """What a run of this process saw of the files on disk or of a commit; the next listing starts from there.

    Attributes:
        index: of git.
        known: the file versions that were known, which divide files into `trusted` and `unknown`.
        trusted: tracked files whose content, as the index says, is known; in order.
        unknown: the other tracked files.
        keys: of file versions that were listed, as `keyed` has them.
        commit: the last one that was read from git, and not from disk; `committed` are its files.
    """

    index: Index | None = None
    known: Container[Pair] = ()
    trusted: list[Listed] = field(default_factory=list)
    unknown: set[bytes] = field(default_factory=set)
    keyed: Mapping[Pair, int] | None = None
    keys: dict[Listed, int] = field(default_factory=dict)
    commit: str = ""
    committed: list[Listed] = field(default_factory=list)

    def keys_of(self, entries: Sequence[Listed], key_by_pair: Mapping[Pair, int]) -> list[int | None]:
        """Return the key of each file version; None for unknown ones."""
        if self.keyed is not key_by_pair:  # another mapping: the keys that are remembered are of the last one
            self.keyed, self.keys = key_by_pair, {}
        keys = list(map(self.keys.get, entries))
        for i in [i for i, key in enumerate(keys) if key is None]:
            path, hash, skip = file = entries[i]
            key = keys[i] = key_by_pair.get((path, hash or f"skip {skip}"))
            if key is not None:
                self.keys[file] = key
        return keys


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs know of a repository.

    Attributes:
        recall: what the last listing of this process saw; a listing brings it up to date.
        known: file versions that need not be read.
        times: of an earlier listing: a file whose size and time are the same is not read again.
        without: a folder that is no part of the repository: the index itself.
    """

    recall: Recall = field(default_factory=Recall)
    known: Container[Pair] = ()
    times: Mapping[str, FileTime] = field(default_factory=dict)
    without: Path | None = None
