"""What only Python has: literals and functions that have types, and the fixtures that parameters of tests mean."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from sleuth.code.graph.bindings import binding_at
from sleuth.code.graph.expressions import OF_ELEMENTS, STRING, after_bracket, form_of, parameters_of
from sleuth.code.graph.rules import NameRules, Site, Type
from sleuth.code.parsing.imports import split_outside
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.parsing.names import Reference
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sleuth.code.graph.rules import NameResolver
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_DECORATOR: Final = re.compile(
    r"^\s*+@(?:\w+\.)?(?:\w+_)?fixture\b(?:[^@]*?\bname\s*+=\s*+[\"'](\w+))?", re.M
)
_FORMS: Final = {"[": "list[ª0]", "{": "dict[str, ª0]", "enumerate": "list[tuple[int, ª0]]"}
"""Types of literals and of results of functions; ª0 is the type of a value in them, or of an element of it."""
_UNREADABLE: Final = re.compile(r"\*|\w+\s?=[^=]|None$|$")
"""An argument without a value, or with one that does not tell the type of a parameter."""
_MOST_FILES = 2_000
_MOST_CALLING, _MOST_CALLERS, _MOST_LINES, _MOST_SIGNS = 3, 6, 12, 4_000
"""Files that may call a function, calls in each of them, and how much of a call is read."""
_MOST_VALUES: Final = 3
"""Values of a function, a parameter or a collection that are looked at, so that work stays small."""


class PythonRules(NameRules):
    """The rules of Python."""

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._fixtures = lru_cache(_MOST_FILES)(self._fixture_names)
        self._calls = lru_cache(_MOST_FILES)(self._calls_of)
        self._passed_type = lru_cache(10 * _MOST_FILES)(self._type_passed)

    def form(self, expression: str, site: Site, depth: int) -> Type | None:
        """Return the type of a literal, of a cast, or of what a function of Python makes of its argument."""
        form, values = form_of(expression)
        if form.endswith("cast"):
            return Type(values[0], site)
        use = Reference(form, "", "value", site.line, site.symbol)
        if not form or (form.isidentifier() and self.resolver.resolve(site.file, use) is not None):
            return None
        inference = self.resolver.inference
        values = (f"{values[0]}()",) if form == "property" else values
        inferred = (inference.type_of(value, site, depth) for value in values)
        if form in OF_ELEMENTS:
            inferred = (value_type and inference.element(value_type, depth) for value_type in inferred)
        if form not in ("(", "zip"):
            first = next((value_type for value_type in inferred if value_type is not None), None)
            text = _FORMS.get(form)
            return first if first is None or text is None else Type(text, site, arguments=(first,))
        types = [value_type or Type("None", site) for value_type in inferred]
        text = ", ".join(f"ª{at}" for at in range(len(types)))
        return Type(f"tuple[{text}]" if form == "(" else f"list[tuple[{text}]]", site, arguments=tuple(types))

    def result(self, function: Definition, depth: int) -> Type | None:
        """Return the type of the results of a function without a declared type, an iterator where it yields."""
        scoped = self.snapshot.detail(function.file).scoped
        for word in ("yield", "return"):
            values = scoped.get((word, function.index), [])[-_MOST_VALUES:]
            for value in reversed(values):
                site = Site(function.file, function.index, value.line)
                inferred = self.resolver.inference.type_of(value.value, site, depth - 1)
                if inferred is not None:
                    is_whole = word == "return" or value.type == "from"
                    return inferred if is_whole else Type("Iterator[ª0]", site, arguments=(inferred,))
            if values:
                break
        return None

    def parameter(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of a parameter: that of the fixture that a test takes, or of the values that calls pass."""
        inferred = self._of_fixture(site, name, depth)
        if inferred is not None or depth <= 0:
            return inferred
        return self._passed_type(site.file, site.symbol, name, self.resolver.state.nesting)

    def _type_passed(self, file: FileRow, at: int, name: str, nesting: int) -> Type | None:
        """Return the type of the values that calls pass for a parameter, whatever else is being resolved."""
        arguments = self.passed(Site(file, at, 0), name)
        types = (self.resolver.inference.type_of(text, where) for text, where in arguments)
        return next((passed_type for passed_type in types if passed_type is not None), None)

    def passed(self, site: Site, name: str) -> Iterator[tuple[str, Site]]:
        """Yield what calls pass for a parameter of the function at a place, and its default, with where they stand.

        No other parameter is followed to calls while one of these values is read.
        """
        file, at = site.file, site.symbol
        symbols, resolver = self.snapshot.detail(file).symbols, self.resolver
        if at < 0 or resolver.state.nesting or symbols[at].kind not in ("function", "method"):
            return
        parts = [part.strip() for part in parameters_of(symbols[at].signature)]
        parts = parts[1:] if parts and parts[0] in ("self", "cls") else parts
        names = [re.split(r"\W", part.lstrip("*"), maxsplit=1)[0] for part in parts]
        place = names.index(name) if name in names else -1
        if place < 0 or parts[place].startswith("*"):
            return
        values = 0
        with resolver.state.apart():  # until the values are read
            for call, where, arguments in self._calls(file, at):
                texts = (text[len(name) + 1 :] for text in arguments if text.startswith(f"{name}="))
                value = next(texts, arguments[place] if place < len(arguments) else "")
                target = None if _UNREADABLE.match(value) else resolver.resolve(where.file, call)
                if target is not None and target.definition.symbol.kind in CONTAINERS:
                    target = resolver.member(target.definition, "__init__", "call")
                if target is not None and target.definition.key == (file.key, at) and values < _MOST_VALUES:
                    values += 1
                    yield value, where
            default = parts[place].partition("=")[2].strip()
            if not _UNREADABLE.match(default):
                yield default, Site(file, symbols[at].parent, symbols[at].line)

    def _calls_of(self, file: FileRow, at: int) -> list[tuple[Reference, Site, list[str]]]:
        """Return the uses that may call a function, with where they stand and their arguments, its own file first."""
        symbol = self.snapshot.detail(file).symbols[at]
        owner = self.resolver.inference.around(file, symbol.parent)
        names = [symbol.name]
        if symbol.name == "__init__" and owner is not None:
            names = [owner.symbol.name, *(heir.symbol.name for heir in self.resolver.heirs(owner))]
        files = [self.snapshot.files[i] for i in self.snapshot.files_with("uses", *names)]
        files.sort(key=lambda row: (row.key != file.key, row.category != "code", row.path))
        calls = []
        for row in files[:_MOST_CALLING]:
            of_file = self.snapshot.detail(row).uses
            uses = (use for name in names for use in of_file.get(name, ()))
            uses = (use for use in uses if use.role in ("call", "instantiation"))
            for use in islice(uses, _MOST_CALLERS):
                text = self.snapshot.lines(row, use.line, use.line + _MOST_LINES)[:_MOST_SIGNS]
                _, _, inside = STRING.sub("''", text).partition(f"{use.name}(")
                inside = inside[: after_bracket(f"({inside}", 0) - 2]
                arguments = [" ".join(part.split()) for part in split_outside(inside, ",")]
                calls.append((use, Site(row, use.symbol, use.line), arguments))
        return calls

    def _of_fixture(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of the value that the fixture of a name gives to the test or fixture around a place."""
        file, at = site.file, site.symbol
        symbols = self.snapshot.detail(file).symbols
        is_test = at >= 0 and file.category == "test" and symbols[at].name.startswith("test")
        if depth <= 0 or at < 0 or not (is_test or at in self._fixtures(file)):
            return None
        bindings = self.snapshot.detail(file).scoped.get((name, at), ())
        is_taken = re.search(rf"[(,] ?{re.escape(name)}(?=[,)]|$)", symbols[at].signature)
        if not (is_taken and bindings) or binding_at(self.snapshot, name, site) is not bindings[0]:
            return None  # a later one is a variable of the function, a word without any of an annotation
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
            indices = [i for i, fixture in names if fixture == name and (row is not file or i != at)]
            if places := [(symbols[i].parent, i) for i in indices if symbols[i].parent in around]:
                _, i = max(places)
                return Definition(row, i, symbols[i])
            target = self.resolver.resolve(row, Reference(name, "", "value", 0, -1))
            if target is not None and target.definition.index in self._fixtures(target.definition.file):
                return target.definition
        return None
