"""What matches a query in code: its files, and the kinds of definitions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import CodeStorage, index_path, open_code
from sleuth.code import Snapshot
from sleuth.code.search.facets import code_matches
from tests.code.conftest import opened

FILES = {
    "src/bucket.py": "class Bucket:\n    def refill(self):\n        return 1\n\n\ndef refill_all(buckets):\n    pass\n",
    "src/cats.py": "def climb():\n    return 2\n",
    "web/bucket.ts": "export function refill(n: number): void {\n  return;\n}\n",
    "notes.md": "# Notes\n\nA refill happens every second.\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Iterator[tuple[CodeStorage, Path]]:
    """An index of code, and the repository that it is of."""
    for name, text in FILES.items():
        (tmp_path / "r" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "r" / name).write_text(text)
    with open_code(tmp_path / "index", create=True) as storage:
        yield storage, tmp_path / "r"


def _snapshot(storage: CodeStorage, root: Path) -> Snapshot:
    index_path(storage, root, workers=1)
    return opened(storage, str(root))


def test_files_and_kinds_that_hold_a_word(code: tuple[CodeStorage, Path]) -> None:
    """Files without a word of the query do not count, and each piece counts for the definition that it is of."""
    matches = code_matches(_snapshot(*code), "refill")
    assert [file.path for file in matches.files] == ["notes.md", "src/bucket.py", "web/bucket.ts"]
    assert matches.kinds == {"function": 2, "class": 1}
    assert code_matches(_snapshot(*code), "quokka") == ([], {})
    assert code_matches(_snapshot(*code), " ") == ([], {})


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
    code: tuple[CodeStorage, Path], condition: str, paths: list[str], kinds: dict[str, int]
) -> None:
    """Conditions on files and on pieces both hold."""
    matches = code_matches(_snapshot(*code), "refill", condition)
    assert [file.path for file in matches.files] == paths
    assert matches.kinds == kinds


def test_kinds_of_many_files_have_no_number(code: tuple[CodeStorage, Path]) -> None:
    """With more files than are read, all are listed, and kinds come without a number."""
    storage, root = code
    for n in range(60):
        (root / f"many{n}.py").write_text(f"def refill{n}():\n    refill = {n}\n")
    matches = code_matches(_snapshot(storage, root), "refill")
    assert len(matches.files) == 63
    assert set(matches.kinds.values()) == {None}
    assert "function" in matches.kinds
