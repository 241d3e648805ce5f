r"""What is known of one file: its symbols, references, imports and chunks, read out of its tables and its text.

Names, signatures, docs and labels are read when somebody asks.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from itertools import starmap
from typing import Final

from sleuth.code.parsing.imports import lines_before
from sleuth.code.parsing.kinds import BINDINGS, CONTAINERS, KINDS, ROLES, YIELDING
from sleuth.code.parsing.labels import labels_of
from sleuth.code.parsing.language import Import
from sleuth.code.parsing.languages import LANGUAGES, SCRIPTS, languages_with, ways_of
from sleuth.code.parsing.lines import ASIDES, LineIndex
from sleuth.code.parsing.names import OUTSIDE, Binding, Name, Reference, grouped, name_of
from sleuth.code.parsing.tables import (
    BindingRow,
    ChunkRow,
    DefinitionRow,
    ImportRow,
    ReferenceRow,
    Table,
    Tables,
    damaged_facts,
    pack_tables,
    unpack_tables,
    validate_tables,
)

_LONG: Final = 80
_LONGEST: Final = 200
_QUOTED = re.compile(r"\"[^\"\\]*+(?>(?:\\.[^\"\\]*+)*)\"?|'(?:[^'\\]|\\.)'")
_INNERMOST = re.compile(r"\([^()\[\]{}]*+\)|\[[^()\[\]{}]*+\]|\{[^()\[\]{}]*+\}")
_BRACKETS: Final = {"(": "\1", "[": "\2", "{": "\3"}
_EMPTY: Final = {1: "()", 2: "[0]", 3: "{}"}
_MOST_NESTED: Final = 40


_MARKS = re.compile(r"^\s*(?:/\*\*?|\*/|\*|///?!?|#|--)?\s?|\*/\s*$")


def short_text(text: bytes) -> str:
    """Return an expression on one line; of a long one the last 200 characters, without what brackets hold."""
    line = " ".join(text.decode("utf-8", "replace").split())
    if len(line) <= _LONG:
        return line
    line, count = _QUOTED.sub('""', line), 1
    for _ in range(_MOST_NESTED):
        line, count = _INNERMOST.subn(lambda match: _BRACKETS[match[0][0]], line)
        if not count:
            break
    return line.translate(_EMPTY)[-_LONGEST:]


_BEFORE: Final = {
    "rust": re.compile(rb"^[ \t]*#\[[^\n]*\n?", re.M),
    **dict.fromkeys(SCRIPTS, re.compile(rb"^[ \t]*@[^\n]*\n?", re.M)),
}
"""Attributes that stand beside what they are about."""
_MAX_SIGNATURE: Final = 300
_MAX_EXPRESSION: Final = 200
_MAX_CHAIN: Final = 2_000
"""Longer expressions are cut; shorter ones lose what their brackets hold."""
_PREPROCESSED: Final = languages_with("preprocessor")
_ATTRIBUTES: Final = re.compile(rb"\s*(?:\[(?:\"(?:\\.|[^\"\\])*\"|[^\[\]\"]|\[[^\[\]]*\])*\]\s*)+")
_BROKEN: Final = re.compile(r"(?<=[(\[])[ \t\r]*+\n\s*+|(?:,|(?<![\s,]))[ \t\r]*+\n\s*+(?=[)\]])")
"""Line breaks after an opening and before a closing bracket, with the comma before the last one."""
_LAST_LINE: Final = 1 << 31
_USED_LINE = ReferenceRow._fields.index("line")
_USED = ReferenceRow._fields.index("name")
_USED_SIZE = ReferenceRow._fields.index("name_size")
_FIRST_NAMES: Final = """
python javascript typescript tsx go rust java c cpp csharp ruby php kotlin scala bash markdown rst text json yaml toml
ini xml html css sql lua swift dart elixir perl r haskell hcl protobuf graphql make docker cmake gradle zig powershell
vue svelte
"""
"""Languages by their number in stored tables, from 1; any other is numbered by a checksum of its name."""
_NUMBERS: Final = {name: number for number, name in enumerate(("", *_FIRST_NAMES.split()))}
_NUMBERS.update((name, zlib.crc32(name.encode()) >> 1) for name in LANGUAGES if name not in _NUMBERS)
_NAMES: Final = {number: name for name, number in _NUMBERS.items()}


class Symbol:
    """A definition.

    Attributes:
        name: as written; `qualified` joins it to its containers with dots.
        kind: class, interface, struct, enum, trait, impl, module, function, method, property, constant, attribute,
            type or macro.
        start, end: lines, 1-based, inclusive; decorators and the comment before it belong to it.
        line: of its name.
        parent: position of its container in the list of symbols, or -1.
    """

    __slots__ = (
        "_at", "_detail", "_labels", "_row", "end", "kind", "line", "name", "parent", "qualified", "start",
    )  # fmt: skip

    def __init__(self, detail: Detail, at: int, row: DefinitionRow, name: Name) -> None:
        self._detail = detail
        self._at = at
        self._row = row
        self._labels: tuple[str, ...] | None = None
        self.start, self.line, self.end, self.parent = row.first, row.line, row.last, row.parent
        self.kind, self.name, self.qualified = name

    def __repr__(self) -> str:
        return f"Symbol({self.kind} {self.qualified}, lines {self.start} to {self.end})"

    @property
    def signature(self) -> str:
        """The head of the definition on one line, at most 300 characters; in the family of C without comments."""
        row, source = self._row, self._detail.source
        start = row.start + row.head
        end = row.start + row.body if row.body >= 0 else row.end
        text = source[start : min(end, start + 12 * _MAX_SIGNATURE)]
        if self._detail.language in _PREPROCESSED:
            # A macro is a line for the preprocessor itself.
            text = ASIDES.sub(
                lambda aside: aside["string"] or (b" " if aside["word"] != b"define" else aside[0]), text
            )
            text = text[attributes.end() :] if (attributes := _ATTRIBUTES.match(text)) else text
        if row.body < 0:
            text = text.split(b"{" if KINDS[row.kind] in CONTAINERS else b"\n", 1)[0]
        line = " ".join(_BROKEN.sub("", text.decode("utf-8", "replace")).split())
        return line.rstrip("{:= ")[:_MAX_SIGNATURE]

    @property
    def doc(self) -> str:
        """Its docstring or the comment before it, without comment marks, attributes, decorators and cell marks."""
        import inspect

        row, source = self._row, self._detail.source
        if row.doc_size:
            start = row.start + row.doc
            text = source[start : start + row.doc_size].decode("utf-8", "replace")
            return inspect.cleandoc(text.lstrip("rRuUbBfF").strip("\"'")).strip()
        begins = source.rfind(b"\n", 0, row.start) + 1
        comment = source[self._detail.begin_of(row) : begins].split(b"\n")[:-1]
        lines = [line.strip().decode("utf-8", "replace") for line in comment]
        lines = [_MARKS.sub("", line).strip() for line in lines if not line.startswith(("#[", "@", "# %%"))]
        return "\n".join(lines).strip()

    @property
    def has_body(self) -> bool:
        """Whether it is more than a declaration."""
        return self._row.body >= 0

    @property
    def labels(self) -> tuple[str, ...]:
        """What kind of code this is, for people and filters."""
        if self._labels is None:
            chain = [self._at]
            symbols = self._detail.symbols
            while (above := symbols[chain[-1]].parent) >= 0 and symbols[above]._labels is None:
                chain.append(above)
            for at in reversed(chain):
                symbols[at]._labels = self._detail.labels(at)
        return self._labels or ()


class Detail:
    """What parsing found in a file.

    Attributes:
        source: the file's text as UTF-8.
        language: the one whose grammar was used, "" for none.
        sound: False where the tree holds errors.
    """

    def __init__(self, source: bytes, language: str, path: str, tables: Tables) -> None:
        self.source = source
        self.language = language
        self.path = path
        self.sound = tables.sound
        self._tables = tables

    def pack(self) -> bytes:
        """Return what is kept beside the text; read back by `read`."""
        return pack_tables(self._tables, _NUMBERS[self.language])

    @classmethod
    def read(cls, packed: bytes, source: bytes, path: str) -> Detail:
        """Return the detail that was packed, with the text that was parsed.

        Raises:
            CodeError: the bytes are damaged, or not of this text.
        """
        tables, language = unpack_tables(packed)
        if language not in _NAMES:
            raise damaged_facts(f"no language has number {language}")
        try:
            validate_tables(tables, source)
        except ValueError as error:
            raise damaged_facts(str(error)) from error
        return cls(source, _NAMES[language], path, tables)

    # definitions

    @cached_property
    def _rows(self) -> list[DefinitionRow]:
        return list(starmap(DefinitionRow, self._tables.definitions.tolist()))

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Definitions, in order of place, containers first."""
        return [
            Symbol(self, at, row, name)
            for at, (row, name) in enumerate(zip(self._rows, self.names, strict=True))
        ]

    @cached_property
    def names(self) -> list[Name]:
        """What each definition is called."""
        names: list[Name] = []
        for row in self._rows:
            outer = names[row.parent] if row.parent >= 0 else OUTSIDE
            names.append(name_of(self.source, self.language, row, outer))
        return names

    def enclosing(self, at: int) -> Iterator[tuple[int, Symbol]]:
        """Yield a definition and its containers, from the inside out, with their positions; nothing for -1."""
        while at >= 0:
            yield at, self.symbols[at]
            at = self.symbols[at].parent

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Positions of definitions by name."""
        return grouped(range(len(self.names)), lambda at: self.names[at].name)

    @cached_property
    def qualified_places(self) -> dict[str, list[int]]:
        """Positions of definitions by qualified name; an `impl` is left out, as it has its type's name."""
        places = (at for at, name in enumerate(self.names) if name.kind != "impl")
        return grouped(places, lambda at: self.names[at].qualified)

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """Positions of definitions by that of their container, -1 for the file's top."""
        return grouped(range(len(self._rows)), lambda at: self._rows[at].parent)

    @cached_property
    def members_named(self) -> dict[tuple[str, int], list[int]]:
        """Positions of definitions by name and the position of their container, without any `impl`."""
        places = (at for at, name in enumerate(self.names) if name.kind != "impl")
        return grouped(places, lambda at: (self.names[at].name, self._rows[at].parent))

    def text(self, start: int, end: int) -> str:
        """Return the text of bytes `start` to `end`."""
        return self.source[start:end].decode("utf-8", "replace")

    def begin_of(self, row: DefinitionRow) -> int:
        """Return the byte where the comment before a definition begins, or else its line."""
        starts = self.source.rfind(b"\n", 0, row.start) + 1
        line = row.line - self.source.count(b"\n", row.start, row.start + row.name)
        for _ in range(line - row.first):
            starts = self.source.rfind(b"\n", 0, starts - 1) + 1
        return starts

    def labels(self, at: int) -> tuple[str, ...]:
        """Return `Symbol.labels`, where those of its containers are known."""
        symbol = self.symbols[at]
        outer = self.symbols[symbol.parent] if symbol.parent >= 0 else None
        rows = self._rows
        while (  # the first of the constants that one statement of JavaScript declares has the words before them
            self.language in SCRIPTS
            and at
            and KINDS[rows[at].kind] == "constant"
            and rows[at - 1].parent == rows[at].parent
            and self.source[max(0, rows[at].start - 80) : rows[at].start].rstrip().endswith(b",")
        ):
            at -= 1
        row, mark = rows[at], _BEFORE.get(self.language)
        attributes = mark.findall(self.source, self.begin_of(row), row.start) if mark is not None else ()
        head = b"".join(attributes) + self.source[row.start : row.start + row.name]
        return labels_of(symbol.kind, symbol.name, self.language, self.path, head, outer, symbol.signature)

    # references

    @cached_property
    def references(self) -> list[Reference]:
        """Used names, in order of line."""
        return self.references_between(1, _LAST_LINE)

    @cached_property
    def uses(self) -> dict[str, list[Reference]]:
        """Used names by the name, in order of line."""
        return grouped(self.references, lambda reference: reference.name)

    def uses_of(self, name: str) -> list[Reference]:
        """Return the uses of a name, also by an alias."""
        names = dict.fromkeys((name, *(item.alias for item in self.imports if item.name == name)))
        return [reference for alias in names for reference in self.uses.get(alias, ())]

    @cached_property
    def heritage(self) -> dict[int, list[Reference]]:
        """The bases that classes name, by the position of the class; -1 for one that was not parsed."""
        bases = (reference for reference in self.references if reference.role == "inheritance")
        return grouped(bases, lambda reference: reference.symbol)

    def references_between(self, first: int, last: int) -> list[Reference]:
        """Return those in lines `first` to `last`, in order of line."""
        lines = self._tables.references[:, _USED_LINE]
        between = self._tables.references[(first <= lines) & (lines <= last)]
        references = []
        for row in starmap(ReferenceRow, between.tolist()):
            start = row.name - row.qualifier
            qualifier = ""
            if row.qualifier_size:  # the grammar of Kotlin reads `!a.b()` as `(!a).b()`
                qualifier = short_text(self.source[start : start + row.qualifier_size]).lstrip("!-+")
            name = self.text(row.name, row.name + row.name_size)
            references.append(Reference(name, qualifier, ROLES[row.role], row.line, row.symbol))
        for statement, items in zip(self._import_rows, self._imported, strict=True):
            for item in items:
                if first <= item.line <= last:
                    name, module = (item.name, item.module) if item.name else (item.module, "")
                    references.append(Reference(name, module, "import", item.line, statement.symbol))
        return sorted(references, key=lambda reference: (reference.line, _ORDER[reference.role]))

    def used_names(self) -> str:
        """Return the names that are used or imported, each once, a space between."""
        places = self._tables.references[:, [_USED, _USED_SIZE]].tolist()
        names = b" ".join({self.source[start : start + size]: None for start, size in places})
        brought_in = (item.name or item.module for item in self.imports)
        return " ".join([names.decode("utf-8", "replace"), *brought_in])

    # bindings

    @cached_property
    def bindings(self) -> list[Binding]:
        """What gives names their values, in order of place."""
        bindings = []
        names = [row.start + row.name for row in self._rows]
        table = self._tables.bindings
        lines = LineIndex(self.source).lines_of(table[:, BindingRow._fields.index("name")])
        for row, line in zip(starmap(BindingRow, table.tolist()), lines.tolist(), strict=True):
            name = self.text(row.name, row.name + row.name_size)
            kind = BINDINGS[row.kind]
            size = row.value_size
            if kind == "argument":
                size = -row.value if -row.value <= _MAX_EXPRESSION else 0
            declared = self._expression(row.name + row.type, row.type_size)
            value = self._expression(row.name + row.value, size, chains=True)
            defines = row.symbol >= 0 and names[row.symbol] == row.name
            bindings.append(Binding(name, kind, declared, value, line, row.symbol, defines))
        return bindings

    @cached_property
    def scoped(self) -> dict[tuple[str, int], list[Binding]]:
        """Bindings by name and the position of the definition in which it holds, -1 for the file.

        Left out is what a function returns, which is bound to its name.
        """
        rows = self._rows
        held = (b for b in self.bindings if not b.defines or KINDS[rows[b.symbol].kind] in YIELDING)
        return grouped(held, lambda b: (b.name, rows[b.symbol].parent if b.defines else b.symbol))

    @cached_property
    def defining(self) -> dict[int, list[Binding]]:
        """Those of the names of definitions, by the position of the definition."""
        return grouped((b for b in self.bindings if b.defines), lambda binding: binding.symbol)

    @cached_property
    def fields(self) -> dict[tuple[str, int], list[Binding]]:
        """Those of members by name and the position of the innermost class around them."""
        containers: list[int] = []
        for at, row in enumerate(self._rows):
            is_container = KINDS[row.kind] in CONTAINERS
            containers.append(at if is_container else containers[row.parent] if row.parent >= 0 else -1)
        inner = (b for b in self.bindings if b.symbol >= 0)
        members = (b for b in inner if b.kind == "member" or containers[b.symbol] == b.symbol)
        return grouped(members, lambda binding: (binding.name, containers[binding.symbol]))

    def _expression(self, start: int, size: int, *, chains: bool = False) -> str:
        """Return an expression, cut where it is long; with `chains`, one that is not too long is shortened."""
        if chains and _MAX_EXPRESSION < size <= _MAX_CHAIN:
            return short_text(self.source[start : start + size])
        return self.text(start, start + min(size, _MAX_EXPRESSION)) if size else ""

    # imports and chunks

    @cached_property
    def _import_rows(self) -> list[ImportRow]:
        return list(starmap(ImportRow, self._tables.imports.tolist()))

    @cached_property
    def _imported(self) -> list[list[Import]]:
        imported = []
        for row in self._import_rows:
            text = self.text(row.start, row.end)
            items = ways_of(self.language).imports(text)
            imported.append([item._replace(line=row.line + lines_before(item, text)) for item in items])
        return imported

    @cached_property
    def imports(self) -> list[Import]:
        """What imports bring in, in order of place."""
        return [item for items in self._imported for item in items]

    @cached_property
    def imports_as(self) -> dict[str, list[Import]]:
        """Imports by the first step of what they are called here, "*" for those of everything in a file."""
        return grouped(self.imports, lambda i: "*" if i.name == "*" else i.alias.partition(".")[0])

    @property
    def chunk_table(self) -> Table:
        """Rows of `ChunkRow`, shape (n, 4)."""
        return self._tables.chunks

    @cached_property
    def chunks(self) -> list[ChunkRow]:
        """Where it is cut, in order of lines."""
        return list(starmap(ChunkRow, self._tables.chunks.tolist()))


_ORDER: Final = {role: rank for rank, role in enumerate((*ROLES, "import"))}
