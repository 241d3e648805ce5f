"""Navigation: definitions, references, callers, the impact of a change, paths of calls, and what nothing uses."""

from __future__ import annotations

import difflib
import re
import string
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sleuth.arguments import check_count, check_name
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.rules import CERTAIN, Resolved
from sleuth.code.graph.walker import GraphWalker, describe
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.snapshot import Definition, PlainValues, Snapshot
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled
from sleuth.text.spelling import spellings_near

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Symbol
    from sleuth.code.snapshots.record import FileRow

_LETTERS = string.ascii_letters + string.digits + "_"
_MOST_STEPS = 6
"""Steps of a dotted name that are looked up one after the other: package, module, class, method, and two to spare."""
_MOST_FILES = 2_000
"""Files whose definitions are compared with a name that nothing has."""
_MOST_REACHED: Final = 20_000
"""Definitions that are looked at for a path of calls."""
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
class Touched(PlainValues):
    """A definition that a change may touch.

    Attributes:
        hops: how many uses away it is from the change; 1 uses it directly.
        confidence: of the weakest link between them.
        through: qualified name of the definition one hop nearer.
    """

    name: str
    type: str
    file_path: str
    line: int
    hops: int
    confidence: float
    through: str

    @property
    def certain(self) -> bool:
        """Whether no link between them is a guess by a method's name."""
        return self.confidence >= CERTAIN


class Navigator:
    """Reads one snapshot. Paths are relative to the repository's root; lines are 1-based and inclusive."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._walker = GraphWalker(snapshot)

    def find_definition(self, name: str) -> list[dict[str, Any]]:
        """Return where a name, or a dotted name whose last steps match, is defined; code before tests."""
        definitions = sorted(
            self._snapshot.definitions(check_name(name)),
            key=lambda d: (d.file.category != "code", d.file.path, d.symbol.line),
        )
        return [
            describe(d.file, d.symbol)
            | {
                "signature": d.symbol.signature,
                "doc": d.symbol.doc,
                "end_line": d.symbol.end,
                "labels": list(d.symbol.labels),
            }
            for d in definitions
        ]

    def find_references(self, name: str) -> list[dict[str, Any]]:
        """Return every use of a name, with its role and the definition that is meant, where known, by path and line.

        A name with dots counts uses that mean that definition, or a method that it overrides, and those of its last
        part that may: their `certain` is False, and they stand last. A use is not certain if nothing says what it
        means, or if the name alone does.
        """
        last_step = check_name(name).rpartition(".")[2]
        definitions = self._snapshot.definitions(name) if "." in name else []
        targets = {d.key for d in definitions} if "." in name else None
        resolver = resolver_of(self._snapshot)
        overridden = {method.key for d in definitions for method in resolver.overridden(d)}
        references = []
        for file, reference in self._walker.references(last_step):
            target_or_none = resolver.resolve(file, reference)
            target = target_or_none.definition if target_or_none is not None else None
            confidence = target_or_none.confidence if target_or_none is not None else 0.0
            if targets is not None:
                confidence = self._walker.confidence(file, reference, targets, overridden)
                if (target is not None and not confidence) or (target is None and reference.role == "import"):
                    continue
            symbols = self._snapshot.detail(file).symbols
            inside = symbols[reference.symbol].qualified if reference.symbol >= 0 else ""
            references.append(
                {
                    "file_path": file.path,
                    "line": reference.line,
                    "role": reference.role,
                    "inside": inside,
                    "text": self._snapshot.lines(file, reference.line, reference.line).strip(),
                    "definition": describe(target.file, target.symbol) if target is not None else None,
                    "confidence": confidence,
                    "certain": confidence >= CERTAIN,
                }
            )
        return sorted(references, key=lambda r: (not r["certain"], r["file_path"], r["line"]))

    def uncertain_uses(self, name: str) -> list[dict[str, Any]]:
        """Return the uses of the bare name that may mean this definition or something else, as `find_references` does.

        Nothing says what they mean, so `impact` leaves them out.
        """
        uses = self.find_references(name.rpartition(".")[2])
        return [use for use in uses if use["definition"] is None and use["role"] != "import"]

    def near(self, name: str) -> list[str]:
        """Return names of definitions that are spelled like this one, at most three.

        Of a dotted name each step may be misspelled: `Modle.save` and `Model.svae` give `Model.save`. If nothing is
        called like its last step, the part before it is looked up, unless it has more than `_MOST_STEPS` steps.
        """
        check_cancelled()
        name = check_name(name).strip(".")
        prefix, _, last_step = name.rpartition(".")
        if not prefix.strip(". "):
            return self._spelled_like(last_step, 3)
        steps = name.count(".") + 1
        qualified_names = {
            ".".join(definition.symbol.qualified.split(".")[-steps:])
            for spelling in {last_step, *self._spelled_like(last_step, 10)}
            for definition in self._snapshot.definitions(spelling)
        }
        matches = difflib.get_close_matches(name, sorted(qualified_names), 3)
        return matches or (self.near(prefix) if steps <= _MOST_STEPS else [])

    def _spelled_like(self, name: str, most: int) -> list[str]:
        files = self._snapshot.files
        likely_files = self._snapshot.files_with("defines", *spellings_near(name, _LETTERS))
        for rows in ([files[at] for at in likely_files], files):
            names = set[str]()
            for row in rows[:_MOST_FILES]:
                check_cancelled()
                symbols = self._snapshot.detail(row).symbols
                names.update(symbol.name for symbol in symbols if symbol.name[:1].lower() == name[:1].lower())
            if spellings := difflib.get_close_matches(name, sorted(names), most):
                return spellings
        return []

    def callers(self, name: str) -> list[dict[str, Any]]:
        """Definitions that call or instantiate what the name means."""
        callers = [c for d in self._known(name) for c in self._walker.callers(d)]
        return sorted(callers, key=lambda c: (c["file_path"], c["line"]))

    def impact(self, name: str, hops: int = 2) -> list[Touched]:
        """Return what a change of this definition may affect: its users, their users, and so on; nearest first.

        Args:
            hops: how far to go, 1 or more.

        Raises:
            ArgumentError: nothing of that name is defined, or hops below 1.
        """
        return self.impact_of(self._known(name), hops)

    def impact_of(self, definitions: Iterable[Definition], hops: int = 2) -> list[Touched]:
        """`impact` of several definitions together, without themselves.

        Raises:
            ArgumentError: hops below 1.
        """
        check_count(hops, "hops", least=1)
        start = list(definitions)
        visited = {d.key for d in start}
        queue: deque[tuple[Definition, int, float]] = deque((d, 0, 1.0) for d in start)
        touched: list[Touched] = []
        overridden = set[tuple[int, int]]()
        while queue:
            definition, distance, certainty = queue.popleft()
            uses = self._walker.uses(definition, overridden)
            overridden |= {method.key for method in resolver_of(self._snapshot).overridden(definition)}
            for file, reference, confidence in uses:
                key = (file.key, reference.symbol)
                if key in visited:
                    continue
                visited.add(key)
                weakest = min(certainty, confidence)
                symbols = self._snapshot.detail(file).symbols
                symbol = symbols[reference.symbol] if reference.symbol >= 0 else None
                place, through = describe(file, symbol), definition.symbol.qualified
                touched.append(Touched(**place, hops=distance + 1, confidence=weakest, through=through))
                if symbol is not None and distance + 1 < hops:
                    queue.append((Definition(file, reference.symbol, symbol), distance + 1, weakest))
        return sorted(touched, key=lambda t: (t.hops, -t.confidence, t.file_path, t.line))

    def _known(self, name: str) -> list[Definition]:
        definitions = self._snapshot.definitions(check_name(name))
        if not definitions:
            suggestions = ", ".join(self.near(name)) or "nothing"
            raise ArgumentError(f"name must be defined in the snapshot, got {name!r}; near it: {suggestions}")
        return definitions


def definitions_at(snapshot: Snapshot, lines: Mapping[str, Iterable[range]]) -> list[Definition]:
    """Return the innermost definitions that hold any of these lines, in order of path and line."""
    definitions = []
    for path, ranges in sorted(lines.items()):
        if path not in snapshot.by_path:
            continue
        file = snapshot.file(path)
        symbols = snapshot.detail(file).symbols
        innermost = np.full(file.lines + 1, -1)
        for i, symbol in enumerate(symbols):  # containers come first
            innermost[symbol.start : symbol.end + 1] = i
        touched = {int(at) for span in ranges for at in innermost[span.start : span.stop]} - {-1}
        definitions += [Definition(file, i, symbols[i]) for i in sorted(touched)]
    return definitions


def affected_tests(snapshot: Snapshot, definitions: Iterable[Definition], hops: int = 5) -> list[Touched]:
    """Return the definitions in tests that reach any of these by uses, the nearest and most certain first.

    A test that is among the definitions itself is 0 hops away.
    """
    definitions = list(definitions)
    tests = [
        Touched(d.symbol.qualified, d.symbol.kind, d.file.path, d.symbol.line, 0, 1.0, d.symbol.qualified)
        for d in definitions
        if d.file.category == "test"
    ]
    touched = Navigator(snapshot).impact_of(definitions, hops)
    return tests + [t for t in touched if snapshot.file(t.file_path).category == "test" and t.name]


@dataclass(frozen=True, slots=True)
class Hop(PlainValues):
    """A definition on a path.

    Attributes:
        line: where it is defined.
        called_at: the line of the call in the definition before; 0 for the first.
        confidence: of that call; 1 for the first.
    """

    name: str
    type: str
    file_path: str
    line: int
    called_at: int = 0
    confidence: float = 1.0


def call_path(snapshot: Snapshot, start: str, end: str, hops: int = 10) -> list[Hop]:
    """Return a shortest chain of calls from one definition to another, both included, or an empty one.

    A class is reached by making an object of it, and reaches what its constructor calls. Calls of an unknown receiver
    count where the name has one meaning; their confidence is low.

    Args:
        hops: calls at most.

    Raises:
        ArgumentError: nothing of these names is defined, or hops below 1.
    """
    check_count(hops, "hops", least=1)
    names = ((start, "start"), (end, "end"))
    origins, ends = (snapshot.definitions(check_name(name, argument)) for name, argument in names)
    if not (origins and ends):
        argument, name = ("end", end) if not ends else ("start", start)
        raise ArgumentError(f"{argument} must be defined in the snapshot, got {name!r}")
    goals = {d.key for d in ends}
    arrivals: dict[tuple[int, int], tuple[Definition, Hop] | None] = {d.key: None for d in origins}
    queue = deque((d, 0) for d in origins)
    while queue and len(arrivals) < _MOST_REACHED:
        definition, distance = queue.popleft()
        if definition.key in goals:
            chain: list[Hop] = []
            while (step := arrivals[definition.key]) is not None:
                definition, hop = step
                chain.append(hop)
            return [_hop(definition), *reversed(chain)]
        if distance == hops:
            continue
        check_cancelled()
        for target, line in _calls(snapshot, definition):
            called = target.definition
            if called.key not in arrivals:
                arrivals[called.key] = definition, _hop(called, line, target.confidence)
                queue.append((called, distance + 1))
    return []


def _hop(definition: Definition, called_at: int = 0, confidence: float = 1.0) -> Hop:
    symbol = definition.symbol
    return Hop(symbol.qualified, symbol.kind, definition.file.path, symbol.line, called_at, confidence)


def _calls(snapshot: Snapshot, definition: Definition) -> list[tuple[Resolved, int]]:
    """Return what a definition calls, with the line, the most certain first."""
    detail = snapshot.detail(definition.file)
    bodies = [definition.symbol]
    if definition.symbol.kind in CONTAINERS:
        members = (detail.symbols[at] for at in detail.members.get(definition.index, ()))
        bodies = [member for member in members if "constructor" in member.labels]
    calls: list[tuple[float, int, int, Resolved]] = []
    for body in bodies:
        for reference in detail.references_between(body.start, body.end):
            if reference.role not in ("call", "instantiation"):
                continue
            target = resolver_of(snapshot).resolve(definition.file, reference)
            if target is not None:
                calls.append((-target.confidence, reference.line, len(calls), target))
    return [(target, line) for _, line, _, target in sorted(calls)]


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
    unused = []
    for word, places in candidates.items():
        if len(places) != 1:
            continue
        file, symbol = places[0]
        text = snapshot.lines(file, symbol.start, symbol.end).encode("utf-8", "surrogatepass")
        if counts[word] in (1, _WORD.findall(text).count(word)):
            is_public = "public_api" in symbol.labels
            caller = "a name that is put together may mean it"
            if not any(word.startswith(fragment) for fragment in fragments):
                caller = _caller_outside(snapshot, file, symbol)
            confidence = CALLED_FROM_OUTSIDE if caller else PUBLIC if is_public else HIDDEN
            reason = caller or ("code outside of the repository may use it" if is_public else "")
            size = symbol.end - symbol.start + 1
            place = symbol.qualified, symbol.kind, file.path, symbol.line
            unused.append(Unused(*place, size, confidence, reason))
    return sorted(unused, key=lambda each: (-each.confidence, each.file_path, each.line))


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
    is_member = detail.symbols[symbol.parent].kind in CONTAINERS
    return "a base class may call it" if is_member and symbol.parent in detail.heritage else ""
