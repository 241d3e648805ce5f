"""Records of a run: files found, skipped, unchanged or read; progress; and the totals at the end."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

if TYPE_CHECKING:
    from sleuth.store import KnownFile

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
    "no prose",
    "row",
    "member",
    "page",
]
REFUSED: Final[frozenset[SkipKind]] = frozenset({"binary", "link", "special", "empty", "invalid", "no prose"})
"""Kinds that mean a file holds no text (any more); with the other kinds, its text could not be read."""

MOST_SKIPS: Final = 2_000
"""Skips that are remembered of a file, and that are listed of an index."""
LIMITS: Final = "limits "
"""Begins the reading of files that exceeded one of these."""
_KINDS: Final = frozenset(get_args(SkipKind))

PARTS: Final[frozenset[SkipKind]] = frozenset({"row", "member", "page"})
"""Kinds that concern a part of a file; the rest of it was read."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file that was found and may be read.

    Attributes:
        file: the path to open; holds surrogates if the name is not UTF-8. "" where its `Source` is asked for it.
        source: its name everywhere in the index, see `FileNames`; printable and UTF-8.
        size: bytes.
        modified_ns: time of last change, nanoseconds since 1970 UTC; None where nobody knows it.
        etag: changes when the content or `metadata` does; a source may leave it to its time.
        kind: of its format, such as "markdown"; "" to tell it from the name and the first bytes.
        metadata: of all its documents; replaces what is read from the file. Key `principals` lists who may read it.
        content: where a `Source` has it as soon as it lists the file.
    """

    file: str
    source: str
    size: int
    modified_ns: int | None
    etag: str = ""
    kind: str = ""
    metadata: Mapping[str, Any] | None = None
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, folder, link, row, page or member of an archive without a document.

    Attributes:
        path: its name in the index, see `FileNames`; followed by `#row` for a row, by `#path` for a file inside it.
        reason: one clause, fit for a list.
        kind: for counting and for deciding what to say.
        size, version: of a file that exceeded a limit, so that it is not tried again until it changes.
    """

    path: str
    reason: str
    kind: SkipKind = "unreadable"
    size: int = field(default=0, repr=False, compare=False)
    version: str = field(default="", repr=False, compare=False)

    @property
    def source(self) -> str:
        """The path, by the name it has in the other records."""
        return self.path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def to_json(skips: Iterable[Skipped]) -> str | None:
    """Return what `skips_of` reads; None of nothing."""
    rows = sorted({(skip.path, skip.reason, skip.kind) for skip in skips})
    return json.dumps(rows[:MOST_SKIPS], ensure_ascii=False) if rows else None


def skips_of(row: KnownFile) -> list[Skipped]:
    """Return what could not be read of a file; [] for what a later release wrote otherwise."""
    try:
        return [
            Skipped(str(path), str(reason), kind)
            for path, reason, kind in json.loads(row.skips or "[]")
            if kind in _KINDS
        ]
    except (ValueError, TypeError):
        return []


def has_exceeded(row: KnownFile) -> bool:
    """Return whether a file exceeded a limit of reading when it was last tried."""
    return row.reading.startswith(LIMITS)


@dataclass(slots=True)
class LeftOut:
    """Names that a walk skipped, counted during the walk; a folder with all its contents counts once.

    Attributes:
        hidden: names that start with a dot, except those of version control and of ignore files.
        ignored: names that ignore files leave out.
    """

    hidden: int = 0
    ignored: int = 0


class Unchanged(NamedTuple):
    """A file that has not changed and was not read.

    Attributes:
        row: what the index knows of it.
    """

    row: KnownFile

    @property
    def source(self) -> str:
        """Its name."""
        return self.row.name

    @property
    def size(self) -> int:
        """Bytes."""
        return self.row.size

    @property
    def skips(self) -> list[Skipped]:
        """The limit that the file exceeded; [] for a file that was read."""
        if not has_exceeded(self.row):
            return []
        skips = skips_of(self.row)
        return [replace(skip, reason=f"{skip.reason}; not tried again until it changes") for skip in skips]


class FileRead(NamedTuple):
    """The end of a file, after its documents.

    Attributes:
        source: as in `FileEntry`: the `source` of its document, or that of its rows up to `#`.
        size, version: the size and the `etag` of the `FileEntry`, for the comparison of the next run.
        documents: their number.
    """

    source: str
    size: int
    version: str
    documents: int


@dataclass(frozen=True, slots=True)
class GoneRoot:
    """A root that is gone, and whose documents are still in the index.

    Attributes:
        name: what the root was named.
        documents: how many there are.
        moved_to: the folder that holds files of the same content; None if no folder of this run does.
        equal: share of the compared documents whose content is there, 0 to 1.
    """

    name: str
    documents: int
    moved_to: str | None = None
    equal: float = 0.0


class MoveReport(NamedTuple):
    """The result of moving documents.

    Attributes:
        moved: documents that have a new name.
        replaced: documents that were deleted, because the index holds one of the new name.
    """

    moved: int
    replaced: int


@dataclass(slots=True)
class AddReport:
    """The result of adding documents.

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
    """The result of indexing files and folders.

    Attributes:
        read: files that were read.
        bytes: of those files.
        deleted: documents deleted because their file no longer holds them.
        pruned: documents deleted because their file is gone.
        skipped: files and rows that could not be read, with the reason.
        gone: files that are gone and whose documents are still in the index.
        gone_roots: roots that are gone, with the folders that they have become.
        hidden, ignored: names that were left out, as in `LeftOut`.
        documents, passages: totals in the index now.
        interrupted: whether Ctrl-C ended it; what was read is committed.
    """

    read: int = 0
    bytes: int = 0
    deleted: int = 0
    pruned: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    gone: int = 0
    gone_roots: list[GoneRoot] = field(default_factory=list)
    hidden: int = 0
    ignored: int = 0
    documents: int = 0
    passages: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of `Engine.index`.

    Attributes:
        files, bytes: done so far.
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
        report: the result so far.
    """

    def __init__(self, report: IndexReport) -> None:
        super().__init__()
        self.report = report


_WORDS: dict[SkipKind, str] = {"row": "rows", "link": "links", "empty": "empty"}
"""Names of groups by kind; groups of other kinds are named by the extensions of their files."""
_varying = re.compile(r"\d[\d,.]*|'[^']*'|(?<= to ).*")


def grouped(skips: Iterable[Skipped]) -> list[str]:
    """Return a line for each kind and reason, the largest groups first: `54 .xlsx, 49 .pptx: binary`.

    Reasons that differ only in numbers and names are one group. A group of a single file names it.
    """
    groups: dict[tuple[SkipKind, str], list[Skipped]] = defaultdict(list)
    for skip in skips:
        groups[skip.kind, _varying.sub("…", skip.reason)].append(skip)
    lines = []
    for kind, reason in sorted(groups, key=lambda group: -len(groups[group])):
        members = groups[kind, reason]
        first, names = members[0], f"{len(members):,} {_WORDS.get(kind)}"
        if kind not in _WORDS:
            suffixes = (PurePath(member.source).suffix.lower() or "without extension" for member in members)
            names = ", ".join(f"{count:,} {suffix}" for suffix, count in Counter(suffixes).most_common())
        example = "" if all(member.reason == first.reason for member in members) else ", for example"
        if kind == "empty":
            lines.append(names)
        elif len(members) == 1:
            lines.append(f"{first.source}: {first.reason}")
        else:
            lines.append(f"{names}: {first.reason}{example}")
    return lines
