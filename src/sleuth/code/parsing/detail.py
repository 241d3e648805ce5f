r"""What is known of one file: its symbols, references, imports and chunks, read out of its tables and its text.

Names, signatures, docs and labels are read when somebody asks.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from itertools import starmap
from typing import Final, NamedTuple

import numpy as np

from sleuth.code.parsing.chunks import CodeChunk
from sleuth.code.parsing.imports import lines_before
from sleuth.code.parsing.kinds import BINDINGS, CHUNK_KINDS, CONTAINERS, KINDS, ROLES
from sleuth.code.parsing.labels import labels_of
from sleuth.code.parsing.language import Import
from sleuth.code.parsing.languages import LANGUAGES, SCRIPTS, languages_with, ways_of
from sleuth.code.parsing.lines import ASIDES, LineIndex
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

_METHOD_HOLDERS = CONTAINERS - {"module"}
_SEPARATORS = re.compile(r"\.|::|->|\\|\?\.")
_OPERATOR = re.compile(
    r"((?:\w+(?:<[^<>]*>)?::)*)operator\b\s*(?:(\(\s*\)|[^\w\s(][^\w(]*)|([^(]+?)\s*(?:\(.*)?$)", re.S
)
"""The part before `operator` in a name of C++, and the sign or the type after it."""
_REFERRING = re.compile(r"^(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+")
"""The signs before the type of `impl Trait for &'a mut Type`."""
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_LONG: Final = 80
_LONGEST: Final = 200
_QUOTED = re.compile(r"\"[^\"\\]*+(?>(?:\\.[^\"\\]*+)*)\"?|'(?:[^'\\]|\\.)'")
_INNERMOST = re.compile(r"\([^()\[\]{}]*+\)|\[[^()\[\]{}]*+\]|\{[^()\[\]{}]*+\}")
_BRACKETS: Final = {"(": "\1", "[": "\2", "{": "\3"}
_EMPTY: Final = {1: "()", 2: "[0]", 3: "{}"}
_MOST_NESTED: Final = 40
_MAX_NAME: Final = 200
_MAX_QUALIFIED: Final = 300


class Name(NamedTuple):
    """What a definition is called: its kind, its name, and its name joined to its containers with dots."""

    kind: str
    name: str
    qualified: str


OUTSIDE: Final = Name("", "", "")
"""The container of definitions at a file's top."""


def name_of(source: bytes, language: str, row: DefinitionRow, outer: Name) -> Name:
    """Return what a definition inside `outer` is called."""
    kind = KINDS[row.kind]
    name = source[row.start + row.name : row.start + row.name + row.name_size].decode("utf-8", "replace")
    scope = ""
    if not name.isidentifier() or name in ("prototype", "self"):
        scope, name = _split_name(name, language)
    if row.scope_size:
        start = row.start + row.scope
        scope = source[start : start + row.scope_size].decode("utf-8", "replace")
    if kind == "function":
        in_module = outer.kind == "module" and language == "ruby"
        if outer.kind in _METHOD_HOLDERS or in_module or (scope and language == "cpp"):
            kind = "method"
    return Name(
        kind, name[:_MAX_NAME], ".".join([p for p in (outer.qualified, scope, name) if p])[:_MAX_QUALIFIED]
    )


def _split_name(name: str, language: str) -> tuple[str, str]:
    """Return the qualifiers before a name, joined with dots, and the name itself."""
    operator_match = _OPERATOR.match(name) if language == "cpp" and "operator" in name else None
    if operator_match is not None:
        parts = [part for part in _SEPARATORS.split(_GENERIC.sub("", operator_match[1])) if part]
        sign = operator_match[2].strip() if operator_match[2] else f" {operator_match[3]}"
        return ".".join(parts), f"operator{sign}"
    if language == "bash" or (language == "ruby" and name.startswith("[")):
        return "", name  # `log::info` is one word there, and `[]=` an operator
    if language == "rust":
        name = _REFERRING.sub("", name)
    plain_name = name.strip("\"'`@")
    steps = _SEPARATORS.split(_GENERIC.sub("", plain_name))
    parts = [step for step in steps if step and step not in ("prototype", "self")]
    return (".".join(parts[:-1]), parts[-1]) if parts else ("", plain_name)


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
_NAME = DefinitionRow._fields.index("name")
_NAME_SIZE = DefinitionRow._fields.index("name_size")
_START = DefinitionRow._fields.index("start")
_PARENT = DefinitionRow._fields.index("parent")
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
        "_at",
        "_detail",
        "_labels",
        "_row",
        "end",
        "kind",
        "line",
        "name",
        "parent",
        "qualified",
        "start",
    )

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
            self._labels = symbols[self._at]._labels  # `symbols_named` makes a second object of a definition
        return self._labels or ()


class Reference(NamedTuple):
    """A name that is used.

    Attributes:
        name: the last part, such as `charge`; `qualifier` is the part before it, such as `stripe` or `self`.
        role: call, instantiation, inheritance, import or reference.
        symbol: position of its enclosing definition, -1 at the file's top.
    """

    name: str
    qualifier: str
    role: str
    line: int
    symbol: int


class Binding(NamedTuple):
    """A name that gets a value.

    Attributes:
        name: as written, with the `$` or `@` of its language.
        kind: one of `BINDINGS`.
        type: its declared type or ""; `value` is what it is assigned. At most 200 bytes of each.
        symbol: position of the definition around it, -1 at the file's top.
        defines: whether it is the name of that definition.
    """

    name: str
    kind: str
    type: str
    value: str
    line: int
    symbol: int
    defines: bool


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

    def symbols_named(self, name: str) -> list[tuple[int, Symbol]]:
        """Return the definitions of a name, with their positions; the others are not looked into."""
        if "symbols" in self.__dict__:
            return [(at, symbol) for at, symbol in enumerate(self.symbols) if symbol.name == name]
        text = name.encode()
        table = self._tables.definitions
        starts, sizes = table[:, _START] + table[:, _NAME], table[:, _NAME_SIZE]
        matches = []
        for at in np.flatnonzero(sizes >= len(text)).tolist():
            start = int(starts[at])
            if text not in self.source[start : start + int(sizes[at])]:
                continue
            chain = [at]
            while (parent := int(table[chain[-1], _PARENT])) >= 0:
                chain.append(parent)
            called = OUTSIDE
            for place in reversed(chain):
                row = DefinitionRow(*table[place].tolist())
                called = name_of(self.source, self.language, row, called)
            if called.name == name:
                matches.append((at, Symbol(self, at, row, called)))
        return matches

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
        """Return the names that are used or imported, a space between."""
        source = self.source
        starts = self._tables.references[:, _USED]
        ends = starts + self._tables.references[:, _USED_SIZE]
        names = b" ".join([source[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        statements = [source[row.start : row.end] for row in self._import_rows]
        names_of = ways_of(self.language).imports
        items = (item for statement in statements for item in names_of(statement.decode("utf-8", "replace")))
        return " ".join([names.decode("utf-8", "replace"), *(item.name or item.module for item in items)])

    # bindings

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """What gives names their values, by name, in order of place."""
        bindings: dict[str, list[Binding]] = {}
        definitions = self._tables.definitions
        names = (definitions[:, _START] + definitions[:, _NAME]).tolist()
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
            binding = Binding(name, kind, declared, value, line, row.symbol, defines)
            bindings.setdefault(name, []).append(binding)
        return bindings

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

    @property
    def chunk_table(self) -> Table:
        """Rows of `ChunkRow`, shape (n, 4)."""
        return self._tables.chunks

    @cached_property
    def chunks(self) -> list[CodeChunk]:
        """Where it is cut, in order of lines."""
        rows = starmap(ChunkRow, self._tables.chunks.tolist())
        return [CodeChunk(row.start, row.end, row.symbol, CHUNK_KINDS[row.kind]) for row in rows]


_ORDER: Final = {role: rank for rank, role in enumerate((*ROLES, "import"))}
