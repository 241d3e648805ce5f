r"""What does this file define, what does it refer to, and where is it cut?

`parse_source` turns text into a `Detail`: tables of spans, as `syntax.pyx` found them. They are kept as they
are; names, signatures, docs and labels are read out of the text when somebody asks. Lines are those that `\n` ends,
numbered from 1. A tree with errors is used for what it still shows: tree-sitter keeps the sound parts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.chunks import CONTAINER_LINES, KINDS_OF_CHUNKS, PART_LINES, WHOLE_LINES, Chunk
from sleuth.code.parsing.imports import Import, imported_names, imports_of
from sleuth.code.parsing.languages import LANGUAGES, grammar
from sleuth.code.parsing.naming import clean_comment, clean_doc, name_of, short_text, used_name
from sleuth.code.parsing.queries import CONTAINERS, KINDS

if TYPE_CHECKING:
    from sleuth.code.parsing.syntax import Tree

Table = NDArray[np.int32]

_ROLES = {3: "inheritance", 4: "instantiation", 5: "call", 6: "reference"}
_PLAIN, _ODD_PARTS, _ODD_TEXT = range(3)
_WIDTHS = (15, 8, 4, 4)
"""Columns of the tables of definitions, references, imports and chunks."""
_SCRIPTS = ("javascript", "typescript", "tsx")
_BEFORE = {
    "rust": re.compile(rb"^[ \t]*#\[[^\n]*\n?", re.M),
    **dict.fromkeys(_SCRIPTS, re.compile(rb"^[ \t]*@[^\n]*\n?", re.M)),
}
"""Attributes that stand beside what they are about."""
_MAX_SIGNATURE = 300


class Symbol:
    """A definition.

    Attributes:
        name: as written; `qualified` joins it to its containers with dots.
        kind: class, interface, struct, enum, trait, impl, module, function, method, property, constant, attribute,
            type or macro.
        start, end: lines, 1-based, inclusive; decorators and the comment before it belong to it.
        line: where its name stands.
        parent: position of its container in the list of symbols, -1 where it has none.
    """

    __slots__ = ("_at", "_detail", "_labels", "end", "kind", "line", "name", "parent", "qualified", "start")

    def __init__(self, detail: Detail, at: int, row: Sequence[int], named: tuple[str, str, str]) -> None:
        self._detail = detail
        self._at = at
        self._labels: tuple[str, ...] | None = None
        self.start, self.line, self.end, self.parent = row[6], row[7], row[8], row[9]
        self.kind, self.name, self.qualified = named

    def __repr__(self) -> str:
        return f"Symbol({self.kind} {self.qualified}, lines {self.start} to {self.end})"

    @property
    def signature(self) -> str:
        """The head of the definition on one line, at most 300 characters."""
        return self._detail.signature(self._at)

    @property
    def doc(self) -> str:
        """Its docstring or the comment before it, without comment marks."""
        return self._detail.doc(self._at)

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


class Reference(NamedTuple):
    """A name that is used.

    Attributes:
        name: the last part, such as `charge`; `qualifier` is what stands before it, such as `stripe` or `self`.
        role: call, instantiation, inheritance, import or reference.
        symbol: position of the definition it stands in, -1 at the file's top.
    """

    name: str
    qualifier: str
    role: str
    line: int
    symbol: int


class _Odd(NamedTuple):
    """A reference that is not plain: its place in the table and what it says."""

    at: int
    name: str
    qualifier: str
    role: str


class Detail:
    """What parsing found in a file.

    Attributes:
        source: the file's text as UTF-8.
        language: the one whose grammar was used, "" for none.
        sound: False where the tree holds errors.
    """

    def __init__(
        self,
        source: bytes,
        language: str,
        path: str,
        tables: tuple[Table, Table, Table, Table],
        odd: list[_Odd] | None = None,
        *,
        sound: bool = True,
    ) -> None:
        self.source = source
        self.language = language
        self.path = path
        self.sound = sound
        self._definitions, self._references, self._imports, self._chunks = tables
        self._odd = _read_odd(source, self._references, language) if odd is None else odd

    # kept

    def pack(self) -> bytes:
        """What is kept beside the text; read back by `read`."""
        from sleuth.code.parsing.syntax import pack_rows

        tables = (self._definitions, self._references, self._imports, self._chunks)
        head = np.array([[self.sound, _number_of(self.language), *map(len, tables)]], np.int32)
        return b"".join([pack_rows(head), *map(pack_rows, tables), _packed_odd(self._odd)])

    @classmethod
    def read(cls, packed: bytes, source: bytes, path: str) -> Detail:
        """The inverse of `pack`, with the text that was parsed."""
        from sleuth.code.parsing.syntax import unpack_rows

        head, at = unpack_rows(packed, 0, 1, 6)
        sound, language, *lengths = head[0].tolist()
        tables = []
        for length, width in zip(lengths, _WIDTHS, strict=True):
            table, at = unpack_rows(packed, at, length, width)
            tables.append(table)
        a, b, c, d = tables
        odd = [_Odd(*item) for item in json.loads(packed[at:])] if at < len(packed) else []
        name = list(LANGUAGES)[language - 1] if language else ""
        return cls(source, name, path, (a, b, c, d), odd, sound=bool(sound))

    # definitions

    @cached_property
    def _rows(self) -> list[list[int]]:
        return self._definitions.tolist()  # type: ignore[no-any-return]

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Definitions, in order of place, containers first."""
        return [
            Symbol(self, at, row, named)
            for at, (row, named) in enumerate(zip(self._rows, self.names, strict=True))
        ]

    @cached_property
    def names(self) -> list[tuple[str, str, str]]:
        """Kind, name and qualified name of each definition."""
        out: list[tuple[str, str, str]] = []
        for row in self._rows:
            out.append(name_of(self.source, self.language, row, out[row[9]] if row[9] >= 0 else ("", "", "")))
        return out

    def symbols_named(self, name: str) -> list[tuple[int, Symbol]]:
        """The definitions of a name, with their positions; the others are not looked into."""
        if "symbols" in self.__dict__:
            return [(at, symbol) for at, symbol in enumerate(self.symbols) if symbol.name == name]
        wanted = name.encode()
        table = self._definitions
        starts, sizes = table[:, 2] + table[:, 4], table[:, 5]
        out = []
        for at in np.flatnonzero(sizes >= len(wanted)).tolist():
            start = int(starts[at])
            if wanted in self.source[start : start + int(sizes[at])]:
                symbol = self._symbol(at)
                if symbol.name == name:
                    out.append((at, symbol))
        return out

    def _symbol(self, at: int) -> Symbol:
        """One definition, made for itself."""
        chain = [at]
        while (parent := int(self._definitions[chain[-1], 9])) >= 0:
            chain.append(parent)
        named = ("", "", "")
        row: list[int] = []
        for place in reversed(chain):
            row = self._definitions[place].tolist()
            named = name_of(self.source, self.language, row, named)
        return Symbol(self, at, row, named)

    def text(self, start: int, end: int) -> str:
        """The text of bytes `start` to `end`."""
        return self.source[start:end].decode("utf-8", "replace")

    def signature(self, at: int) -> str:
        """`Symbol.signature`."""
        row = self._rows[at]
        body = row[2] + row[10] if row[10] >= 0 else -1
        start = row[2] + row[1]
        end = body if body >= 0 else row[3]
        text = self.source[start : min(end, start + 4 * _MAX_SIGNATURE)]
        if body < 0:
            text = text.split(b"{", 1)[0] if KINDS[row[0]] in CONTAINERS else text.split(b"\n", 1)[0]
        return " ".join(text.decode("utf-8", "replace").split()).rstrip("{:= ")[:_MAX_SIGNATURE]

    def doc(self, at: int) -> str:
        """`Symbol.doc`."""
        row = self._rows[at]
        if row[12]:
            return clean_doc(self.source[row[2] + row[11] : row[2] + row[11] + row[12]])
        begins = self.source.rfind(b"\n", 0, row[2]) + 1
        lines = self.source[self._begins(row) : begins].split(b"\n")[:-1]
        return clean_comment([line.strip().decode("utf-8", "replace") for line in lines])

    def _begins(self, row: Sequence[int]) -> int:
        """The byte where the comment before a definition begins, or else its line."""
        starts = self.source.rfind(b"\n", 0, row[2]) + 1
        line = row[7] - self.source.count(b"\n", row[2], row[2] + row[4])
        for _ in range(line - row[6]):
            starts = self.source.rfind(b"\n", 0, starts - 1) + 1
        return starts

    def labels(self, at: int) -> tuple[str, ...]:
        """`Symbol.labels`, where those of its containers are known."""
        from sleuth.code.parsing.labels import labels_of

        symbol = self.symbols[at]
        outer = self.symbols[symbol.parent] if symbol.parent >= 0 else None
        row = self._rows[self._declared_with(at)]
        head = self._attributes(row) + self.source[row[2] : row[2] + row[4]]
        return labels_of(symbol.kind, symbol.name, self.language, self.path, head, outer, symbol.signature)

    def _declared_with(self, at: int) -> int:
        """The first of the constants that one statement of JavaScript declares: it has the words before them."""
        rows = self._rows
        while (
            self.language in _SCRIPTS
            and at
            and KINDS[rows[at][0]] == "constant"
            and rows[at - 1][9] == rows[at][9]
            and self.source[max(0, rows[at][2] - 80) : rows[at][2]].rstrip().endswith(b",")
        ):
            at -= 1
        return at

    def _attributes(self, row: Sequence[int]) -> bytes:
        """The attributes or decorators before a definition, where they are no part of it, a line each."""
        mark = _BEFORE.get(self.language)
        if mark is None:
            return b""
        return b"".join(mark.findall(self.source, self._begins(row), row[2]))

    # references

    @cached_property
    def references(self) -> list[Reference]:
        """Used names, in order of line."""
        return self.references_between(1, 1 << 31)

    def references_between(self, first: int, last: int) -> list[Reference]:
        """Those in lines `first` to `last`, in order of line."""
        table = self._references
        at = np.flatnonzero((table[:, 0] >= first) & (table[:, 0] <= last))
        odd = {item.at: item for item in self._odd}
        found: list[tuple[int, int, Reference]] = []
        for i, row in zip(at.tolist(), table[at].tolist(), strict=True):
            line, name, size, before, length, role, symbol, kind = row
            if kind == _PLAIN:
                qualifier = short_text(self.source[name - before : name - before + length]) if length else ""
                made = Reference(self.text(name, name + size), qualifier, _ROLES[role], line, symbol)
            elif i in odd:
                made = Reference(odd[i].name, odd[i].qualifier, odd[i].role, line, symbol)
            else:
                continue
            found.append((line, role, made))
        for (line, *_, symbol), items in zip(self._imports.tolist(), self._imported, strict=True):
            if first <= line <= last:
                for item in items:
                    module = item.module if item.name else ""
                    made = Reference(item.name or item.module, module, "import", line, symbol)
                    found.append((line, 7, made))
        found.sort(key=lambda item: item[:2])
        return [made for _, _, made in found]

    # imports and chunks

    @cached_property
    def _imported(self) -> list[list[Import]]:
        return [
            imports_of(self.text(start, end), self.language) for _, start, end, _ in self._imports.tolist()
        ]

    @cached_property
    def imports(self) -> list[Import]:
        """What imports bring in, in order of place."""
        return [
            item._replace(line=row[0])
            for row, items in zip(self._imports.tolist(), self._imported, strict=True)
            for item in items
        ]

    def chunk_names(self) -> tuple[str, str, list[str]]:
        """What `Tree.names` tells, where names are not plain."""
        strong = " ".join([name for kind, name, _ in self.names if kind != "attribute"])
        every = " ".join([name for _, name, _ in self.names])
        return strong, every, [self.names[at][2] if at >= 0 else "" for at in self._chunks[:, 2].tolist()]

    @property
    def spans(self) -> Table:
        """First and last line, definition and number of kind of each chunk, shape (n, 4)."""
        return self._chunks

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Where it is cut, in order of lines."""
        return [Chunk(a, b, symbol, KINDS_OF_CHUNKS[kind]) for a, b, symbol, kind in self._chunks.tolist()]


def no_tables() -> tuple[Table, Table, Table, Table]:
    """The tables of a file in which nothing was found."""
    a, b, c, d = (np.zeros((0, width), np.int32) for width in _WIDTHS)
    return a, b, c, d


def parse_source(source: bytes, language: str, path: str = "") -> Detail:
    """The symbols, references, imports and chunks of a file in a language that has a grammar.

    Args:
        source: UTF-8.
        language: a name in `LANGUAGES` with a package.
        path: decides what counts as a test or an entry point.
    """
    return _detail_of(trees_of([(source, language)])[0], source, language, path)


def trees_of(sources: Sequence[tuple[bytes, str]]) -> list[Tree]:
    """What stands in each source, given with a language that has a grammar; parsed without the interpreter's lock."""
    from sleuth.code.parsing.syntax import parse_all

    grammars = [grammar(language) for _, language in sources]
    return parse_all(grammars, [source for source, _ in sources], WHOLE_LINES, CONTAINER_LINES, PART_LINES)


class Facts(NamedTuple):
    """What is kept and searched of a parsed file.

    Attributes:
        packed: read by `Detail.read`.
        names: of definitions without attributes; `defines` has those too, `uses` has names that are used or imported.
        symbols: the qualified name of the definition that each chunk is or stands in, or "".
        spans: of the chunks, as `Detail.spans`.
    """

    packed: bytes
    names: str
    defines: str
    uses: str
    symbols: list[str]
    spans: Table


def facts_of(tree: Tree, source: bytes, language: str, path: str) -> Facts:
    """The facts of a file; no object is made per definition or reference where its names are plain."""
    odd = _read_odd(source, tree.references(), language) if tree.odd else []
    uses = [tree.used_names(), *(item.name for item in odd), *imported_names(tree.import_texts(), language)]
    packed = tree.pack(_number_of(language)) + _packed_odd(odd)
    named = tree.names() or _detail_of(tree, source, language, path).chunk_names()
    return Facts(packed, named[0], named[1], " ".join(uses), named[2], tree.chunks())


def _detail_of(tree: Tree, source: bytes, language: str, path: str) -> Detail:
    tables = (tree.definitions(), tree.references(), tree.imports(), tree.chunks())
    return Detail(source, language, path, tables, sound=tree.sound)


def _number_of(language: str) -> int:
    return list(LANGUAGES).index(language) + 1 if language else 0


def _packed_odd(odd: list[_Odd]) -> bytes:
    return json.dumps(odd, separators=(",", ":")).encode("utf-8", "replace") if odd else b""


def _read_odd(source: bytes, references: Table, language: str) -> list[_Odd]:
    """The references whose text does not say at once what they name."""
    out: list[_Odd] = []
    at = np.flatnonzero(references[:, 7])
    for i, row in zip(at.tolist(), references[at].tolist(), strict=True):
        _, start, size, before, length, role, _, kind = row
        if kind == _ODD_TEXT:
            name, qualifier = used_name(source[start : start + size])
        else:
            name = source[start : start + size].decode("utf-8", "replace")
            qualifier = short_text(source[start - before : start - before + length]) if length else ""
        if not name:
            continue
        real = _ROLES[role]
        if real == "call" and language in ("python", "kotlin", "scala"):
            real = "instantiation" if name[0].isupper() and not name.isupper() else real
        elif real == "call" and name == "new" and language == "ruby" and qualifier:
            qualifier, _, name = qualifier.rpartition("::")
            real = "instantiation"
        out.append(_Odd(i, name, qualifier, real))
    return out


class LineIndex:
    """Byte offsets to lines and back."""

    __slots__ = ("size", "starts")

    def __init__(self, source: bytes) -> None:
        self.starts: list[int] = [0, *(np.flatnonzero(np.frombuffer(source, np.uint8) == 10) + 1).tolist()]
        self.size = len(source)

    def line(self, byte: int) -> int:
        """The line of a byte, 1-based."""
        return bisect_right(self.starts, byte)

    def start(self, line: int) -> int:
        """The first byte of a line."""
        return self.starts[line - 1]

    def stop(self, line: int) -> int:
        """One past the last byte of a line, its newline left out."""
        return self.starts[line] - 1 if line < len(self.starts) else self.size

    def __len__(self) -> int:
        last = len(self.starts)
        return last - 1 if self.starts[-1] == self.size else last
