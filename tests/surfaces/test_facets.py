"""sleuth index facets: what an index holds, counted."""

import json
from pathlib import Path

import pytest

from tests.commands import sleuth


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of five files in three folders."""
    home = tmp_path_factory.mktemp("home")
    for name, text in {
        "docs/a.md": "---\nyear: 2020\nauthor: Ann\n---\nA token bucket in English words that are long enough to tell.",
        "docs/b.md": "---\nyear: 2020\nauthor: Bob\n---\nAnother bucket.",
        "docs/deep/c.md": "---\nyear: 2021\n---\nCats sleep.",
        "notes/d.txt": "A bucket of notes.",
        "top.txt": "Nothing else.",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    assert sleuth("index", ".", "--embedder", "", cwd=home).returncode == 0
    return home


def test_keys_have_their_most_frequent_values(home: Path) -> None:
    """A key has its types and documents; values of which each document has its own are one line."""
    output = sleuth("index", "facets", "year", "author", "type", cwd=home).stdout
    assert output.splitlines() == [
        "year  integer, 3 documents", "       2  2020", "       1  2021", "author  string, 2 documents",
        "   a value of its own for each document, such as Ann", "type  string, 5 documents",
        "       3  markdown", "       2  text",
    ]  # fmt: skip
    every = sleuth("index", "facets", cwd=home).stdout
    assert "path  string, 5 documents" in every
    assert not any(line.startswith(("end_line", "heading", "start_line")) for line in every.splitlines())
    assert sleuth("index", "facets", "end_line", cwd=home).returncode == 0


def test_facets_as_json_within_a_filter_and_a_query(home: Path) -> None:
    """Filters, a query and a limit choose what is counted."""
    (entry,) = json.loads(sleuth("index", "facets", "type", "--json", "--query", "bucket", cwd=home).stdout)[
        "keys"
    ]
    assert entry["values"] == [{"value": "markdown", "documents": 2}, {"value": "text", "documents": 1}]
    (entry,) = json.loads(
        sleuth("index", "facets", "type", "--json", "-k", "1", "-f", "year:2021", cwd=home).stdout
    )["keys"]
    assert entry == {
        "key": "type", "types": ["string"], "documents": 1, "values": [{"value": "markdown", "documents": 1}],
    }  # fmt: skip
    process = sleuth("index", "facets", "nope", cwd=home)
    assert (process.returncode, process.stdout.strip()) == (1, "nope  no document has it")
