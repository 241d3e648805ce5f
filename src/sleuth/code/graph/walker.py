"""Walks the graph around a piece of code: container, callees, callers and siblings."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

from sleuth.code.graph.bindings import is_variable
from sleuth.code.graph.inference import OWN_OBJECT
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.rules import CERTAIN
from sleuth.code.parsing.detail import Symbol
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.parsing.names import Reference, grouped
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled

EXPANSIONS = ("callers", "callees", "siblings", "implementations", "tests")
_ROOT = re.compile(r"(?:[^\w$@]|(?:await|new)\b)*([$@]*[^\W\d]\w*)")
_BASE = re.compile(r"(?:super|base)\b")
_PLAIN = re.compile(r"[\w.$:@\\>-]+$")
_LANGUAGE_WORDS = """
self this cls super print len range str int float bool list dict set tuple isinstance issubclass getattr
setattr hasattr enumerate zip sorted repr type iter next min max sum any all map filter open vars id object
property staticmethod classmethod require echo printf make append cap panic string error
"""
_LANGUAGE_NAMES = frozenset(_LANGUAGE_WORDS.split())
_MOST = 20
_MOST_NAMES = 1_000
"""Names whose uses are remembered."""


class Use(NamedTuple):
    """A reference that means a definition, and how sure that is, in [0, 1]."""

    file: FileRow
    reference: Reference
    confidence: float


class GraphWalker:
    """Walks the graph of one snapshot: contains, calls, instantiates, inherits, imports."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_target = lru_cache(_MOST_NAMES)(self._uses_by_target)

    def parent(self, file: FileRow, symbol: int, *, inside: bool) -> dict[str, Any] | None:
        """Return the container of a definition; with `inside`, the definition itself."""
        symbols = self._snapshot.detail(file).symbols
        at = symbol if inside else (symbols[symbol].parent if symbol >= 0 else -1)
        if at < 0:
            return None
        container = symbols[at]
        kind = "class" if container.kind == "impl" else container.kind
        return {"type": kind, "name": container.name, "line": container.line}

    def outgoing(self, file: FileRow, first: int, last: int) -> list[dict[str, Any]]:
        """Names of other places that lines `first` to `last` use, once per role, with definitions where they are known.

        Left out are what these lines define themselves, parameters, variables, and names whose use says nothing.
        """
        detail = self._snapshot.detail(file)
        symbols = detail.symbols
        inner_names = set()  # what functions in these lines define inside of them
        for symbol in symbols[bisect_left(symbols, first, key=lambda symbol: symbol.start) :]:
            if symbol.start > last:
                break
            if symbol.parent >= 0 and symbols[symbol.parent].kind not in CONTAINERS:
                inner_names.add(symbol.name)
        use_by_name: dict[tuple[str, str], dict[str, Any]] = {}
        visited: set[tuple[str, str, int]] = set()
        for reference in detail.references_between(first, last):
            name = full_name(reference)
            key = (name, reference.role, reference.symbol)
            if not name or key in visited:
                continue
            visited.add(key)
            described = self._described(file, reference, name)
            match = _ROOT.match(reference.qualifier or reference.name)
            root = match[1] if match else ""
            is_own = (
                reference.role != "import"
                and not (reference.qualifier and root in OWN_OBJECT)
                and (root in inner_names or is_variable(detail, reference, root, first, last))
            )
            if "file_path" not in described:
                says_something = reference.role != "reference" and (  # unlike `"".join` and `len`
                    _PLAIN.match(reference.qualifier) is not None
                    if reference.qualifier
                    else reference.name not in _LANGUAGE_NAMES
                )
                is_elsewhere = not is_own and says_something
            else:
                is_inside = described["file_path"] == file.path and first <= described["line"] <= last
                is_elsewhere = not is_inside and (not is_own or bool(reference.qualifier))
            if is_elsewhere:
                use_by_name.setdefault((name, reference.role), described)
        return list(use_by_name.values())

    def _described(self, file: FileRow, reference: Reference, name: str) -> dict[str, Any]:
        use: dict[str, Any] = {"name": name, "role": reference.role}
        target = resolver_of(self._snapshot).resolve(file, reference)
        if target is not None:
            definition = target.definition
            if reference.role == "instantiation" and definition.symbol.kind in ("function", "method"):
                use["role"] = "call"
            elif reference.role == "call" and definition.symbol.kind in ("class", "struct"):
                use["role"] = "instantiation"
            use["file_path"] = definition.file.path
            use["line"] = definition.symbol.line
            use["confidence"] = target.confidence
        elif reference.role in ("call", "instantiation"):
            external_name = resolver_of(self._snapshot).external_name(file, reference)
            if external_name not in ("", name):
                use["external_name"] = external_name
        return use

    def related(self, definition: Definition, kinds: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Return what surrounds a definition, by kind of relation.

        Args:
            kinds: among `EXPANSIONS`.
        """
        related: dict[str, list[dict[str, Any]]] = {}
        for kind in kinds:
            if kind not in EXPANSIONS:
                raise ArgumentError(f"expand must be among {', '.join(EXPANSIONS)}, got {kind!r}")
            related[kind] = getattr(self, kind)(definition)[:_MOST]
        return related

    def uses(self, definition: Definition, known: Set[tuple[int, int]] = frozenset()) -> list[Use]:
        """References that mean a definition or a method that it overrides, but is not `known`, by path and line."""
        overridden = {method.key for method in resolver_of(self._snapshot).overridden(definition)} - known
        keys, by_target = {definition.key}, self._by_target(definition.symbol.name)
        places = (place for key in keys | overridden for place in by_target.get(key, ()))
        uses = (Use(*place, self.confidence(*place, keys, overridden)) for place in places)
        return sorted([u for u in uses if u.confidence], key=lambda use: (use.file.path, use.reference.line))

    def _uses_by_target(self, name: str) -> dict[tuple[int, int] | None, list[tuple[FileRow, Reference]]]:
        """Return the references of a name by the key of the definition that they mean."""
        targets = {use: resolver_of(self._snapshot).resolve(*use) for use in self.references(name)}
        return grouped(targets, lambda use: target.definition.key if (target := targets[use]) else None)

    def references(self, name: str) -> Iterator[tuple[FileRow, Reference]]:
        """Yield all references of a name, also by an alias, each with its file."""
        for i in self._snapshot.files_with("uses", name):
            check_cancelled()
            file = self._snapshot.files[i]
            for reference in self._snapshot.detail(file).uses_of(name):
                yield file, reference

    def confidence(
        self, file: FileRow, use: Reference, keys: Set[tuple[int, int]], overridden: Set[tuple[int, int]]
    ) -> float:
        """Return how sure a use means one of some definitions, or a method that they override; 0 where it does not."""
        target = resolver_of(self._snapshot).resolve(file, use)
        if target is None or target.definition.key in keys:
            return 0.0 if target is None else target.confidence
        owner = target.definition.symbol.qualified.split(".")[-2:-1]
        names_base = _BASE.match(use.qualifier) or use.qualifier.split(".")[-1:] == owner
        is_other = names_base or target.definition.key not in overridden
        return 0.0 if is_other else min(CERTAIN, target.confidence)

    def callers(self, definition: Definition) -> list[dict[str, Any]]:
        """Definitions that call or instantiate this one."""
        callers: dict[tuple[str, int], dict[str, Any]] = {}
        for file, reference, confidence in self.uses(definition):
            if reference.role not in ("call", "instantiation"):
                continue
            symbol = self._snapshot.detail(file).symbols[reference.symbol] if reference.symbol >= 0 else None
            key = (file.path, reference.symbol)
            use = {"at": reference.line, "confidence": confidence, "certain": confidence >= CERTAIN}
            callers.setdefault(key, describe(file, symbol) | use)
        return list(callers.values())

    def callees(self, definition: Definition) -> list[dict[str, Any]]:
        """Definitions in the repository that this one uses."""
        symbol = definition.symbol
        uses = self.outgoing(definition.file, symbol.start, symbol.end)
        return [d for d in uses if "file_path" in d and d["role"] in ("call", "instantiation")]

    def siblings(self, definition: Definition) -> list[dict[str, Any]]:
        """Other definitions in the same container."""
        detail = self._snapshot.detail(definition.file)
        members = detail.members[definition.symbol.parent]
        siblings = (detail.symbols[at] for at in members if at != definition.index)
        return [describe(definition.file, s) for s in siblings if s.kind not in ("constant", "attribute")]

    def implementations(self, definition: Definition) -> list[dict[str, Any]]:
        """Classes that inherit from this one; for a method, the same method of those."""
        symbol = definition.symbol
        if symbol.kind not in CONTAINERS:
            if symbol.parent < 0:
                return []
            symbols = self._snapshot.detail(definition.file).symbols
            owner = Definition(definition.file, symbol.parent, symbols[symbol.parent])
            return [
                describe(d.file, d.symbol)
                for heir in resolver_of(self._snapshot).heirs(owner)
                for d in self._snapshot.definitions(symbol.name)
                if d.symbol.qualified == f"{heir.symbol.qualified}.{symbol.name}"
                and d.file.key == heir.file.key
            ]
        return [describe(d.file, d.symbol) for d in resolver_of(self._snapshot).heirs(definition)]

    def tests(self, definition: Definition) -> list[dict[str, Any]]:
        """Tests that use this definition, or where none does by name, those of files that are named after its file."""
        callers = self.callers(definition)
        direct = [c for c in callers if self._snapshot.file(c["file_path"]).category == "test"]
        if direct:
            return direct
        stem = definition.file.path.rpartition("/")[2].rpartition(".")[0].strip("_")
        pattern = re.compile(rf"(?:tests?_)?{re.escape(stem)}(?:_?[tT]ests?|\.test|\.spec|_spec)?")
        rows = [row for row in self._snapshot.files if row.category == "test"]
        test_files = [
            row for row in rows if pattern.fullmatch(row.path.rpartition("/")[2].rpartition(".")[0])
        ]
        return [{"file_path": row.path, "line": 1, "name": "", "type": "file"} for row in test_files]


def describe(file: FileRow, symbol: Symbol | None) -> dict[str, Any]:
    """Return a definition for people and JSON, or the top of the file."""
    if symbol is None:
        return {"name": "", "type": "module", "file_path": file.path, "line": 1}
    return {"name": symbol.qualified, "type": symbol.kind, "file_path": file.path, "line": symbol.line}


def full_name(reference: Reference) -> str:
    """Return a used name as it is written, such as `stripe.charge`; only its last part where the qualifier is long."""
    name, qualifier = reference.name, reference.qualifier
    if reference.role == "import":
        return f"{qualifier.rstrip('.')}.{name}" if qualifier else name
    is_short = _PLAIN.match(qualifier) and len(qualifier) < 80
    return f"{qualifier}.{name}" if is_short else name
