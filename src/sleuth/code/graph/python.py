"""What only Python has: literals and functions that have types, and the fixtures that parameters of tests mean."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from sleuth.code.graph.bindings import binding_at
from sleuth.code.graph.expressions import OF_ELEMENTS, form_of
from sleuth.code.graph.rules import NameRules
from sleuth.code.graph.types import Site, Type
from sleuth.code.parsing.detail import Reference
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from sleuth.code.graph.rules import NameResolver
    from sleuth.code.parsing.detail import Binding
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_DECORATOR: Final = re.compile(
    r"^\s*+@(?:\w+\.)?(?:\w+_)?fixture\b(?:[^@]*?\bname\s*+=\s*+[\"'](\w+))?", re.M
)
_FORMS: Final = {"[": "list[ª0]", "{": "dict[str, ª0]", "enumerate": "list[tuple[int, ª0]]"}
"""Types of literals and of what functions return, with the type of a value, or of an element of it."""
_COLLECTIONS: Final = {"item": "list[ª0]", "keyed": "dict[str, ª0]"}
"""Types of collections by the kind of the bindings that say what is put into them."""
_MOST_FILES = 2_000
_MOST_VALUES: Final = 3
"""Values of a function or a collection that are looked at, so that work stays small where each leads to others."""


class PythonRules(NameRules):
    """The rules of Python."""

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._fixtures = lru_cache(_MOST_FILES)(self._fixture_names)

    def form(self, expression: str, site: Site, depth: int) -> Type | None:
        """Return the type of a literal, of a cast, or of what a function of Python makes of its first argument."""
        form, values = form_of(expression)
        if form.endswith("cast"):
            return Type(values[0], site)
        use = Reference(form, "", "value", site.line, site.symbol)
        if not form or (form.isidentifier() and self.resolver.resolve(site.file, use) is not None):
            return None
        inference = self.resolver.inference
        inferred = (inference.type_of(value, site, depth) for value in values)
        if form in OF_ELEMENTS:
            inferred = (each and inference.element(each, depth) for each in inferred)
        if form not in ("(", "zip"):
            first = next((each for each in inferred if each is not None), None)
            text = _FORMS.get(form)
            return first if first is None or text is None else Type(text, site, arguments=(first,))
        types = [each or Type("None", site) for each in inferred]
        text = ", ".join(f"ª{at}" for at in range(len(types)))
        return Type(f"tuple[{text}]" if form == "(" else f"list[tuple[{text}]]", site, arguments=tuple(types))

    def filled(self, binding: Binding, file: FileRow, depth: int) -> Type | None:
        """Return the type of a collection by what is put into it: of a variable, or of a member."""
        detail, inference = self.snapshot.detail(file), self.resolver.inference
        puts = [each for each in detail.bindings[binding.name] if each.kind in _COLLECTIONS]
        if not puts or depth <= 0:
            return None
        is_attribute = binding.defines and detail.symbols[binding.symbol].kind == "attribute"
        owner = inference.around(file, binding.symbol) if is_attribute or binding.kind == "member" else None
        scope = -1 if binding.defines else binding.symbol
        for put in puts[:_MOST_VALUES]:
            site = Site(file, put.symbol, put.line)
            if owner is not None:
                around = inference.around(file, put.symbol) if put.type == "self" else None
                is_same = around is not None and around.key == owner.key
            else:
                variable = binding_at(self.snapshot, put.name, site)
                is_same = not put.type and (-1 if variable is None else variable.symbol) == scope
            inferred = inference.type_of(put.value, site, depth) if is_same else None
            if inferred is not None:
                return Type(_COLLECTIONS[put.kind], site, arguments=(inferred,))
        return None

    def result(self, function: Definition, depth: int) -> Type | None:
        """Return the type of what a function without a declared type returns, an iterator where it yields."""
        symbol, bindings = function.symbol, self.snapshot.detail(function.file).bindings
        for word in ("yield", "return"):
            values = bindings.get(word, [])
            first = bisect_left(values, symbol.line, key=attrgetter("line"))
            values = values[first : bisect_right(values, symbol.end, key=attrgetter("line"))]
            values = [value for value in values if value.symbol == function.index][-_MOST_VALUES:]
            for value in reversed(values):
                if value.value in ("self", "cls"):  # of the class that the call is of
                    return Type("Self", Site(function.file, function.index, symbol.line))
                site = Site(function.file, function.index, value.line)
                inferred = self.resolver.inference.type_of(value.value, site, depth - 1)
                if inferred is not None:
                    is_whole = word == "return" or value.type == "from"
                    return inferred if is_whole else Type("Iterator[ª0]", site, arguments=(inferred,))
            if values:
                break
        return None

    def parameter(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of what the fixture of a name gives to the test or fixture that a place is in."""
        file, at = site.file, site.symbol
        symbols = self.snapshot.detail(file).symbols
        is_test = at >= 0 and file.category == "test" and symbols[at].name.startswith("test")
        if depth <= 0 or at < 0 or not (is_test or at in self._fixtures(file)):
            return None
        bindings = [b for b in self.snapshot.detail(file).bindings.get(name, ()) if b.symbol == at]
        is_taken = re.search(rf"[(,] ?{re.escape(name)}(?=[,)]|$)", symbols[at].signature)
        if not is_taken or binding_at(self.snapshot, name, site) is not bindings[0]:
            return None  # a later one is a variable of the function
        fixture = self._fixture(file, at, name)
        inferred = None if fixture is None else self.resolver.inference.of_definition(fixture, depth)
        return None if inferred is None else self.resolver.inference.yielded(inferred, depth - 1)

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
