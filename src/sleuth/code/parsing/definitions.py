"""The definitions of a file: their names, extents, containers and documentation, from captures of the queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sleuth.code.parsing.grammars import Pattern
from sleuth.code.parsing.kinds import CONTAINERS, KINDS, PRECEDENCE, YIELDING
from sleuth.code.parsing.tables import DefinitionRow, Table, table_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sleuth.code.parsing.lines import LineIndex

    Match = dict[str, list[Node]]
    """The nodes of one match, by capture."""

_MOST_COMMENT_LINES = 80
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_RANK = {kind: rank for rank, kind in enumerate(PRECEDENCE)}


class Span(NamedTuple):
    """Bytes `start` to `end`."""

    start: int
    end: int

    @classmethod
    def of(cls, node: Node) -> Span:
        """Return the bytes of a node."""
        return cls(node.start_byte, node.end_byte)


_NOWHERE = Span(0, 0)


@dataclass(slots=True)
class ParsedDefinition:
    """A definition while its file is taken apart.

    Attributes:
        own: the bytes of its node; `start` and `end` have its wrappers too.
        body: where its body begins, or -1.
        parent: position of its container, or -1.
        first, last: lines, with the comment before it.
    """

    kind: str
    node: Node
    own: Span
    name: Span
    scope: Span
    body: int
    start: int
    end: int
    parent: int = -1
    first: int = 0
    last: int = 0
    doc: Span = _NOWHERE


def definition_table(definitions: Sequence[ParsedDefinition], lines: LineIndex) -> Table:
    """Return definitions as rows of `DefinitionRow`."""
    rows = [
        (
            _NUMBERS[d.kind], d.start, d.end, d.own.start - d.start, d.name.start - d.start, d.name.end - d.name.start,
            d.first, lines.line(d.name.start), d.last, d.parent, d.body - d.start if d.body >= 0 else -1,
            d.doc.start - d.start if d.doc.end else 0, d.doc.end - d.doc.start,
            d.scope.start - d.start if d.scope.end else 0, d.scope.end - d.scope.start,
        )
        for d in definitions
    ]  # fmt: skip
    return table_of(rows, DefinitionRow)


def definitions_of(
    matches: Iterable[tuple[Pattern, Match]],
    wrappers: Iterable[Match],
    docs: Iterable[Match],
    lines: LineIndex,
    comment: str,
) -> list[ParsedDefinition]:
    """Return the definitions in order of start, containers first.

    Args:
        matches: of the patterns that define something.
        wrappers, docs: of the patterns for those.
        comment: what opens a line comment, "" where nothing does.
    """
    by_node: dict[Span, list[ParsedDefinition]] = defaultdict(list)
    for pattern, match in matches:
        (node, *_) = match[pattern.subject]
        span = Span.of(node)
        name = match["name"][0] if "name" in match else _declared(match["declarator"][0])
        inner = match["body"][0] if "body" in match else None
        body = inner.start_byte if inner is not None else -1
        scope = Span.of(match["scope"][0]) if "scope" in match else _NOWHERE
        end = span.end
        if inner is not None and inner.end_byte > end:  # Dart's bodies stand beside their signatures
            node, end = inner, inner.end_byte
        if pattern.to_the_end:
            body, end = span.end, lines.size
        definition = ParsedDefinition(pattern.kind, node, span, Span.of(name), scope, body, span.start, end)
        by_node[definition.own].append(definition)
    unique: list[ParsedDefinition] = []
    for group in by_node.values():  # of a node its strongest kind, or each of its names
        strong = [definition for definition in group if definition.kind not in YIELDING]
        by_name = {definition.name: definition for definition in group}
        unique += [min(strong, key=lambda d: (_RANK[d.kind], -d.body))] if strong else by_name.values()
    _extend(unique, wrappers, lines)
    unique = _without_repeated_types(unique, lines.source)
    unique.sort(key=lambda d: (d.start, -d.end, d.own.start, d.name.start))
    top = -1
    for i, definition in enumerate(unique):  # containers come before what they contain
        while top >= 0 and unique[top].end < definition.end:
            top = unique[top].parent
        around = top
        while around >= 0 and _stands_beside(definition, unique[around]):
            around = unique[around].parent
        definition.parent = around
        top = i
    sibling_by_parent: dict[int, ParsedDefinition] = {}
    for definition in unique:
        sibling = sibling_by_parent.get(definition.parent)
        last_line = sibling.last if sibling is not None and sibling.end <= definition.start else 0
        definition.first = _first_line(lines, definition.start, comment.encode(), last_line)
        definition.last = lines.line(max(definition.end - 1, definition.start))
        sibling_by_parent[definition.parent] = definition
    at = 0
    # A docstring is of the innermost definition around it; of several the first one counts.
    for doc in sorted(Span.of(match["doc"][0]) for match in docs):
        while at < len(unique) and unique[at].start <= doc.start:
            at += 1
        owner = at - 1
        while owner >= 0 and unique[owner].end < doc.end:
            owner = unique[owner].parent
        if owner >= 0 and not unique[owner].doc.end:
            unique[owner].doc = doc
    return unique


def _declared(declarator: Node) -> Node:
    """Return the name inside a declarator of C, such as `f` in `**f(int)`."""
    while declarator.type != "operator_cast":
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type == "reference_declarator":
            inner = declarator.named_children[-1] if declarator.named_children else None
        if inner is None:
            break
        declarator = inner
    return declarator


def _extend(definitions: Sequence[ParsedDefinition], matches: Iterable[Match], lines: LineIndex) -> None:
    """Add their wrappers; the first of several definitions has the beginning of their wrapper only, on its own line."""
    wrapped: dict[Span, set[Span]] = defaultdict(set)
    for match in matches:
        wrapped[Span.of(match["wrapper"][0])].add(Span.of(match["wrapped"][0]))
    # By the node that a wrapper wraps first, and whether it wraps nothing else.
    wrappers = {
        min(inner): (outer, len(inner) == 1) for outer, inner in wrapped.items() if min(inner) != outer
    }
    for definition in definitions:
        inner, is_alone = definition.own, True
        while inner in wrappers:
            inner, is_sole = wrappers[inner]
            is_alone = is_alone and is_sole
            if not is_alone and lines.line(inner.start) != lines.line(definition.own.start):
                break
            definition.start = inner.start
            if is_alone:
                definition.end = max(definition.end, inner.end)


def _without_repeated_types(definitions: list[ParsedDefinition], source: bytes) -> list[ParsedDefinition]:
    """Drop the type that `typedef struct S {} S` defines beside `S` itself."""
    types = {source[slice(*d.name)]: d for d in definitions if d.kind == "type"}
    if not types:
        return definitions
    repeated = set()
    for definition in definitions:
        typedef = types.get(source[slice(*definition.name)]) if definition.kind in CONTAINERS else None
        if typedef is not None and typedef.own.start <= definition.own.start < typedef.own.end:
            definition.start, definition.end = typedef.start, typedef.end
            repeated.add(id(typedef))
    return [definition for definition in definitions if id(definition) not in repeated]


def _stands_beside(definition: ParsedDefinition, other: ParsedDefinition) -> bool:
    """Return whether a definition is beside another: the name of a type does not contain the type, and one name of a
    declaration does not contain its other names.
    """
    if other.end <= definition.start:
        return True
    if other.kind == "type":
        return definition.kind in CONTAINERS
    both_yield = other.kind in YIELDING and definition.kind in YIELDING
    return both_yield and (other.start, other.end) == (definition.start, definition.end)


def _first_line(lines: LineIndex, start: int, comment: bytes, last_line: int) -> int:
    """Return the line where the comments, attributes and decorators before a definition begin.

    Args:
        start: byte of the definition.
        comment: what opens a line comment.
        last_line: no line up to this one belongs to it.
    """
    line = first = lines.line(start)
    if line < 2 or lines.source[lines.start(line) : start].strip():
        return line
    while first > last_line + 1 and line - first < _MOST_COMMENT_LINES:
        text = lines.text(first - 1)
        is_comment = text.startswith((b"///", b"#[", b"@")) or (bool(comment) and text.startswith(comment))
        if not text:
            break
        if comment == b"//" and text.endswith(b"*/"):
            opening = lines.source.rfind(b"/*", 0, lines.stop(first - 1))
            opens = lines.line(opening) if opening >= 0 else 0
            if opens <= last_line or not lines.text(opens).startswith(b"/*"):
                break
            first = opens
        elif is_comment and not text.startswith((b"#!", b"#include")):
            first -= 1
        else:
            break
    return first
