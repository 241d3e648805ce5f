"""Looks definitions up by name: in a snapshot, in a file, along imports; and chooses among those of one scope."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sleuth.code.graph.modules import files_of, nearest
from sleuth.code.parsing.kinds import CONTAINERS, YIELDING
from sleuth.code.parsing.language import Import
from sleuth.code.parsing.languages import ways_of
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

MODULES = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages whose modules export the names at the top of their files."""
REEXPORTS = 6
"""How many modules may lead from an import to what it means."""
_OVERLOAD = re.compile(r"^\s*@(?:\w+\.)?overload\b", re.MULTILINE)
_OVERLOADED = frozenset({"typescript", "tsx"})
"""Languages in which functions of one name and scope are declarations of the last one."""
_TYPES = frozenset({"interface", "type", "module"})
"""Kinds of definitions that are no values."""
_OF_VALUES = frozenset({"call", "instantiation", "value"})
"""Roles in which a name that is a type and a value means the value."""
_STYLED = frozenset({"css", "html", "vue", "svelte"})
"""Pages use the names that styles define."""
_MOST_FILES = 2_000


class NamedDefinitions:
    """Definitions by name at one snapshot, also behind what files import and modules offer from others.

    Remembers what it looked up. Safe to share between threads.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.places = lru_cache(_MOST_FILES)(self._places)
        self.named = lru_cache(maxsize=20_000)(
            lambda name: [
                d for d in snapshot.definitions(name) if d.symbol.kind != "impl"
            ]  # which has its type's name
        )
        self.targets = lru_cache(maxsize=50_000)(self._imported)

    def _places(self, file: FileRow) -> dict[str, list[int]]:
        """Return the places of a file's symbols by name."""
        places: dict[str, list[int]] = {}
        for i, symbol in enumerate(self._snapshot.detail(file).symbols):
            if symbol.kind != "impl":
                places.setdefault(symbol.name, []).append(i)
        return places

    def nearest(self, file: FileRow, candidates: Sequence[Definition]) -> Definition:
        """Return the first of the candidates whose file is nearest to a file."""
        positions = [self._snapshot.by_path[d.file.path] for d in candidates]
        best = nearest(self._snapshot, file, positions)[0]
        return next(d for d in candidates if d.file.path == self._snapshot.files[best].path)

    def rust_module(self, file: FileRow, steps: list[str]) -> tuple[list[int], list[str]]:
        """Return the files of the longest module that a path of Rust begins with, and the rest of the path."""
        for size in range(len(steps), 0, -1):
            item = Import("::".join(steps[: size - 1]), steps[size - 1], "")
            positions, name = files_of(self._snapshot, file, item)
            if positions:
                return positions, steps[size - 1 :] if name else steps[size:]
        return [], []

    def module(self, file: FileRow, item: Import, depth: int = REEXPORTS) -> list[int]:
        """Positions of the files of the module that an import brings in, [] where it brings in something else."""
        positions, name = files_of(self._snapshot, file, item)
        return positions if name in ("", "*") else self.module_in(file, positions, name, depth)

    def module_in(self, file: FileRow, positions: list[int], name: str, depth: int) -> list[int]:
        """Positions of the files of a module that others offer under a name, as `export * as name` does."""
        for i in positions[:3] if depth > 0 and file.language in MODULES else ():
            row = self._snapshot.files[i]
            for statement in self._passed_on(file, row, name):
                if deeper := self.module(row, statement, depth - 1):
                    return deeper
            if row.path.endswith("__init__.py"):  # a package has the modules that somebody imports from it
                inside, remainder = files_of(self._snapshot, row, Import(".", name, name))
                if not remainder:
                    return inside
        return []

    def _imported(self, file: FileRow, item: Import, depth: int = REEXPORTS) -> list[Definition]:
        """Return the definition that an import means, following re-exports."""
        positions, name = files_of(self._snapshot, file, item)
        if name in ("", "*"):
            return []
        return self.behind(file, positions, item.alias if name == "default" else name, depth)

    def behind(self, file: FileRow, positions: list[int], name: str, depth: int) -> list[Definition]:
        """Definitions of a name at the top of these files, or else behind what they bring in under it."""
        definitions = self.inside(positions, name)
        if definitions or depth <= 0:
            return definitions
        for i in positions[:3]:
            row = self._snapshot.files[i]
            for statement in self._passed_on(file, row, name):
                if definitions := self._imported(row, statement, depth - 1):
                    return definitions
        return []

    def _passed_on(self, file: FileRow, row: FileRow, name: str) -> list[Import]:
        """Return the imports of another file that may bring in a name, as statements that name it."""
        imports = self._snapshot.detail(row).imports if row.key != file.key else []
        return [
            item._replace(name=name, alias=name) if item.name == "*" else item
            for item in imports
            if item.alias == name or item.name == "*"
        ]

    def inside(self, positions: list[int], name: str) -> list[Definition]:
        """Definitions of a name at the top of these files."""
        keys = {self._snapshot.files[i].key for i in positions}
        definitions = []
        for definition in self.named(name) if keys else ():
            file, parent = definition.file, definition.symbol.parent
            is_inside = parent >= 0 and file.language in MODULES
            if parent >= 0 and file.language == "rust":
                is_inside = self._snapshot.detail(file).symbols[parent].kind != "module"
            if file.key in keys and not is_inside:
                definitions.append(definition)
        # A later definition replaces an earlier one.
        if all(d.file.language == "python" for d in definitions):
            definitions.sort(key=lambda d: (d.symbol.kind in YIELDING, -d.index))
        return definitions


def speak_alike(one: FileRow, other: FileRow) -> bool:
    """Return whether code of one file's language can use what the other defines."""
    a, b = one.language, other.language
    return a == b or (ways_of(a).family or a) == (ways_of(b).family or b) or {a, b} <= _STYLED


def meant(snapshot: Snapshot, definition: Definition, role: str) -> Definition:
    """Return what a use means, where a scope of Python or TypeScript has several definitions of a name.

    It is of overloads the one that has a body, and of a type and a value of one name the one that fits the role.

    Args:
        definition: one of the definitions of the name in its scope.
        role: of the use, as far as types and values differ.
    """
    file, symbol = definition.file, definition.symbol
    symbols = snapshot.detail(file).symbols
    is_function = symbol.kind in ("function", "method")
    is_script = file.language in _OVERLOADED
    in_interface = symbol.parent >= 0 and symbols[symbol.parent].kind == "interface"
    if (is_script and in_interface) or not (is_script or (file.language == "python" and is_function)):
        return definition
    twins_by_number = snapshot.detail(file).symbols_named(symbol.name)
    twins = [Definition(file, i, twin) for i, twin in twins_by_number if twin.parent == symbol.parent]
    if not is_script:
        head = snapshot.lines(file, symbol.start, symbol.line) if len(twins) > 1 else ""
        return twins[-1] if _OVERLOAD.search(head) else definition
    selection: list[Definition] = []
    if role == "type":
        selection = [twin for twin in twins if twin.symbol.kind in CONTAINERS or twin.symbol.kind == "type"]
    elif (symbol.kind in _TYPES and role in _OF_VALUES) or (is_function and not symbol.has_body):
        values = [twin for twin in twins if twin.symbol.kind not in _TYPES]
        later = [twin for twin in values if twin.index > definition.index and twin.symbol.has_body]
        selection = later or values[-1:]
    return selection[0] if selection else definition
