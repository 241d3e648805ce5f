"""What matches a query in code: its files, and the kinds of definitions."""

from pathlib import Path

import pytest

from sleuth.code import CodeStorage, Snapshot
from sleuth.code.search.facets import code_matches
from tests.code.conftest import open_project

FILES = {
    "src/bucket.py": "class Bucket:\n    def refill(self):\n        return 1\n\n\ndef refill_all(buckets):\n    pass\n",
    "src/cats.py": "def climb():\n    return 2\n",
    "web/bucket.ts": "export function refill(n: number): void {\n  return;\n}\n",
    "notes.md": "# Notes\n\nA refill happens every second.\n",
}


@pytest.fixture
def snapshot(storage: CodeStorage, tmp_path: Path) -> Snapshot:
    """A snapshot of the files."""
    return open_project(storage, tmp_path / "r", FILES)


def test_files_and_kinds_that_hold_a_word(snapshot: Snapshot) -> None:
    """Files without a word of the query do not count, and each piece counts for the definition that it is of."""
    matches = code_matches(snapshot, "refill")
    assert [file.path for file in matches.files] == ["notes.md", "src/bucket.py", "web/bucket.ts"]
    assert matches.kinds == {"function": 2, "class": 1}
    assert code_matches(snapshot, "quokka") == ([], {})
    assert code_matches(snapshot, " ") == ([], {})


@pytest.mark.parametrize(
    ("condition", "paths", "kinds"),
    [
        ("language:python", ["src/bucket.py"], {"class": 1, "function": 1}),
        ("kind:class", ["src/bucket.py"], {"class": 1}),
        ("kind:function language:typescript", ["web/bucket.ts"], {"function": 1}),
        ("author:Ada", [], {}),
    ],
)
def test_a_filter_limits_what_counts(
    snapshot: Snapshot, condition: str, paths: list[str], kinds: dict[str, int]
) -> None:
    """Conditions on files and on pieces both hold."""
    matches = code_matches(snapshot, "refill", condition)
    assert [file.path for file in matches.files] == paths
    assert matches.kinds == kinds


def test_kinds_of_many_files_have_no_number(storage: CodeStorage, tmp_path: Path) -> None:
    """With more files than are read, all are listed, and kinds come without a number."""
    many = {f"many{n}.py": f"def refill{n}():\n    refill = {n}\n" for n in range(60)}
    matches = code_matches(open_project(storage, tmp_path / "r", FILES | many), "refill")
    assert len(matches.files) == 63
    assert set(matches.kinds.values()) == {None}
    assert "function" in matches.kinds
