"""Files whose whole name is in the title of a query come before others."""

from pathlib import Path

import numpy as np
import pytest

from sleuth.code import CodeRetriever, CodeStorage
from sleuth.code.search import ranking
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from tests.code.conftest import open_project

PATHS = ("args.py", "json_reader.py", "a/config.py", "b/config.py", "ser/mod.rs", "other.py")
FILES = dict.fromkeys(PATHS, "def check(values):\n    return validators(values)\n")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("positional argument validators", {"args.py": 1.0}),
        ("streaming JSON reader", {"json_reader.py": 1.0}),
        ("JsonReader", {"json_reader.py": 1.0}),
        ("a reader of lines", {}),
        ("configuration", {"a/config.py": 0.5**0.5, "b/config.py": 0.5**0.5}),
        ("the ser format", {"ser/mod.rs": 1.0}),
    ],
)
def test_names_in_titles(
    storage: CodeStorage, tmp_path: Path, title: str, expected: dict[str, float]
) -> None:
    """A title holds all words of a name, or longer forms; many files with a name count less; `mod` means its folder."""
    snapshot = open_project(storage, tmp_path / "stems", FILES)
    scores = rank_files(snapshot, read_query(title)).signals.values["stem"]
    paths = [file.path for file in snapshot.files]
    assert {paths[i]: float(scores[i]) for i in np.flatnonzero(scores)} == pytest.approx(expected)


def test_a_file_that_is_named_comes_first(storage: CodeStorage, tmp_path: Path) -> None:
    """Of files with the same text, the one whose name is in the query is the first, and the explanation says why."""
    snapshot = open_project(storage, tmp_path / "stems", FILES)
    hits = CodeRetriever(storage, None).retrieve(
        "argument validators", snapshot.info.repository, strategy="keyword"
    )
    assert hits[0].file_path == "args.py"
    assert "stem" in str(hits[0].explanation)
    assert "stem" not in str(hits[1].explanation)


def test_names_of_files_count_more_for_a_short_query() -> None:
    """A query of up to twelve words weighs names of files more than its title, which is the same text as its prose."""
    short, long = (ranking.weights_for(read_query("word " * count)) for count in (12, 13))
    assert short["stem"] > long["stem"]
    assert short["title"] < long["title"]
    assert short["prose"] == long["prose"]
