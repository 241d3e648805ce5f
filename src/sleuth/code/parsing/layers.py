"""Parses a source as layers: the file itself, and its parts in other languages, such as the scripts of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sleuth.code.parsing.grammars import grammar, has_grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Range

    from sleuth.code.parsing.definitions import Match
    from sleuth.code.parsing.grammars import Grammar


class Layer(NamedTuple):
    """A source, or a part of it, parsed in one language; places are those of the whole source.

    Attributes:
        matches: what the patterns of the grammar find, each with the number of its pattern.
    """

    grammar: Grammar
    root: Node
    matches: list[tuple[int, Match]]


def layers_of(source: bytes, language: str) -> list[Layer]:
    """Return a source in its language, and then its parts in other languages whose grammars are installed."""
    host = _layer(source, language)
    return [host, *(_layer(source, name, part) for name, part in _injections(host) if has_grammar(name))]


def _layer(source: bytes, language: str, part: Range | None = None) -> Layer:
    import tree_sitter

    syntax = grammar(language)
    parser = tree_sitter.Parser(syntax.language, included_ranges=[part] if part else None)
    root = parser.parse(source).root_node
    return Layer(syntax, root, tree_sitter.QueryCursor(syntax.query).matches(root))


def _injections(layer: Layer) -> list[tuple[str, Range]]:
    """Return the parts in other languages, in order of place."""
    patterns = layer.grammar.patterns
    parts = [
        (number, node)
        for number, match in layer.matches
        if patterns[number].group == "injection"
        for node in match[patterns[number].subject]
    ]
    kinds = {node.range: patterns[number].kind for number, node in sorted(parts, key=lambda part: part[0])}
    return [(kinds[p], p) for p in sorted(kinds, key=lambda p: p.start_byte) if kinds[p] != "none"]
