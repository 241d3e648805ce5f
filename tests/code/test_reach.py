"""Paths of calls, tests of a change, similar pieces and unused definitions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.code import Snapshot, index_path
from sleuth.code.graph.navigate import affected_tests, call_path, definitions_at, unused_definitions
from sleuth.code.repository.commits import lines_of_diff
from sleuth.code.search.vectors import similar_pieces
from sleuth.engine import open_code
from sleuth.engine.codebase import default_embedder
from sleuth.errors import ArgumentError
from tests.code.conftest import Git, answer, opened, run
from tests.code.projects import files_of
from tests.surfaces.project import git

FILES = files_of("orders")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that no test changes."""
    git = Git(tmp_path_factory.mktemp("graph") / "repository")
    git.commit(dict(FILES))
    with open_code(git.root / ".sleuth", create=True) as storage:
        index_path(storage, git.root, workers=1)
    return git.root


@pytest.fixture
def snapshot(root: Path) -> Iterator[Snapshot]:
    """Open the snapshot of the repository."""
    with open_code(root / ".sleuth") as storage:
        yield opened(storage)


@pytest.mark.parametrize(
    ("start", "end", "names", "lines"),
    [
        ("make", "read_rows", ["make", "Store", "load", "read_rows"], [0, 17, 5, 19]),
        ("Service.order", "Store._count", ["Service.order", "Store.save", "Store._count"], [0, 9, 9]),
        ("load", "load", ["load"], [0]),
        ("_loop_a", "_loop_b", ["_loop_a", "_loop_b"], [0, 25]),
        ("read_rows", "make", [], []),
        ("_loop_a", "make", [], []),
    ],
)
def test_a_chain_of_calls(
    snapshot: Snapshot, start: str, end: str, names: list[str], lines: list[int]
) -> None:
    """The shortest chain of calls is given with the lines of its calls; loops end, and no chain is an empty one."""
    chain = call_path(snapshot, start, end)
    assert [hop.name for hop in chain] == names
    assert [hop.called_at for hop in chain] == lines
    assert all(0 < hop.confidence <= 1 for hop in chain)
    if len(chain) > 2:
        assert call_path(snapshot, start, end, len(chain) - 1) == chain
        assert call_path(snapshot, start, end, len(chain) - 2) == []


@pytest.mark.parametrize(("start", "end"), [("nothing", "load"), ("load", "nothing")])
def test_unknown_ends_of_a_chain_are_refused(snapshot: Snapshot, start: str, end: str) -> None:
    """A name that is not defined is named in the error."""
    with pytest.raises(ArgumentError, match="must be defined in the snapshot, got 'nothing'"):
        call_path(snapshot, start, end)


def test_tests_that_reach_a_definition(snapshot: Snapshot) -> None:
    """Tests are given with their distance, nearest first."""
    reached = affected_tests(snapshot, snapshot.definitions("Store.save"))
    assert [(each.name, each.hops) for each in reached] == [
        ("test_rows_are_counted", 1),
        ("test_orders_are_saved", 2),
    ]
    assert [each.name for each in affected_tests(snapshot, snapshot.definitions("Store.save"), 1)] == [
        "test_rows_are_counted"
    ]
    own = affected_tests(snapshot, snapshot.definitions("test_rows_are_counted"))
    assert [(each.name, each.hops) for each in own] == [("test_rows_are_counted", 0)]


DIFF_FILE = Path(__file__).parent / "change.diff"
DIFF = DIFF_FILE.read_text("utf8")
TEST_FILES = "tests/test_store.py\ntests/test_service.py\n"


def test_lines_of_a_diff() -> None:
    """The lines of new files count, the line before a removal, nothing of a removed file; paths have any prefix."""
    assert lines_of_diff(DIFF) == {
        "shop/store.py": [range(8, 10), range(19, 20)],
        'with "space".py': [range(1, 2)],
        "of/index.py": [range(1, 2)],
        "b/without/prefix.py": [range(4, 5), range(9, 11)],
    }


def test_definitions_of_changed_lines(snapshot: Snapshot) -> None:
    """Changed lines mean the innermost definition around them; unknown files mean nothing."""
    definitions = definitions_at(snapshot, lines_of_diff(DIFF))
    assert [definition.symbol.qualified for definition in definitions] == ["Store.save", "load"]


def test_definitions_that_nothing_uses(snapshot: Snapshot) -> None:
    """Names that stand nowhere else are listed with a confidence; a name in a document, a comment or a loop is used."""
    entries = {entry.name: (entry.confidence, bool(entry.reason)) for entry in unused_definitions(snapshot)}
    assert entries == {
        "Store._forgotten": (0.9, False), "exported_and_lonely": (0.6, True), "_load_from_disk": (0.3, True),
        "load_by": (0.6, True), "_registered_somewhere": (0.3, True), "Plugin": (0.6, True),
        "Plugin.on_start_of_plugin": (0.3, True),
    }  # fmt: skip


def test_similar_pieces(snapshot: Snapshot) -> None:
    """The nearest pieces come first, without the place itself; a wrong place is refused."""
    pieces = similar_pieces(snapshot, "tests/test_store.py", default_embedder(), 100)
    assert [piece.score for piece in pieces] == sorted((piece.score for piece in pieces), reverse=True)
    assert "tests/test_store.py" not in {piece.file_path for piece in pieces}
    assert pieces[0].file_path in ("tests/test_service.py", "shop/store.py")
    assert similar_pieces(snapshot, "tests/test_store.py", default_embedder(), 2) == pieces[:2]
    for place in ("nowhere.py:3", "shop/store.py:900"):
        with pytest.raises(ArgumentError, match="place must be a file"):
            similar_pieces(snapshot, place, default_embedder())


def test_the_commands(root: Path) -> None:
    """Each command prints rows or JSON, and exits with 1 where there is nothing to print."""
    lines = run(root, "path", "make", "load").stdout.splitlines()
    assert len(lines) == 3 and "shop/store.py:18" in lines[-1]
    assert run(root, "tests", "Store.save", "--files").stdout == TEST_FILES
    of_diff = answer(root, "tests", str(DIFF_FILE))
    assert of_diff["changed"] == ["Store.save", "load"]
    assert answer(root, "tests", "-", stdin=DIFF) == of_diff
    (unused,) = answer(root, "unused", "--min-confidence", "0.9")["unused"]
    assert unused["name"] == "Store._forgotten"
    commands = ("path load make", "tests", "tests no-such-revision", "similar Store.save -k 2")
    assert [run(root, *command.split()).returncode for command in commands] == [1, 1, 2, 0]


def test_tests_of_what_changed_since_a_commit(root: Path, tmp_path: Path) -> None:
    """Print tests of changes in the worktree, or since a revision to the one that answers; no setting matters."""
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(folder))
    git(folder, "config", "diff.noprefix", "true")
    run(folder, "index", ".")
    path = folder / "shop" / "store.py"
    text = path.read_text("utf-8").replace("self.rows.append(order)", "self.rows += [order]")
    path.write_text(text, "utf-8")
    assert run(folder, "tests", "--files").stdout == TEST_FILES
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Add in another way")
    assert run(folder, "tests").returncode == 1
    assert run(folder, "tests", "HEAD~1", "--files").stdout == TEST_FILES
    path.write_text("\n" * 30 + text, "utf-8")
    assert run(folder, "tests", "HEAD~1", "--files", "--at", "HEAD").stdout == TEST_FILES
