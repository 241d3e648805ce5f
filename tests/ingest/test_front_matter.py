"""Metadata that Markdown files state at their top, as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sleuth.ingest import read
from sleuth.ingest.loaders.front_matter import front_matter
from sleuth.types import Document


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('k: "Orwell" # the writer', "Orwell"),
        ("k: 'it''s' # so", "it's"),
        ('k: "a # b"', "a # b"),
        (r'k: "tab\tquote\" é back\\"', 'tab\tquote" é back\\'),
        (r'k: "C:\new\x"', r"C:\new\x"),
        (r'k: "\ud800"', r"\ud800"),
        ("k: [a, \"b, c\", 'd, e', 7]", ["a", "b, c", "d, e", 7]),
        ("k: [a, b] # two", ["a", "b"]),
        ("k: [a,\n  b,\n  'c, d']", ["a", "b", "c, d"]),
        ("k: [\n  a,\n  b,\n]", ["a", "b"]),
        ("k: >+\n  one\n  two", "one two"),
        ("k: |2\n  one", "one"),
        ("'k': v", "v"),
        ('"k": "v"', "v"),
        ("k: don't", "don't"),
        ("k: it's 'so'", "it's 'so'"),
        ('k: "a" and "b"', '"a" and "b"'),
    ],
)
def test_yaml(line: str, value: Any) -> None:
    """Quotes, comments, escapes and lists mean what they mean in YAML."""
    assert front_matter(f"---\nfirst: 1\n{line}\nlast: 2\n---\ntext")[0] == {
        "first": 1,
        "k": value,
        "last": 2,
    }


def test_keys_of_any_script() -> None:
    """A key may begin with any letter."""
    assert front_matter("---\nÜberschrift: a\n題名: b\n---\n")[0] == {"Überschrift": "a", "題名": "b"}


def test_titles_that_are_numbers(tmp_path: Path) -> None:
    """A title is a text, though YAML would read a number."""
    (tmp_path / "a.md").write_text("---\ntitle: 1984\n---\n\n# Part One\n")
    (document, _) = read([tmp_path])
    assert isinstance(document, Document)
    assert document.metadata["title"] == "1984"
