"""What an indexing run did, as it is reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class CodeIndexReport:
    """What an indexing run did.

    Attributes:
        repository, snapshot: their ids; `names` are the branches and tags of the snapshot.
        files: listed by the snapshot; `added` of them were new to the index.
        chunks: of the new files.
        skipped: (path, reason) of files that are not searched; also of those that this run could not parse and that
            are searched as plain text.
        commits: of the history, recorded by this run; `commits_left` are for the next one.
        history_error: why no more of them could be read, "" otherwise.
        seconds: wall time.
        submodules: reports of those that were indexed as repositories of their own.
    """

    repository: str
    path: str
    snapshot: str
    names: tuple[str, ...] = ()
    files: int = 0
    added: int = 0
    chunks: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    commits: int = 0
    commits_left: int = 0
    history_error: str = ""
    seconds: float = 0.0
    submodules: list[CodeIndexReport] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {"names": list(self.names), "submodules": [part.to_dict() for part in self.submodules]}

    def all(self) -> Iterator[CodeIndexReport]:
        """Yield this report and those of all submodules, each before the ones inside it."""
        yield self
        for submodule in self.submodules:
            yield from submodule.all()
