"""Finds the members of classes, and the classes that they inherit from."""

from __future__ import annotations

from functools import lru_cache

from sleuth.code.graph.bindings import may_mean
from sleuth.code.graph.names import NamedDefinitions, speak_alike
from sleuth.code.graph.rules import NameResolver
from sleuth.code.graph.types import CERTAIN, IN_SCOPE, OF_BASE, Resolved
from sleuth.code.parsing.detail import Reference
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

_MOST_FILES = 2_000
LEVELS = 4
"""How many classes up a member is looked for."""


class Members:
    """Members of classes at one snapshot."""

    def __init__(self, snapshot: Snapshot, names: NamedDefinitions, resolver: NameResolver) -> None:
        self._snapshot = snapshot
        self._names = names
        self._resolver = resolver
        self._heritage = lru_cache(_MOST_FILES)(self._heritage_in)
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
            for reference in self._heritage(part.file).get(part.index, ()):
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
                symbols = self._snapshot.detail(file).symbols
                for index, references in self._heritage(file).items():
                    if index < 0:  # of a class that was not parsed
                        continue
                    uses = [use._replace(role="type", symbol=symbols[index].parent) for use in references]
                    bases = [self._resolver.resolve(file, use) for use in uses]
                    if any(base and base.definition.key == owner.key for base in bases):
                        heirs.append(Definition(file, index, symbols[index]))
            self._heirs[owner.key] = heirs
        return heirs

    def of_heirs(self, owner: Definition, use: Reference) -> Resolved | None:
        """Return the member that a use means in an heir of a class that lacks it, as a mixin's own object has."""
        members = [member for heir in self.heirs(owner) if (member := self.find(heir, use))]
        keys = {member.definition.key for member in members}
        return Resolved(members[0].definition, OF_BASE if len(keys) == 1 else CERTAIN) if members else None

    def _heritage_in(self, file: FileRow) -> dict[int, list[Reference]]:
        """Return the names of the bases in a file, by the place of the class."""
        heritage: dict[int, list[Reference]] = {}
        for reference in self._snapshot.detail(file).references:
            if reference.role == "inheritance":
                heritage.setdefault(reference.symbol, []).append(reference)
        return heritage

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
        members = [
            Definition(part.file, i, detail.symbols[i])
            for part in self._resolver.rules(language).parts(owner)
            for detail in (self._snapshot.detail(part.file),)
            for i in self._names.places(part.file).get(name, ())
            if self._resolver.rules(language).is_member(part, detail, detail.symbols[i])
            or (
                detail.symbols[i].qualified == qualified
                and may_mean(detail.symbols[i], use, language, inside=True)
            )
        ]
        if members:
            return Resolved(self._resolver.rules(language).meant(members, use), confidence)
        if language not in ("go", "cpp", "rust"):
            return None
        tail = f"{owner.symbol.name}.{name}"
        elsewhere = [
            d
            for d in self._names.named(name)
            if f".{d.symbol.qualified}".endswith(f".{tail}") and speak_alike(owner.file, d.file)
        ]
        return Resolved(self._names.nearest(owner.file, elsewhere), OF_BASE) if elsewhere else None
