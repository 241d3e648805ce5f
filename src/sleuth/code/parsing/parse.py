"""A source in a language that has a grammar, taken apart into tables of spans.

tree-sitter parses the source and runs the queries of its language; what they capture becomes definitions, references,
imports and chunks. A tree with errors is used for what it still shows: tree-sitter keeps the sound parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sleuth.code.parsing.chunks import cut_definitions
from sleuth.code.parsing.definitions import definition_table, definitions_of
from sleuth.code.parsing.grammars import grammar, has_grammar
from sleuth.code.parsing.languages import LANGUAGES, languages_with
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.parsing.references import imports_of_matches, references_of, spans_of
from sleuth.code.parsing.tables import Tables
from sleuth.code.parsing.uses import place_bindings, read_uses

if TYPE_CHECKING:
    from tree_sitter import Node, Range

    from sleuth.code.parsing.definitions import Match
    from sleuth.code.parsing.grammars import Grammar, Pattern
    from sleuth.code.parsing.tables import Table

_CAPITALS: Final = languages_with("capitals")


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
    spans = spans_of(definitions)
    bindings = place_bindings(bound, spans)
    return Tables(
        definition_table(definitions, lines),
        references_of(
            uses, bindings, lines, definitions, imports, spans=spans, capitals=language in _CAPITALS
        ),
        bindings,
        imports,
        cut_definitions([layer.root for layer in layers], definitions, lines),
        sound=not any(layer.root.has_error for layer in layers),
    )


def _layers_of(source: bytes, language: str) -> list[_Layer]:
    """Return a source in its language, and then its parts in other languages, such as the scripts of a page, by place.

    Parts whose grammars are not installed are left out.
    """
    host = _layer(source, language)
    patterns = host.grammar.patterns
    parts = [
        (number, node)
        for number, match in host.matches
        if patterns[number].group == "injection"
        for node in match[patterns[number].subject]
    ]
    kinds = {node.range: patterns[number].kind for number, node in sorted(parts, key=itemgetter(0))}
    ranges = sorted(kinds, key=lambda part: part.start_byte)
    return [
        host,
        *(
            _layer(source, kinds[part], part)
            for part in ranges
            if kinds[part] != "none" and has_grammar(kinds[part])
        ),
    ]


def _layer(source: bytes, language: str, part: Range | None = None) -> _Layer:
    import tree_sitter

    syntax = grammar(language)
    parser = tree_sitter.Parser(syntax.language, included_ranges=[part] if part else None)
    root = parser.parse(source).root_node
    return _Layer(syntax, root, tree_sitter.QueryCursor(syntax.query).matches(root))


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
