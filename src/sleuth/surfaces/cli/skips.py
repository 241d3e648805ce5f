"""Groups skipped files by kind and reason, one line each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sleuth.ingest import Skipped
    from sleuth.ingest.reports import SkipKind

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
    largest_first = sorted(groups, key=lambda group: -len(groups[group]))
    return [_line(kind, groups[kind, reason]) for kind, reason in largest_first]


def _line(kind: SkipKind, members: Sequence[Skipped]) -> str:
    first = members[0]
    if kind == "empty":
        return f"{len(members):,} {_WORDS[kind]}"
    if len(members) == 1:
        return f"{first.source}: {first.reason}"
    is_one_reason = all(member.reason == first.reason for member in members)
    reason = first.reason if is_one_reason else f"{first.reason}, for example"
    return f"{_named(kind, members)}: {reason}"


def _named(kind: SkipKind, members: Sequence[Skipped]) -> str:
    if kind in _WORDS:
        return f"{len(members):,} {_WORDS[kind]}"
    counts = Counter(PurePath(member.source).suffix.lower() or "without extension" for member in members)
    return ", ".join(f"{count:,} {extension}" for extension, count in counts.most_common())
