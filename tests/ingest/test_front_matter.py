"""Front matter of Markdown files as people write it."""

from pathlib import Path
from typing import Any

import pytest

from sleuth.ingest import read
from sleuth.ingest.loaders import front_matter
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
        ("k: [\n  a,\n  [b, c],\n  d,\n]", ["a", "d"]),
        ("k: >+\n  one\n  two", "one two"),
        ("k: |2\n  one", "one"),
        ("'k': v", "v"),
        ('"k": "v"', "v"),
        ("k: don't", "don't"),
        ("k: it's 'so'", "it's 'so'"),
        ('k: "a" and "b"', '"a" and "b"'),
        ("k: Rust: a guide", "Rust: a guide"),
        ("k: no", "no"),
        ("k: 2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("k: 007", "007"),
        ("k: -1.5", -1.5),
        ("k: TRUE", True),
        ("k:\n- a\n- b", ["a", "b"]),
        ("k: &anchor a", "a"),
        ("k: *alias", "*alias"),
        ("k: !!python/name:os.system x", "x"),
        ("k: !!str 5", "5"),
        ('k: "5"', "5"),
    ],
)
def test_yaml(line: str, value: Any) -> None:
    """Quotes, comments, escapes and lists are parsed as YAML."""
    assert front_matter.front_matter(f"---\nfirst: 1\n{line}\nlast: 2\n---\ntext")[0] == {
        "first": 1,
        "k": value,
        "last": 2,
    }


def test_keys_of_any_script() -> None:
    """A key may begin with any letter."""
    assert front_matter.front_matter("---\nÜberschrift: a\n題名: b\n---\n")[0] == {
        "Überschrift": "a",
        "題名": "b",
    }


def test_titles_that_are_numbers(tmp_path: Path) -> None:
    """A title is a text, even if YAML reads it as a number."""
    (tmp_path / "a.md").write_text("---\ntitle: 1984\n---\n\n# Part One\n")
    (document, _) = read([tmp_path])
    assert isinstance(document, Document)
    assert document.metadata["title"] == "1984"


@pytest.mark.parametrize(
    "body", ["a = 1.5 # " + "." * 99, "a = '" + "." * 99 + "'", 'a = """\n' + "." * 99 + '\n"""']
)
def test_dots_in_toml(body: str) -> None:
    """Dots in comments and strings are not parts of a key."""
    assert "a" in front_matter.front_matter(f"+++\n{body}\n+++\n")[0]
