"""What only Python has: a parameter of a test has the value of the fixture that pytest finds under its name."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from sleuth.code.graph.bindings import names_itself
from sleuth.code.graph.expressions import element_of
from sleuth.code.graph.rules import NameRules
from sleuth.code.graph.types import Site, Type
from sleuth.code.parsing.detail import Reference
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from sleuth.code.graph.rules import NameResolver
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_DECORATOR: Final = re.compile(
    r"^\s*+@(?:\w+\.)?(?:\w+_)?fixture\b(?:[^@]*?\bname\s*+=\s*+[\"'](\w+))?", re.M
)
_VALUE: Final = re.compile(r"(?:^|:)[ \t]*+(?:yield|return)[ \t]++([^#\n]++)", re.M)
_YIELDING: Final = re.compile(r"(?:Iterator|Generator|Iterable)\[")
_MOST_FILES, _MOST_VALUES = 2_000, 10


class PythonRules(NameRules):
    """The rules of Python."""

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._fixtures = lru_cache(_MOST_FILES)(self._fixture_names)

    def parameter(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of what the fixture of a name gives to the test or fixture that a place is in."""
        file, at, line = site.file, site.symbol, site.line
        bindings = [b for b in self.snapshot.detail(file).bindings.get(name, ()) if b.symbol == at]
        before = [b for b in bindings if b.line < line or (b.line == line and not names_itself(b))]
        if at < 0 or depth <= 0 or len(before) != 1:  # a second one is a variable of the function
            return None
        symbol = self.snapshot.detail(file).symbols[at]
        is_test = file.category == "test" and symbol.name.startswith("test")
        is_taken = re.search(rf"[(,] ?{re.escape(name)}(?=[,)]|$)", symbol.signature)
        takes_fixtures = is_taken and (is_test or at in self._fixtures(file))
        fixture = self._fixture(file, at, name) if takes_fixtures else None
        return None if fixture is None else self._value(fixture, depth)

    def _fixture_names(self, file: FileRow) -> dict[int, str]:
        """Return the names of the fixtures of a file, by the place of the function."""
        symbols = enumerate(self.snapshot.detail(file).symbols)
        heads = (
            (i, s.name, self.snapshot.lines(file, s.start, s.line)) for i, s in symbols if s.start < s.line
        )
        return {i: match[1] or name for i, name, head in heads if (match := _DECORATOR.search(head))}

    def _fixture(self, file: FileRow, at: int, name: str) -> Definition | None:
        """Return the fixture that a function means: of its class, its file, or a conftest.py of the folders around."""
        steps = file.path.split("/")[:-1]
        folders = ("/".join([*steps[:size], "conftest.py"]) for size in range(len(steps), -1, -1))
        for path in (file.path, *folders):
            if path not in self.snapshot.by_path:
                continue
            row = self.snapshot.file(path)
            symbols = self.snapshot.detail(row).symbols
            around = {-1, symbols[at].parent} if row is file else {-1}
            names = self._fixtures(row).items()
            places = [
                (symbols[i].parent, i)
                for i, fixture in names
                if fixture == name and symbols[i].parent in around
            ]
            if places := [(parent, i) for parent, i in places if row is not file or i != at]:
                _, i = max(places)
                return Definition(row, i, symbols[i])
            target = self.resolver.resolve(row, Reference(name, "", "value", 0, -1))
            if target is not None and target.definition.index in self._fixtures(target.definition.file):
                return target.definition
        return None

    def _value(self, fixture: Definition, depth: int) -> Type | None:
        """Return the type of what a fixture returns or yields."""
        file, at, symbol = fixture.file, fixture.index, fixture.symbol
        detail = self.snapshot.detail(file)
        for binding in detail.bindings.get(symbol.name, ()):
            if binding.symbol == at and binding.defines and binding.type:
                declared = element_of(binding.type) if _YIELDING.search(binding.type) else binding.type
                return Type(declared, Site(file, at, symbol.line))
        text = self.snapshot.lines(file, symbol.line, symbol.end)
        for match in islice(_VALUE.finditer(text), _MOST_VALUES):
            line = symbol.line + text.count("\n", 0, match.start())
            if not any(each.parent == at and each.start <= line <= each.end for each in detail.symbols):
                inferred = self.resolver.inference.type_of(match[1], Site(file, at, line), depth - 1)
                if inferred is not None:
                    return inferred
        return None
