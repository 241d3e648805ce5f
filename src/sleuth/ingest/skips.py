"""Remembers which files runs could not read, so that people see them later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, get_args

from sleuth.ingest.names import is_below
from sleuth.ingest.reports import PARTS, SkipKind, Skipped

if TYPE_CHECKING:
    from sleuth.store import Writer

SKIPS_NOTE: Final = "skipped"
MOST_REMEMBERED: Final = 2_000
_KINDS: Final = frozenset(get_args(SkipKind))


def skips_in(notes: Mapping[str, str]) -> list[Skipped]:
    """Return what an index remembers, in order of path; [] for what a later release wrote otherwise.

    Args:
        notes: of the index.
    """
    try:
        return [
            Skipped(str(path), str(reason), kind)
            for path, reason, kind in json.loads(notes.get(SKIPS_NOTE, "[]"))
            if kind in _KINDS
        ]
    except (ValueError, TypeError):
        return []


def note_of_skips(skips: Iterable[Skipped]) -> str:
    """Return what `skips_in` reads, of the first `MOST_REMEMBERED` in order of path; "" of none."""
    rows = sorted({(skip.path, skip.reason, skip.kind) for skip in skips if skip.kind != "vanished"})
    return json.dumps(rows[:MOST_REMEMBERED], ensure_ascii=False) if rows else ""


class RememberedSkips:
    """What earlier runs could not read, while a run reads some of it again."""

    def __init__(self, notes: Mapping[str, str], roots: Sequence[str]) -> None:
        """Read what an index remembers.

        Args:
            notes: of the index.
            roots: names of the files and folders that the run reads.
        """
        self._note = notes.get(SKIPS_NOTE, "")
        self._skips, self._roots = skips_in(notes), roots
        self._partly_read = {name for skip in self._skips if skip.kind in PARTS for name in _files(skip)}
        self._unchanged: set[str] = set()

    def unchanged(self, source: str) -> None:
        """Note that the run did not read a file again, so that parts of it stay unread."""
        if source in self._partly_read:
            self._unchanged.add(source)

    def replace(self, writer: Writer, skips: Iterable[Skipped]) -> None:
        """Remember what the run could not read, in place of all that it tried again."""
        note = note_of_skips([*skips, *filter(self._holds, self._skips)])
        if note != self._note:
            writer.note(SKIPS_NOTE, note)

    def _holds(self, skip: Skipped) -> bool:
        names = _files(skip)
        if skip.kind in PARTS and not self._unchanged.isdisjoint(names):
            return True
        return not any(is_below(name, root) for name in names for root in self._roots)


def _files(skip: Skipped) -> list[str]:
    """Return what may be the name of the file of a skip: its path, and for a part all before any `#` of it."""
    if skip.kind not in PARTS:
        return [skip.path]
    return list(accumulate(skip.path.split("#"), "{}#{}".format))
