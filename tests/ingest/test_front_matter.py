"""Front matter of Markdown files as people write it."""

from __future__ import annotations

import time
import tracemalloc
from itertools import pairwise
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
        ("k: [\n  a,\n  b,\n]", ["a", "b"]),
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


YAML_BOMB = "\n".join(
    ["a: &a [x, x, x, x]", *(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghij"))]
)


@pytest.mark.parametrize(
    "text",
    [
        f"---\n{YAML_BOMB}\n---\n",
        "---\n" + YAML_BOMB.replace("[", "{<<: [").replace("]", "]}") + "\n---\n",
        "---\nk: " + "[" * 30_000 + "\n---\n",
        "---\n" + "- " * 30_000 + "\n---\n",
        "---\nk: " + "{a: " * 10_000 + "\n---\n",
        "---\nk: !!int '" + "1:" * 20_000 + "1'\n---\n",
        "---\nk: " + "9" * 60_000 + "\n---\n",
        "---\nk: " + "'" * 60_000 + "\n---\n",
        "---\n" + "k: v\n" * 12_000 + "---\n",
        "---\n" + "k" * 60_000 + "\n---\n",
        "---\n" + '"' * 60_000 + "\n---\n",
        "+++\n" + ".".join(["a"] * 30_000) + " = 1\n+++\n",
        "+++\n" + ".".join(['"a"'] * 15_000) + " = 1\n+++\n",
        '+++\n# """\n' + ".".join(["a"] * 30_000) + ' = 1\n# """\n+++\n',
        "+++\n[" + ".".join(["a"] * 30_000) + "]\n+++\n",
        "+++\na = " + "[" * 30_000 + "\n+++\n",
        "+++\na = " + "{a=" * 15_000 + "\n+++\n",
        "+++\na = " + "9" * 60_000 + "\n+++\n",
    ],
    ids=range(18),
)
def test_bombs(text: str) -> None:
    """Front matter of 60 KB takes bounded time and at most 100 MB, whatever it contains."""
    tracemalloc.start()
    start = time.process_time()
    fields, _ = front_matter.front_matter(text)
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(str(fields)) < 200_000
    assert peak < 100e6
    assert seconds < 60, "it takes a fraction of a second where nothing else runs"


@pytest.mark.parametrize(
    "body", ["a = 1.5 # " + "." * 99, "a = '" + "." * 99 + "'", 'a = """\n' + "." * 99 + '\n"""']
)
def test_dots_in_toml(body: str) -> None:
    """Dots in comments and strings are not parts of a key."""
    assert "a" in front_matter.front_matter(f"+++\n{body}\n+++\n")[0]
