"""A source in a language that has a grammar, taken apart into tables of spans.

tree-sitter parses the source and runs the queries of its language; what they capture becomes definitions, references,
imports and chunks. A tree with errors is used for what it still shows: tree-sitter keeps the sound parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from sleuth.code.parsing.chunks import cut_definitions
from sleuth.code.parsing.definitions import definition_table, definitions_of
from sleuth.code.parsing.detail import Detail
from sleuth.code.parsing.grammars import grammar
from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.parsing.references import imports_of_matches, references_of
from sleuth.code.parsing.tables import Tables
from sleuth.code.parsing.uses import read_uses

if TYPE_CHECKING:
    from tree_sitter import Tree

    from sleuth.code.parsing.definitions import Match
    from sleuth.code.parsing.grammars import Grammar, Pattern

_CAPITALS: Final = frozenset({"python", "kotlin", "scala", "swift"})
"""Languages in which a call of a capitalised name makes an object."""


def parse_source(source: bytes, language: str, path: str = "") -> Detail:
    """Return the symbols, references, imports and chunks of a source, parsed here and now.

    Args:
        source: UTF-8.
        language: a name in `LANGUAGES` with a package.
        path: decides what counts as a test or an entry point.
    """
    return Detail(source, language, path, tables_of(source, language))


def tables_of(source: bytes, language: str) -> Tables:
    """Return what stands in a source.

    Args:
        source: UTF-8.
        language: a name in `LANGUAGES` with a package.
    """
    import tree_sitter

    chosen = grammar(language)
    tree = tree_sitter.Parser(chosen.language).parse(source)
    lines = LineIndex(source)
    uses, others = read_uses(_matches(tree, chosen), chosen.roles)
    by_subject = _by_subject(others, chosen)
    definitions = definitions_of(
        by_subject["definition"], [match for _, match in by_subject["wrapper"]],
        [match for _, match in by_subject["doc"]], lines, LANGUAGES[language].comment,
    )  # fmt: skip
    return Tables(
        definition_table(definitions, lines),
        references_of(uses, lines, definitions, capitals=language in _CAPITALS),
        imports_of_matches([match for _, match in by_subject["import"]], lines, definitions),
        cut_definitions(tree.root_node, definitions, lines),
        sound=not tree.root_node.has_error,
    )


def _matches(tree: Tree, grammar: Grammar) -> list[tuple[int, Match]]:
    """Return what the patterns find, with the number of the pattern."""
    import tree_sitter

    return tree_sitter.QueryCursor(grammar.query).matches(tree.root_node)


def _by_subject(
    matches: Sequence[tuple[int, Match]], grammar: Grammar
) -> dict[str, list[tuple[Pattern, Match]]]:
    """Return the matches by the group of their pattern, in order of the patterns."""
    groups: dict[str, list[tuple[Pattern, Match]]] = defaultdict(list)
    for number, match in sorted(matches, key=itemgetter(0)):
        pattern = grammar.patterns[number]
        groups[pattern.group].append((pattern, match))
    return groups
