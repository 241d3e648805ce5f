"""The runtime that is compiled in, with its shortcuts, beside the unchanged one."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.parsing.parse import trees_of
from tests.code.test_parse import SOURCES

tree_sitter = pytest.importorskip("tree_sitter", reason="tree-sitter is the oracle of this file")

_PIECES = [text for text, *_ in SOURCES.values()]
_PIECES += ["{", "}", "(", ")", '"', "'", "\n", "/*", "*/", "é", "\ufeff", "\0", " "]


@cache
def oracle(language: str) -> Any:
    """The unchanged parser."""
    found = LANGUAGES[language]
    module = importlib.import_module(found.package)
    return tree_sitter.Parser(tree_sitter.Language(getattr(module, found.entry)()))


def same(language: str, source: bytes) -> bool:
    """Whether both have as many visible nodes, and agree on whether there are errors."""
    (ours,) = trees_of([(source, language)])
    root = oracle(language).parse(source).root_node
    return (ours.nodes, ours.sound) == (root.descendant_count, not root.has_error)


@pytest.mark.parametrize("language", SOURCES)
def test_trees_are_those_of_the_unchanged_runtime(language: str) -> None:
    """A source, once and many times over, whole and cut off anywhere, has the tree that tree-sitter gives it."""
    source = SOURCES[language][0].encode()
    assert same(language, source * 200)
    assert all(same(language, source[:end]) for end in range(len(source)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), st.lists(st.sampled_from(_PIECES), max_size=12))
def test_broken_sources_too(language: str, pieces: list[str]) -> None:
    """What is no program of the language is recovered from in the same way."""
    assert same(language, "".join(pieces).encode())
