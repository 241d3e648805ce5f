"""The calls of a function, and names of other places, are listed, whatever its comments, strings and variables are."""

# ruff: noqa: E501 - sources of other languages, a line each
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.engine import open_code
from tests.code.conftest import hits_by_words, open_project, parse_source, write
from tests.code.projects import SAMPLES as EXPECTED
from tests.code.projects import files_of


class Sample(NamedTuple):
    """A function that calls what its comments and strings mention after words that declare something.

    Attributes:
        kept: names that must be listed.
        variables: names that must not be.
    """

    source: str
    kept: set[str]
    variables: set[str]


SAMPLES = {
    name: Sample(source, {*EXPECTED["kept"][name]}, {*EXPECTED["variables"][name]})
    for name, source in files_of("calls").items()
}


OUTGOING = files_of("outgoing")
OTHERS = {"a.py": {"os.remove"}, "g.rb": {"Proc.new", "Proc"}}
"""What belongs to no file of the repository, and yet is another place."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples of calls, indexed; and the repository's id."""
    with indexed(tmp_path_factory, {name: sample.source for name, sample in SAMPLES.items()}) as code:
        yield code


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples of names of other places, apart from those."""
    with indexed(tmp_path_factory, OUTGOING) as code:
        yield code


@contextmanager
def indexed(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> Iterator[tuple[CodeStorage, str]]:
    """Index files, and yield the storage with the repository's id."""
    root = write(tmp_path_factory.mktemp("samples"), files)
    with open_code(tmp_path_factory.mktemp("index"), create=True) as code:
        yield code, index_path(code, root, workers=1).repository


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_stay_and_variables_do_not(calls: tuple[CodeStorage, str], name: str) -> None:
    """Words in comments and strings hide no call; parameters and variables are not listed."""
    check_calls(*calls, name, SAMPLES[name])


def check_calls(code: CodeStorage, repository: str, name: str, sample: Sample) -> None:
    """Assert which calls of `run` in a file are listed."""
    hits = hits_by_words(code, repository, "run", limit=60, filters={"path_prefix": name})
    hit = hits[0]  # a small class is one hit with its methods
    names = {item["name"].replace("::", ".").replace("->", ".") for item in hit.outgoing_definitions}
    assert names >= sample.kept
    assert not names & sample.variables


@pytest.mark.parametrize("name", OUTGOING)
def test_definitions_elsewhere(outgoing: tuple[CodeStorage, str], name: str) -> None:
    """The function that is called is named with its line; parameters, variables and inner functions are not."""
    check_definitions(*outgoing, name, OUTGOING[name], OTHERS.get(name, set()))


def check_definitions(
    code_index: CodeStorage, repository: str, name: str, source: str, others: set[str]
) -> None:
    """Assert that `work` in a file names `helper` and the class around it, beside others."""
    hits = hits_by_words(code_index, repository, "work", limit=50, filters={"path_prefix": name})
    (hit,) = [hit for hit in hits if "work" in hit.content]
    names = {definition["name"] for definition in hit.outgoing_definitions} - others
    assert {part for definition in names for part in definition.split(".")} <= {"H", "helper"}
    (helper,) = [d for d in hit.outgoing_definitions if d["name"].endswith("helper") and d["role"] == "call"]
    assert helper["file_path"] == name
    assert "helper(" in source.splitlines()[helper["line"] - 1]
    assert not hit.start_line <= helper["line"] <= hit.end_line


def test_the_example_of_calls(storage: CodeStorage, tmp_path: Path) -> None:
    """A function that logs and connects within `with` renders both calls."""
    repository = open_project(storage, tmp_path / "app", files_of("connection")).repository.id
    hit = hits_by_words(storage, repository, "def run", limit=1)[0]
    assert "[RELATIONS] Calls: logger.info, db.connect" in hit.render()


def test_methods_of_variables_are_kept_where_they_are_known(storage: CodeStorage, tmp_path: Path) -> None:
    """The method of an object whose class is known is a definition elsewhere; so is a module's function."""
    use = "import stripe\nfrom user import User\n\ndef pay(amount):\n    user = User()\n    user.save()\n    return stripe.charge(amount)\n"
    files = {"user.py": "class User:\n    def save(self):\n        pass\n", "use.py": use}
    repository = open_project(storage, tmp_path / "app", files).repository.id
    hit = hits_by_words(storage, repository, "pay", limit=1)[0]
    assert [(each["name"], each["role"], each.get("file_path")) for each in hit.outgoing_definitions] == [
        ("User", "instantiation", "user.py"), ("user.save", "call", "user.py"), ("stripe.charge", "call", None),
    ]  # fmt: skip


def test_bindings_have_types_and_values() -> None:
    """What a name is declared to be and what it is assigned are read from the tree, with kind, line and definition."""
    source = b"class A:\n    x: B = None\n    def f(self, y: 'C') -> D:\n        self.z = y\n        for w in y.all():\n            pass\n"
    detail = parse_source(source, "python")
    bindings = detail.bindings
    rows = {
        (b.name, b.kind, b.type, b.value, b.line, detail.symbols[b.symbol].name, b.defines) for b in bindings
    }
    assert rows == {
        ("x", "variable", "B", "", 2, "x", True), ("f", "variable", "D", "", 3, "f", True),
        ("self", "variable", "", "", 3, "f", False), ("y", "variable", "'C'", "", 3, "f", False),
        ("z", "member", "", "y", 4, "f", False), ("w", "element", "", "y.all()", 5, "f", False),
    }  # fmt: skip
