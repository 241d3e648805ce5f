"""Navigation for agents: folders, definitions, references, callers and the impact of a change."""

from __future__ import annotations

import difflib
import string
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sleuth.arguments import check_count, check_name
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.types import CERTAIN
from sleuth.code.graph.walker import GraphWalker, describe
from sleuth.code.snapshots.snapshot import Definition, PlainValues, Snapshot
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled
from sleuth.text.spelling import spellings_near

_LETTERS = string.ascii_letters + string.digits + "_"
_MOST_STEPS = 6
"""Steps of a dotted name that are looked up one after the other: package, module, class, method, and two to spare."""
_MOST_FILES = 2_000
"""Files whose definitions are compared with a name that nothing has."""


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
        likely = self._snapshot.files_with("defines", *spellings_near(name, _LETTERS))
        for rows in ([files[at] for at in likely], files):
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
        out: list[Touched] = []
        while queue:
            definition, distance, sure = queue.popleft()
            for file, reference, confidence in self._walker.uses(definition):
                key = (file.key, reference.symbol)
                if key in visited:
                    continue
                visited.add(key)
                weakest = min(sure, confidence)
                symbol = (
                    self._snapshot.detail(file).symbols[reference.symbol] if reference.symbol >= 0 else None
                )
                place, through = describe(file, symbol), definition.symbol.qualified
                out.append(Touched(**place, hops=distance + 1, confidence=weakest, through=through))
                if symbol is not None and distance + 1 < hops:
                    queue.append((Definition(file, reference.symbol, symbol), distance + 1, weakest))
        return sorted(out, key=lambda t: (t.hops, -t.confidence, t.file_path, t.line))

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
        touched = set()
        for number in {number for span in ranges for number in span}:
            around = [i for i, symbol in enumerate(symbols) if symbol.start <= number <= symbol.end]
            if around:
                touched.add(max(around, key=lambda i: (symbols[i].start, i)))
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
