"""Looks definitions up by name: in a snapshot, in a file, along imports, in classes and what they inherit from.

Also chooses among those of one scope.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter

from sleuth.code.graph.bindings import may_mean
from sleuth.code.graph.modules import files_of, nearest
from sleuth.code.graph.rules import IN_SCOPE, OF_BASE, NameResolver, Resolved
from sleuth.code.parsing.kinds import CONTAINERS, YIELDING
from sleuth.code.parsing.language import Import
from sleuth.code.parsing.languages import ways_of
from sleuth.code.parsing.names import Reference, grouped
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
        self.named = lru_cache(maxsize=20_000)(
            lambda name: [d for d in snapshot.definitions(name) if d.symbol.kind != "impl"]
        )
        self.by_owner = lru_cache(maxsize=20_000)(
            lambda name: grouped(self.named(name), lambda d: ".".join(d.symbol.qualified.split(".")[-2:-1]))
        )
        self.targets = lru_cache(maxsize=50_000)(self._imported)

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
        """Return the definitions that an import means, following re-exports; [] where it means a module."""
        positions, name = files_of(self._snapshot, file, item)
        if name in ("", "*"):
            return []
        if name == "default":  # a default export is mostly imported under its own name
            name = item.alias
        return self.behind(file, positions, name, depth)

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
        imports = self._snapshot.detail(row).imports_as if row.key != file.key else {}
        return [
            item._replace(name=name, alias=name) if item.name == "*" else item
            for item in sorted([*imports.get(name, ()), *imports.get("*", ())], key=attrgetter("line"))
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


def speak_alike(a: str, b: str) -> bool:
    """Return whether code of one language can use what the other defines."""
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
    places = snapshot.detail(file).members_named[symbol.name, symbol.parent]
    twins = [Definition(file, i, symbols[i]) for i in places]
    if not is_script:
        head = snapshot.lines(file, symbol.start, symbol.line) if len(twins) > 1 else ""
        return twins[-1] if _OVERLOAD.search(head) else definition
    selection: list[Definition] = []
    if role == "type":
        selection = [twin for twin in twins if twin.symbol.kind in CONTAINERS or twin.symbol.kind == "type"]
    elif (symbol.kind in _TYPES and role in _OF_VALUES) or (is_function and not symbol.has_body):
        values = [twin for twin in twins if twin.symbol.kind not in _TYPES]
        later_twins = [twin for twin in values if twin.index > definition.index and twin.symbol.has_body]
        selection = later_twins or values[-1:]
    return selection[0] if selection else definition


LEVELS = 4
"""How many classes up a member is looked for."""


class Members:
    """Members of classes at one snapshot."""

    def __init__(self, snapshot: Snapshot, names: NamedDefinitions, resolver: NameResolver) -> None:
        self._snapshot = snapshot
        self._names = names
        self._resolver = resolver
        self._heirs: dict[tuple[int, int], list[Definition]] = {}

    def named(self, owner: Definition, name: str, role: str) -> Resolved | None:
        """Return a member of a class, or of its bases, that a use in a role can mean."""
        return self.find(owner, Reference(name, "", role, 0, -1))

    def bases(self, owner: Definition) -> list[Definition]:
        """Return the classes that a class inherits from; of an `impl` the type, whose fields it has."""
        bases = []
        if owner.symbol.kind == "impl":
            types = [d for d in self._names.named(owner.symbol.name) if d.symbol.kind in ("struct", "enum")]
            bases += [self._names.nearest(owner.file, types)] if types else []
        for part in self._resolver.rules(owner.file.language).parts(owner):
            for reference in self._snapshot.detail(part.file).heritage.get(part.index, ()):
                use = reference._replace(role="type", symbol=part.symbol.parent)
                base = self._resolver.resolve(part.file, use)
                if base is not None and base.definition.symbol.kind in CONTAINERS:
                    bases.append(base.definition)
        return bases

    def heirs(self, owner: Definition) -> list[Definition]:
        """Return the classes that name a class among their bases, by path and line."""
        heirs = self._heirs.get(owner.key)
        if heirs is None:
            heirs = []
            for at in self._snapshot.files_with("uses", owner.symbol.name):
                file = self._snapshot.files[at]
                detail = self._snapshot.detail(file)
                indices = set[int]()
                for use in detail.uses_of(owner.symbol.name):
                    if use.role == "inheritance" and use.symbol >= 0:
                        of_type = use._replace(role="type", symbol=detail.symbols[use.symbol].parent)
                        base = self._resolver.resolve(file, of_type)
                        if base is not None and base.definition.key == owner.key:
                            indices.add(use.symbol)
                heirs += (Definition(file, index, detail.symbols[index]) for index in sorted(indices))
            self._heirs[owner.key] = heirs
        return heirs

    def find(
        self, owner: Definition, use: Reference, depth: int = LEVELS, *, own: bool = True
    ) -> Resolved | None:
        """Return the member that a use means, of a class or of its bases.

        Args:
            depth: how many classes up to look.
            own: False looks in the bases only, as `super` does.
        """
        own_member = self._own(owner, use, IN_SCOPE if depth == LEVELS else OF_BASE) if own else None
        if own_member is not None:
            return own_member
        for base in self.bases(owner) if depth > 0 else ():
            inherited = self.find(base, use, depth - 1)
            if inherited is not None:
                return inherited
        return None

    def _own(self, owner: Definition, use: Reference, confidence: float) -> Resolved | None:
        """Return the member that a use means, of the parts of a class; in some languages they stand elsewhere."""
        name, language = use.name, owner.file.language
        qualified = f"{owner.symbol.qualified}.{name}"
        rules, members = self._resolver.rules(language), list[Definition]()
        for part in rules.parts(owner):
            detail = self._snapshot.detail(part.file)
            places = detail.qualified_places.get(qualified, ())
            places = [at for at in places if may_mean(detail.symbols[at], use, language, inside=True)]
            for holder in rules.holders(part):
                places += detail.members_named.get((name, holder), ())
            members += (Definition(part.file, at, detail.symbols[at]) for at in sorted(places))
        if members:
            return Resolved(rules.meant(members, use), confidence)
        if language not in ("go", "cpp", "rust"):
            return None
        namesakes = self._names.by_owner(name).get(owner.symbol.name, ())
        elsewhere = [d for d in namesakes if speak_alike(language, d.file.language)]
        return Resolved(self._names.nearest(owner.file, elsewhere), OF_BASE) if elsewhere else None
