"""The repository map and what it ranks by."""

from pathlib import Path

import numpy as np
import pytest

from sleuth.code import CodeStorage, Snapshot, repository_map
from sleuth.code.search.repomap import DAMPING, page_rank, rank_definitions
from sleuth.errors import ArgumentError
from tests.code.conftest import hits_by_words, open_project, snapshot_of


def test_the_map_fits_its_budget(project: Snapshot) -> None:
    """A larger budget shows more, focused files come first, and tests are omitted."""
    small, large = repository_map(project, 60), repository_map(project, 2000)
    assert len(small) <= 240 < len(large)
    assert "def second()" in large
    assert "tests/" not in large
    focused = repository_map(project, 60, focus=["web"])
    assert "web/b.ts" in focused
    assert repository_map(project, 0) == ""
    with pytest.raises(ArgumentError, match="focus"):
        repository_map(project, focus=["nowhere"])


def test_the_map_shows_what_is_imported(storage: CodeStorage, tmp_path: Path) -> None:
    """Uses of a built-in name and of members of unknown objects do not lift a definition of that name; imports do."""
    callers = {
        f"app/{name}.py": "from app.base import Model\n\n\ndef run(x):\n"
        "    params = list(type(x).items())\n    x.value()\n    return Model(params)\n"
        for name in ("one", "two", "three")
    }
    finders = (
        "class Finder:\n    def list(self):\n        pass\n\n    def value(self):\n        pass\n\n"
        "    def params(self):\n        pass\n"
    )
    base = "class Model:\n    def save(self):\n        pass\n"
    snapshot = open_project(
        storage, tmp_path / "app", {"app/finders.py": finders, "app/base.py": base, **callers}
    )
    assert repository_map(snapshot, 8) == "app/base.py:\n  class Model"
    whole = repository_map(snapshot, 1000)
    assert whole.index("class Model") < whole.index("def save")
    assert "def list(self)" in whole


def test_the_map_leads_to_what_answers_a_query(storage: CodeStorage, tmp_path: Path) -> None:
    """Functions that answer the query and definitions of the focus come before what is used more."""
    users = {f"app/user{n}.py": "from app.base import Model\n\nModel()\n" for n in range(8)}
    base = "class Model:\n    def save(self):\n        pass\n"
    quiet = "def expire_sessions(now):\n    return now\n\n\ndef other():\n    pass\n"
    files = {
        "app/base.py": base,
        "app/quiet.py": quiet,
        "app/dull.py": "def dull():\n    pass\n",
        "app/at.py": "from app.dull import dull\n\ndull()\n",
        **users,
    }
    snapshot = open_project(storage, tmp_path / "app", files)
    assert repository_map(snapshot, 9) == "app/base.py:\n  class Model"
    assert "expire_sessions" not in repository_map(snapshot, 12)
    assert (
        repository_map(snapshot, 12, query="expire sessions") == "app/quiet.py:\n  def expire_sessions(now)"
    )
    assert repository_map(snapshot, 9, focus=["app/dull.py"]) == "app/dull.py:\n  def dull()"


def test_the_map_counts_bases_and_no_names_from_elsewhere(storage: CodeStorage, tmp_path: Path) -> None:
    """A base counts more than a call; names of other projects, own members and functions of functions count nothing."""
    users = {
        f"app/user{n}.py": "from datetime import date\nfrom app.base import Form, quote\n\n\nclass F(Form):\n"
        "    def run(self):\n        self.total()\n        return quote(date(1, 2, 3))\n"
        for n in range(3)
    }
    base = "class Form:\n    pass\n\n\ndef quote(x):\n    return x\n"
    names = (
        "def date(value):\n    return value\n\n\n"
        "class Sums:\n    def total(self):\n        def inner():\n            pass\n"
    )
    snapshot = open_project(storage, tmp_path / "app", {"app/base.py": base, "app/names.py": names, **users})
    repomap = repository_map(snapshot, 1000)
    assert "inner" not in repomap
    assert repository_map(snapshot, 8) == "app/base.py:\n  class Form"
    assert "names.py" not in repository_map(snapshot, 14)


def test_long_signatures_are_cut(storage: CodeStorage, tmp_path: Path) -> None:
    """A line of the map has at most 100 characters of a signature."""
    text = f"def load({', '.join(f'argument{n}' for n in range(40))}):\n    pass\n"
    snapshot = open_project(storage, tmp_path / "app", {"app/long.py": text})
    line = repository_map(snapshot, 1000).split("\n")[1]
    assert (line.startswith("  def load(argument0, "), line.endswith("…"), len(line)) == (True, True, 102)


def test_the_map_fills_its_budget(project: Snapshot) -> None:
    """Every definition that fits into the rest of the budget is in the map."""
    repomap = repository_map(project, 70)
    missing = [line for line in repository_map(project, 2000).split("\n") if line not in repomap]
    assert missing
    assert all(len(repomap) + len(line) + 1 > 4 * 70 for line in missing if line.startswith("  def"))


def test_reads_of_attributes_are_no_votes(storage: CodeStorage, tmp_path: Path) -> None:
    """A method is not important because many files read an attribute of unknown objects that is spelled like it."""
    reads = {f"use{i}.py": f"def use{i}(row):\n    return row.label\n" for i in range(9)}
    calls = {f"call{i}.py": f"def call{i}(row):\n    return row.paint()\n" for i in range(3)}
    source = "class Shape:\n    def label(self): ...\n    def paint(self): ...\n"
    snapshot = open_project(storage, tmp_path / "app", {"shape.py": source, **reads, **calls})
    repomap = repository_map(snapshot, 12)
    assert "paint" in repomap
    assert "label" not in repomap


def test_page_rank_is_a_distribution() -> None:
    """Ranks sum to 1 and equal a dense power iteration."""
    rng = np.random.default_rng(1)
    n = 12
    sources, targets = rng.integers(0, n - 2, 40), rng.integers(0, n, 40)
    weights = rng.random(40) + 0.1
    personal = rng.random(n)
    personal /= personal.sum()
    matrix = np.zeros((n, n))
    np.add.at(matrix, (targets, sources), weights)
    sums = matrix.sum(0)
    matrix = np.where(sums > 0, matrix / np.where(sums > 0, sums, 1), personal[:, None])
    expected = personal.copy()
    for _ in range(200):
        expected = (1 - DAMPING) * personal + DAMPING * matrix @ expected
    ranks = page_rank(sources, targets, weights, personal)
    assert ranks.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(ranks, expected, atol=1e-3)


def test_the_map_reads_most_files_once(
    storage: CodeStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more files than a snapshot remembers, the map reads those once that are remembered, and the others twice."""
    files = {f"m{i:02}.py": f"import m{i - 1:02}\n\nclass C{i}: ...\n" for i in range(40)}
    monkeypatch.setattr("sleuth.code.snapshots.snapshot._MOST_DETAILS", 30)
    snapshot = open_project(storage, tmp_path / "a", files)
    keys: list[int] = []
    detail = storage.detail

    def counted(key: int) -> bytes:
        keys.append(key)
        return detail(key)

    monkeypatch.setattr(storage, "detail", counted)
    rank_definitions(snapshot)
    assert len(keys) == 40 + 10


def test_an_empty_repository_has_an_empty_map(storage: CodeStorage, tmp_path: Path) -> None:
    """An empty repository has an empty map and no hits."""
    (tmp_path / "empty").mkdir()
    snapshot = snapshot_of(storage, tmp_path / "empty")
    assert repository_map(snapshot) == ""
    assert hits_by_words(storage, snapshot.repository.id, "x") == []


def test_a_map_for_a_focus_does_not_change_the_next_one(project: Snapshot) -> None:
    """What all maps of a snapshot share is made once, and neither a focus nor a query changes it."""
    before = repository_map(project, budget=200)
    repository_map(project, budget=200, focus=["app/core.py"], query="base")
    assert repository_map(project, budget=200) == before
