"""Values that the store returns: tuples without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypedDict, cast

_PARTS: Final = frozenset({"row", "member"})
"""Metadata keys of documents that are a part of their file."""


class Known(NamedTuple):
    """Facts that show whether a document has changed, without its text.

    Attributes:
        content_hash: hex, as it was put.
        modified: the time of its file in its metadata, which the hash does not cover; None of a row or a member, whose
            time may be an earlier one.
    """

    content_hash: str
    modified: str | None = None

    @classmethod
    def of(cls, content_hash: str, values: Mapping[str, Any]) -> Known:
        """Return the facts of a document with these metadata."""
        modified = values.get("modified")
        is_time = isinstance(modified, str) and not _PARTS.intersection(values)
        return cls(content_hash, modified if is_time else None)

    def is_kept_by(self, stored: Known) -> bool:
        """Return whether a stored document is the same."""
        return self.content_hash == stored.content_hash and self.modified in (None, stored.modified)


class FileFacts(TypedDict, total=False):
    """Some of the attributes of a `KnownFile`."""

    documents: int
    own_ids: int
    size: int
    version: str | None
    reading: str
    options: str | None
    skips: str | None


class KnownFile(NamedTuple):
    """What the index knows of a file, of a folder that was indexed by name, or of anything that could not be read.

    Attributes:
        name: see `FileNames` of ingest.
        documents: how many the index holds of it.
        own_ids: how many of them have ids that do not begin with its name.
        size: in bytes, when it was read.
        version: changes with its content: the time of a file in ns, the ETag of an object; None where reading it did
            not finish.
        reading: the options that it was read with, as ingest writes them.
        options: JSON of those that were named for it and for all below it; None where none were.
        skips: JSON of what could not be read, and why; None for nothing.
    """

    name: str
    documents: int = 0
    own_ids: int = 0
    size: int = 0
    version: str | None = None
    reading: str = ""
    options: str | None = None
    skips: str | None = None

    @property
    def facts(self) -> FileFacts:
        """All but the name."""
        values = self._asdict()
        del values["name"]
        return cast("FileFacts", values)


class Row(NamedTuple):
    """A chunk as the record holds it.

    Attributes:
        key: its name inside the package; never shown to users.
        id: `document_id#n`.
        n: its place among the chunks of its document, from 0.
        metadata: source, title, heading, page and lines, the document's metadata laid over them, the chunk's over both.
        fields: other searchable texts, such as `heading`.
        start, end: character offsets in the document, half open.
        start_line, end_line: 1-based, inclusive; both 0 where lines of the text are not lines of its file.
        page: 1-based, or None.
    """

    key: int
    id: str
    document_id: str
    n: int
    text: str
    metadata: Mapping[str, Any]
    fields: Mapping[str, str]
    start: int
    end: int
    start_line: int
    end_line: int
    page: int | None


class RecordedPassage(NamedTuple):
    """A passage as it was put, without what the passages of its document share.

    Attributes:
        start: character offset in the document.
        line: the first one; 0 where lines of the text are not lines of its file.
        lines: how many follow it.
        fields, metadata: as JSON, or None.
    """

    text: str
    page: int | None
    start: int
    line: int
    lines: int
    fields: str | None
    metadata: str | None


class Counts(NamedTuple):
    """How much one version holds."""

    documents: int
    chunks: int


class Repair(NamedTuple):
    """Something that was mended: on opening, on demand, or in the memory of a process that may not write.

    Attributes:
        what: the leg, segment or file.
        why: what was wrong, and what was done about it.
    """

    what: str
    why: str


class Finding(NamedTuple):
    """One thing that a check of the index or of its environment found.

    Attributes:
        level: "error" where answers may be wrong or rows are lost, "warning" where nothing is lost, "info" for what is
            optional and absent, "ok" for a proof.
        subject: the file, leg, table or package.
        remedy: what to do, as a command where there is one; empty for "ok".
    """

    level: Literal["ok", "info", "warning", "error"]
    subject: str
    message: str
    remedy: str = ""


class LegStatus(NamedTuple):
    """One leg of one version.

    Attributes:
        fingerprint: of its newest segment, or empty.
        rows: rows in its segments, dead ones included.
        dead: rows in its segments that are deleted.
        uncovered: rows of the record that are in none of its segments.
        bytes: of its segments.
    """

    name: str
    fingerprint: str
    segments: int
    rows: int
    dead: int
    uncovered: int
    bytes: int


class Status(NamedTuple):
    """The store at a glance.

    Attributes:
        version: grows by one with every commit that changed rows.
        record_bytes: of the SQLite database and its log.
        holder: who holds the writer's lock (pid, host, command, since), or None.
        changed_at: when the last commit was, in seconds since 1970; None where that is unknown.
    """

    path: str
    format: int
    version: int
    counts: Counts
    record_bytes: int
    legs: tuple[LegStatus, ...]
    tombstones: int
    settings: Mapping[str, Any]
    holder: Mapping[str, Any] | None = None
    damage: tuple[str, ...] = ()
    changed_at: float | None = None
