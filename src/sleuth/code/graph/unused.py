"""Definitions that nothing seems to use, with how sure that is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.remote import check_cancelled

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Symbol
    from sleuth.code.snapshots.record import FileRow

_WORD: Final = re.compile(rb"\w+")
_FRAGMENT: Final = re.compile(rb"(?<!\w)\w{3,}+(?<=_)(?=[%{'\"$+])")
"""A beginning of a name to which a program adds the rest, as in `getattr(self, "get_%s" % kind)`."""
_KINDS: Final = frozenset({"function", "method", "class", "struct", "interface", "trait", "enum", "macro"})
_ROOTS: Final = frozenset({"test_case", "entry_point", "api_endpoint", "constructor"})
"""Labels of definitions that frameworks and people call by other means than their name."""

HIDDEN: Final = 0.9  # its language hides the name: only a call without the name may use it
PUBLIC: Final = 0.6  # more likely unused than not, for code outside of the repository may use it
CALLED_FROM_OUTSIDE: Final = 0.3  # below the .5 that is printed by default


@dataclass(frozen=True, slots=True)
class Unused(PlainValues):
    """A definition whose name is nowhere but in itself.

    Attributes:
        confidence: .9 for a name that its language hides from other modules; .6 for a public one, which code outside of
            the repository may use; .3 where something may call it without its name: a decorator, a base class, a name
            that is put together.
        reason: why the confidence is not higher; "" for .9.
    """

    name: str
    type: str
    file_path: str
    line: int
    lines: int
    confidence: float
    reason: str = ""


def unused_definitions(snapshot: Snapshot) -> list[Unused]:
    """Return the definitions whose name stands nowhere else, the surest first, then by path and line.

    Every text counts as a use: code, comments, strings, documents and settings. So a name that several definitions
    have, or that is also a word, is never listed. Tests, entry points, endpoints, constructors and names that begin
    and end with `__` are left out.
    """
    counts: Counter[bytes] = Counter()
    fragments: set[bytes] = set()
    candidates: dict[bytes, list[tuple[FileRow, Symbol]]] = defaultdict(list)
    for file in snapshot.files:
        check_cancelled()
        text = snapshot.storage.content(file.hash)
        counts.update(_WORD.findall(text))
        fragments.update(_FRAGMENT.findall(text))
        if file.category in ("code", "test"):
            for symbol in snapshot.detail(file).symbols:
                name = symbol.name
                is_special = not name.isidentifier() or (name.startswith("__") and name.endswith("__"))
                if symbol.kind in _KINDS and not is_special and _ROOTS.isdisjoint(symbol.labels):
                    candidates[name.encode()].append((file, symbol))
    out = []
    for word, places in candidates.items():
        if len(places) != 1:
            continue
        file, symbol = places[0]
        text = snapshot.lines(file, symbol.start, symbol.end).encode("utf-8", "surrogatepass")
        if counts[word] in (1, _WORD.findall(text).count(word)):
            is_public = "public_api" in symbol.labels
            outside = "a name that is put together may mean it"
            if not any(word.startswith(fragment) for fragment in fragments):
                outside = _caller_outside(snapshot, file, symbol)
            confidence = CALLED_FROM_OUTSIDE if outside else PUBLIC if is_public else HIDDEN
            reason = outside or ("code outside of the repository may use it" if is_public else "")
            size = symbol.end - symbol.start + 1
            place = symbol.qualified, symbol.kind, file.path, symbol.line
            out.append(Unused(*place, size, confidence, reason))
    return sorted(out, key=lambda each: (-each.confidence, each.file_path, each.line))


def _caller_outside(snapshot: Snapshot, file: FileRow, symbol: Symbol) -> str:
    """Return what may call a definition without its name in the repository; "" for nothing."""
    if file.category == "test":
        return "a test framework may call it"
    head = snapshot.lines(file, symbol.start, symbol.line - 1) if symbol.start < symbol.line else ""
    if re.search(r"^\s*(?:@|#\[|\[)", head, re.M):
        return "a decorator or attribute may register it"
    if symbol.parent < 0:
        return ""
    detail = snapshot.detail(file)
    owner = detail.symbols[symbol.parent]
    if owner.kind in CONTAINERS and any(
        reference.role == "inheritance" and reference.symbol == symbol.parent
        for reference in detail.references
    ):
        return "a base class may call it"
    return ""
