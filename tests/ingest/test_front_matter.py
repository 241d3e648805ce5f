"""Front matter of Markdown files as people write it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sleuth.ingest import read
from sleuth.ingest.loaders import front_matter
from sleuth.types import Document


@pytest.mark.parametrize(
    ("line", "value"), tomllib.loads(Path(__file__).with_name("front_matter.toml").read_text("utf8"))["lines"]
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
