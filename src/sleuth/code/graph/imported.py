"""Follows imports to the definitions that they bring in, along what modules offer from others."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sleuth.code.graph.modules import files_of
from sleuth.code.parsing.kinds import YIELDING
from sleuth.code.parsing.language import Import

if TYPE_CHECKING:
    from sleuth.code.graph.names import NamedDefinitions
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition, Snapshot

MODULES = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages whose modules export the names at the top of their files."""
REEXPORTS = 6
"""How many modules may lead from an import to what it means."""


class Imported:
    """What imports and modules offer at one snapshot."""

    def __init__(self, snapshot: Snapshot, names: NamedDefinitions) -> None:
        self._snapshot = snapshot
        self._names = names
        self.targets = lru_cache(maxsize=50_000)(self._imported)

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
            for inner in self._snapshot.detail(row).imports:
                if row.key != file.key and (inner.alias == name or inner.name == "*"):
                    statement = inner if inner.name != "*" else inner._replace(name=name, alias=name)
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
            for inner in self._snapshot.detail(row).imports:
                if row.key != file.key and (inner.alias == name or inner.name == "*"):
                    statement = inner if inner.name != "*" else inner._replace(name=name, alias=name)
                    definitions = self._imported(row, statement, depth - 1)
                    if definitions:
                        return definitions
        return []

    def inside(self, positions: list[int], name: str) -> list[Definition]:
        """Definitions of a name at the top of these files."""
        keys = {self._snapshot.files[i].key for i in positions}
        if not keys:
            return []
        definitions = [d for d in self._names.named(name) if d.file.key in keys]
        definitions = [d for d in definitions if d.symbol.parent < 0 or not self._is_hidden(d)]
        # A later definition replaces an earlier one.
        if all(d.file.language == "python" for d in definitions):
            definitions.sort(key=lambda d: (d.symbol.kind in YIELDING, -d.index))
        return definitions

    def _is_hidden(self, definition: Definition) -> bool:
        """Return whether a definition is inside of another one and not offered by its module."""
        language = definition.file.language
        if language == "rust":
            symbols = self._snapshot.detail(definition.file).symbols
            return symbols[definition.symbol.parent].kind != "module"
        return language in MODULES
