"""Records of a run: files found, skipped, unchanged or read; progress; and the totals at the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

SkipKind: TypeAlias = Literal[
    "binary",
    "oversized",
    "link",
    "special",
    "permission",
    "vanished",
    "missing package",
    "limits",
    "unreadable",
    "empty",
    "invalid",
    "row",
]
REFUSED: Final[frozenset[SkipKind]] = frozenset({"binary", "link", "special", "empty", "invalid"})
"""Kinds by which a file is known to hold no text (any more); by the others its text could not be had."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file that was found and may be read.

    Attributes:
        file: the path to open; holds surrogates where the name is not UTF-8.
        source: its absolute path, printable and UTF-8: names the file everywhere in the index.
        path: relative to the root it was found under; the name of the file where it is a root itself.
        size: bytes.
        modified_ns: time of last change, nanoseconds since 1970 UTC.
    """

    file: str
    source: str
    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, folder, link or row that gave no document.

    Attributes:
        path: absolute; `#row` follows where a row was skipped.
        reason: one clause, fit for a list.
        kind: for counting and for deciding what to say.
    """

    path: str
    reason: str
    kind: SkipKind = "unreadable"

    @property
    def source(self) -> str:
        """The path, by the name it has in the other records."""
        return self.path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(slots=True)
class LeftOut:
    """What a walk passed over, counted while it goes on; a folder counts once, with all that lies in it.

    Attributes:
        hidden: names that start with a dot, without those of version control and of ignore files.
        ignored: names that ignore files leave out.
    """

    hidden: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file that the caller knows already: seen, not read."""

    source: str


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file whose documents have all been given; follows them.

    Attributes:
        source: as in `FileEntry`: the `source` of its document, or that of its rows up to `#`.
        size, modified_ns: what `unchanged` is to be asked about next time.
        documents: how many it gave.
    """

    source: str
    size: int
    modified_ns: int
    documents: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading has come.

    Attributes:
        files, bytes: dealt with so far: read, unchanged or skipped.
        total_files, total_bytes: None until all folders have been walked.
    """

    files: int
    bytes: int
    total_files: int | None = None
    total_bytes: int | None = None


@dataclass(slots=True)
class AddReport:
    """What an add did.

    Attributes:
        added, updated, unchanged: documents.
        seconds: wall time.
        version: the version of the index after the last commit.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    version: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)


@dataclass(slots=True)
class IndexReport(AddReport):
    """What reading files and folders did.

    Attributes:
        read: files that were read.
        bytes: of those files.
        deleted: documents deleted because their file no longer gives them.
        pruned: documents deleted because their file is gone.
        skipped: what could not be read, with the reason.
        hidden, ignored: names that were left out, as in `LeftOut`.
        documents, passages: what the index holds now.
        interrupted: whether Ctrl-C ended it; what was read is committed.
    """

    read: int = 0
    bytes: int = 0
    deleted: int = 0
    pruned: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    hidden: int = 0
    ignored: int = 0
    documents: int = 0
    passages: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far `index` has come.

    Attributes:
        files, bytes: dealt with so far.
        total_files: None until all folders have been walked.
        seconds: since the start.
    """

    files: int
    bytes: int
    total_files: int | None
    seconds: float


class IndexInterrupted(KeyboardInterrupt):
    """Ctrl-C during `Engine.index`. What was read is committed.

    Attributes:
        report: what was done so far.
    """

    def __init__(self, report: IndexReport) -> None:
        super().__init__()
        self.report = report
