"""A source in a language that has a grammar, taken apart into tables of spans.

tree-sitter parses the source and runs the queries of its language; what they capture becomes definitions, references,
imports and chunks. A tree with errors is used for what it still shows: tree-sitter keeps the sound parts.

Which plain names are uses of a definition, and which are variables, is decided here; types in quotes are read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sleuth.code.parsing.chunks import cut_definitions
from sleuth.code.parsing.definitions import definition_table, definitions_of
from sleuth.code.parsing.grammars import grammar, has_grammar
from sleuth.code.parsing.kinds import BINDINGS, CONTAINERS, PARSED_ROLES, ROLES
from sleuth.code.parsing.languages import LANGUAGES, SCRIPTS, languages_with, ways_of
from sleuth.code.parsing.lines import ASIDES, LineIndex
from sleuth.code.parsing.tables import BindingRow, ImportRow, ReferenceRow, Table, Tables, table_of
from sleuth.code.parsing.uses import place_bindings, place_uses, read_uses

if TYPE_CHECKING:
    from tree_sitter import Node, Range

    from sleuth.code.parsing.definitions import Match, ParsedDefinition
    from sleuth.code.parsing.grammars import Grammar, Pattern

_MAX_QUALIFIER: Final = 2_000
_CALL: Final = ROLES.index("call")
_INSTANTIATION: Final = ROLES.index("instantiation")
_REFERENCE: Final = ROLES.index("reference")
_QUOTED: Final = PARSED_ROLES.index("quoted")
_MENTION: Final = PARSED_ROLES.index("mention")
_OUTER: Final = BINDINGS.index("outer")
_GENERIC: Final = BINDINGS.index("generic")
_DECLARES_NOTHING: Final = [BINDINGS.index(kind) for kind in ("assigned", "member", "narrowed")]
_BOUND: Final = [BindingRow._fields.index(field) for field in ("name", "name_size", "kind", "symbol")]
_USED: Final = [ReferenceRow._fields.index(field) for field in ("name", "name_size", "symbol", "role")]
_KIND: Final = BindingRow._fields.index("kind")
_ROLE: Final = ReferenceRow._fields.index("role")
_NAME: Final = ReferenceRow._fields.index("name")
_NAME_SIZE: Final = ReferenceRow._fields.index("name_size")
_QUALIFIER_SIZE: Final = ReferenceRow._fields.index("qualifier_size")
_IDENTIFIER: Final = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_WORD: Final = re.compile(_IDENTIFIER)
_DOTTED: Final = re.compile(rb"\"(?:\\.|[^\"\\\n])*\"?|((?:%b\.)*)(%b)" % (_IDENTIFIER, _IDENTIFIER))
_OF_ALL: Final = re.compile(rb"\bimport\s*\*")
_CAPITALS: Final = languages_with("capitals")
_PREPROCESSED: Final = languages_with("preprocessor")
_MACROS: Final = re.compile(
    rb"\b(?:class|struct|union)\s+((?:[A-Z_][A-Z0-9_]+(?:\([^()\n]*\))?\s+){1,4})(?=\w[\w:]*\s*(?:final\s*)?[:{])"
    rb"|\)(?:\s*(?:const|override|noexcept)\b)*\s*((?:[A-Z][A-Z0-9_]+\b(?:\([^()\n]*\))?\s*){1,4})(?=\{)"
)
"""Macros of C++ before the name of a class, and before the body of a function."""
_CONFLICT: Final = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?: [^\n]*)?\r?$", re.MULTILINE)
"""A line that git puts into a file with a merge conflict."""
_BRACKETS: Final = (b"()", b"[]", b"{}")
_STATEMENTS: Final = re.compile(rb"(?!(?:else|case|default|catch|finally)\b|[)}\]]).*[;}]", re.DOTALL)


class _Layer(NamedTuple):
    """A source, or a part of it, parsed in one language; places are those of the whole source.

    Attributes:
        matches: what the patterns of the grammar find, each with the number of its pattern.
    """

    grammar: Grammar
    root: Node
    matches: list[tuple[int, Match]]


def tables_of(source: bytes, language: str) -> Tables:
    """Return the definitions and references of a source.

    Args:
        source: UTF-8.
        language: a name in `LANGUAGES` with a package.
    """
    layers = _layers_of(source, language)
    lines = LineIndex(source)
    uses, bound, by_subject = _read(layers)
    definitions = definitions_of(
        by_subject["definition"], [match for _, match in by_subject["wrapper"]],
        [match for _, match in by_subject["doc"]], lines, LANGUAGES[language].comment,
    )  # fmt: skip
    imports = imports_of_matches([match for _, match in by_subject["import"]], lines, definitions)
    # start, end, container, and start and end of the name of each
    rows = [(d.start, d.end, d.parent, d.name.start, _end_of_name(source, d)) for d in definitions]
    spans = np.array(rows, np.int32).reshape(-1, 5)
    tables = Tables(
        definition_table(definitions, lines),
        place_uses(_split_quoted(source, uses), lines.newlines, spans, _MAX_QUALIFIER),
        place_bindings(bound, spans),
        imports,
        cut_definitions([layer.root for layer in layers], definitions, lines),
        sound=not any(layer.root.has_error for layer in layers),
    )
    references = _keep_meant(source, language, tables, definitions)
    if language in _CAPITALS and len(references):  # a call of `Order`, unlike one of `ORDER`, makes an object
        first = np.frombuffer(source, np.uint8)[references[:, _NAME]]
        calls = (references[:, _ROLE] == _CALL) & ((first < ord("a")) | (first > 127))
        for row in np.flatnonzero(calls).tolist():
            start = references[row, _NAME]
            name = source[start : start + references[row, _NAME_SIZE]].decode("utf-8", "replace")
            if name[:1].isupper() and not name.isupper():
                references[row, _ROLE] = _INSTANTIATION
    return tables._replace(references=references)


def _end_of_name(source: bytes, definition: ParsedDefinition) -> int:
    """Return where names stop that are no uses: a type that is extended, and arguments of a template, are uses."""
    start, end = definition.name.start, definition.name.end
    arguments = source.find(b"<", start, end)
    return start + 1 if definition.kind == "impl" else arguments if arguments > start else end


def _layers_of(source: bytes, language: str) -> list[_Layer]:
    """Return a source in its language, and then its parts in other languages, such as the scripts of a page, by place.

    Parts whose grammars are not installed are left out.
    """
    host = _layer(source, language)
    patterns = host.grammar.patterns
    injections = {number for number, pattern in enumerate(patterns) if pattern.group == "injection"}
    parts = [
        (number, node)
        for number, match in (host.matches if injections else ())
        if number in injections
        for node in match[patterns[number].subject]
    ]
    kinds = {node.range: patterns[number].kind for number, node in sorted(parts, key=itemgetter(0))}
    ranges = sorted(kinds, key=lambda part: part.start_byte)
    readable = [part for part in ranges if kinds[part] != "none" and has_grammar(kinds[part])]
    return [host, *(_layer(source, kinds[part], part) for part in readable)]


def _layer(source: bytes, language: str, part: Range | None = None) -> _Layer:
    import tree_sitter

    syntax = grammar(language)
    parser = tree_sitter.Parser(syntax.language, included_ranges=[part] if part else None)
    if language == "cpp":
        source = _blank(source, [match.span(match.lastindex or 0) for match in _MACROS.finditer(source)])
    root = parser.parse(source).root_node
    if root.has_error:
        spans = [match.span() for match in _CONFLICT.finditer(source)]
        spans += _torn_conditionals(source) if language in _PREPROCESSED else ()
        root = parser.parse(_blank(source, spans)).root_node if spans else root
    return _Layer(syntax, root, tree_sitter.QueryCursor(syntax.query).matches(root))


def _blank(source: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return a source of the same size and lines, with spaces in some places."""
    blanked, blank_to = bytearray(source), 0
    for start, end in sorted(spans):
        first = max(start, blank_to)  # conditionals lie in each other
        blanked[first:end] = re.sub(rb"[^\n]", b" ", source[first:end])
        blank_to = max(end, blank_to)
    return bytes(blanked)


class _Conditional(NamedTuple):
    """An `#if` that is not closed yet: the sign before it, its bytes, those of `#else` and so on, and its branches."""

    sign_before: bytes
    line: tuple[int, int]
    starts: list[int]
    branches: list[list[bytes]]

    @property
    def is_torn(self) -> bool:
        """Whether it does not stand between statements, or a branch does not hold whole ones."""
        codes = [b" ".join(branch) for branch in self.branches if branch]
        is_closed = all(code.count(first) == code.count(last) for code in codes for first, last in _BRACKETS)
        is_between = self.sign_before in (b";", b"{", b"}", b":")
        return not (is_between and is_closed and all(map(_STATEMENTS.fullmatch, codes)))


def _torn_conditionals(source: bytes) -> list[tuple[int, int]]:
    """Return the bytes of conditionals that divide a statement or its brackets, except for their first branch.

    No grammar reads arguments or bases with an `#if` between them: what follows would be lost, or belong to them.
    """
    spans: list[tuple[int, int]] = []
    opened: list[_Conditional] = []
    sign, read_to = b";", 0
    for match in ASIDES.finditer(source):
        code = source[read_to : match.start()].strip() + (match["string"] or b"")[:1]
        sign, read_to, word = code[-1:] or sign, match.end(), match["word"]
        if opened and code:
            opened[-1].branches[-1].append(code)
        if word in (b"if", b"ifdef", b"ifndef"):
            opened.append(_Conditional(sign, match.span(), [], [[]]))
        elif word in (b"elif", b"else", b"endif") and opened:
            opened[-1].starts.append(match.start())
            opened[-1].branches.append([])
            if word == b"endif" and (closed := opened.pop()).is_torn:
                spans += [closed.line, (closed.starts[0], match.end())]
    return spans


def _read(layers: Sequence[_Layer]) -> tuple[Table, Table, dict[str, list[tuple[Pattern, Match]]]]:
    """Return uses and bindings in order of place, and the other matches by the group of their pattern, in its order."""
    uses, bindings = [], []
    groups: dict[str, list[tuple[Pattern, Match]]] = defaultdict(list)
    for layer in layers:
        table, bound, matches = read_uses(layer.matches, layer.grammar.roles, layer.grammar.bindings)
        uses.append(table)
        bindings.append(bound)
        for number, match in sorted(matches, key=itemgetter(0)):
            pattern = layer.grammar.patterns[number]
            groups[pattern.group].append((pattern, match))
    return _in_order(uses), _in_order(bindings), groups


def _in_order(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables by their first column."""
    if len(tables) == 1:
        return tables[0]
    table = np.concatenate(tables)
    return table[np.argsort(table[:, 0], kind="stable")]


def _split_quoted(source: bytes, uses: Table) -> Table:
    """Return uses with the names of types in quotes, and of what a macro means, in the place of that text.

    Args:
        uses: as `uses.read_uses` returns them, shape (n, 5): start and end of the name, its role, start and end of the
            qualifier.
    """
    is_quoted = uses[:, 2] == _QUOTED
    if not is_quoted.any():
        return uses
    rows = []
    for start, end in uses[is_quoted, :2].tolist():
        for match in _DOTTED.finditer(source, start, end):
            qualifier = (match.start(1), match.end(1) - 1) if match[1] else (0, 0)
            if match[2]:
                rows.append((*match.span(2), _REFERENCE if match[1] else _MENTION, *qualifier))
    return _in_order([uses[~is_quoted], np.array(rows, np.int32).reshape(-1, 5)])


def _keep_meant(
    source: bytes, language: str, tables: Tables, definitions: Sequence[ParsedDefinition]
) -> Table:
    """Return references outside of imports, without names that mean a variable or a type parameter.

    A mention in a module means what the file imports or defines; elsewhere it may mean what another file defines.

    Args:
        tables: the role of a reference is a position in `PARSED_ROLES`.
        definitions: in order of start, containers first.
    """
    references, imports = tables.references, tables.imports
    if not ((references[:, _ROLE] >= len(ROLES)).any() or (tables.bindings[:, _KIND] == _GENERIC).any()):
        return references
    nearest = np.searchsorted(imports[:, 1], references[:, _NAME], "right") - 1
    is_outside = references[:, _NAME] >= np.append(imports[:, 2], 0)[nearest]
    references = references[is_outside | (references[:, _ROLE] < _REFERENCE)]
    roles = references[:, _ROLE]
    statements = [source[start:end] for start, end in imports[:, 1:3].tolist()]
    imported = {word for statement in statements for word in _WORD.findall(statement)}
    is_script = language in SCRIPTS
    imports_all = any(map(_OF_ALL.search, statements))
    is_open = not statements if is_script else language != "python" or imports_all
    defined = {(source[d.name.start : d.name.end], d.parent) for d in definitions}
    by_kind, starts = defaultdict[int, set[tuple[bytes, int]]](set), set[int]()
    for start, size, kind, symbol in tables.bindings[:, _BOUND].tolist():
        if kind not in _DECLARES_NOTHING:
            starts.add(start)
            if symbol < 0 or definitions[symbol].name.start != start:
                by_kind[kind].add((source[start : start + size], symbol))
    outer, generic = by_kind.pop(_OUTER, set()), by_kind.pop(_GENERIC, set())
    bound = set[tuple[bytes, int]]().union(*by_kind.values()) - outer
    scoped = {name for name, _ in bound | defined | generic}
    hidden = {name for name, at in bound if at < 0} if is_script else set()  # of functions without a name
    if language == "go":  # a package has no definition
        texts = (statement.decode("utf-8", "replace") for statement in statements)
        items = (item for text in texts for item in ways_of("go").imports(text))
        imported, hidden = set(), {b"_", *(item.alias.encode() for item in items)}

    def is_meant(name: bytes, at: int, is_mention: bool) -> bool:
        in_function = False
        while at >= 0 and name in scoped:
            kind = definitions[at].kind
            if (name, at) in bound and is_mention and kind not in CONTAINERS:
                return False
            if (name, at) in generic and kind != "module":  # of a template that is only declared
                return False
            if (name, at) in defined and not (kind in CONTAINERS and in_function):
                return True
            in_function = in_function or kind in ("function", "method")
            at = definitions[at].parent
        return (name, -1) in defined or name in imported or not is_mention or (is_open and name not in hidden)

    is_use = roles < len(ROLES)
    is_asked = roles == _MENTION
    if generic:  # a type may be a parameter
        is_asked |= (roles == _REFERENCE) & (references[:, _QUALIFIER_SIZE] == 0)
    is_use[is_asked] = [
        (role == _REFERENCE or start not in starts)
        and is_meant(source[start : start + size], at, role == _MENTION)
        for start, size, at, role in references[is_asked][:, _USED].tolist()
    ]
    references[roles == _MENTION, _ROLE] = _REFERENCE
    return references[is_use]


def imports_of_matches(
    matches: Sequence[Match], lines: LineIndex, definitions: Sequence[ParsedDefinition]
) -> Table:
    """Return the import statements in order of place; one inside another is part of it.

    Args:
        definitions: in order of start, containers first.
    """
    if not matches:
        return table_of([], ImportRow)
    starts = [definition.start for definition in definitions]
    statements = [match["import"][0] for match in matches]
    rows: list[ImportRow] = []
    reached = -1
    for start, longest in sorted((node.start_byte, -node.end_byte) for node in statements):
        if start >= reached:
            reached = -longest
            around = bisect_right(starts, start) - 1
            while around >= 0 and definitions[around].end <= start:
                around = definitions[around].parent
            rows.append(ImportRow(lines.line(start), start, reached, around))
    return table_of(rows, ImportRow)
