"""What a name of Python means: through packages, tests of a class, collections, returned values and other projects."""

from pathlib import Path

import pytest

from sleuth.code import CodeStorage, GraphWalker, Navigator
from sleuth.code.graph.bindings import narrows
from sleuth.code.graph.expressions import entry_of, form_of, item_of, returned_by_table
from tests.code.conftest import open_project
from tests.code.projects import SAMPLES, files_of
from tests.code.test_graph import check_meanings, resolved

CLASSES = files_of("classes")["models.py"]
"""Each method is there twice, so that no name decides alone."""

HEAD = """import typing as t
from models import *
T = t.TypeVar("T", covariant=True, bound="A")
N = t.NewType("N", A)
Either = t.Optional["A"]
Many = t.Sequence[A]
"""
FUNCTIONS = (Path(__file__).parent / "types.txt").read_text("utf8").rstrip("\n").split("\n\n")
"""Functions, each of which calls a method of what it is given or makes."""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_types_are_followed(storage: CodeStorage, tmp_path: Path, function: str) -> None:
    """Tests of a class, items of tables and tuples, and returned values lead to the method of the class."""
    files = {"models.py": CLASSES, "use.py": f"{HEAD}{function}\n"}
    targets = resolved(open_project(storage, tmp_path / "types", files), "use.py")
    meant = [target for name, target in targets.items() if name.endswith((".go", ".other"))]
    assert meant == ["models.py:B.other" if ".other" in function else "models.py:A.go"]


USES: dict[str, tuple[str, str, str]] = SAMPLES["uses"]
"""Uses in a method: what is written, what it means, and the statement before it."""


@pytest.mark.parametrize("name", USES)
def test_uses_in_a_method(storage: CodeStorage, tmp_path: Path, name: str) -> None:
    """Fields, imports and functions of a method are what they hold; what is of another project means nothing here."""
    use, target, statement = USES[name]
    head = "import m\nfrom web import Request\ndef go(): pass\nclass X: pass\nclass Z(m.Base): pass\nclass H(m.Base):\n"
    method = "    def __init__(self, x: type[X], y: Request):\n        def inner(): pass\n"
    files = {
        "m.py": "def go(): pass\nclass Base:\n    def run(self): pass\n",
        "h.py": f"{head}{method}        {statement}\n        {use}\n",
    }
    assert resolved(open_project(storage, tmp_path / "uses", files), "h.py")[use.removesuffix("()")] == target


@pytest.mark.parametrize(("text", "form"), SAMPLES["forms"])
def test_forms_are_read(text: str, form: str) -> None:
    """Literals and calls that have a rule are told apart, with the values in them."""
    name, values = form_of(text)
    assert " ".join([name, *(value.strip() for value in values)]).strip() == form


@pytest.mark.parametrize(("text", "holds"), SAMPLES["narrowing"])
def test_where_a_test_holds(text: str, holds: bool) -> None:
    """A test of a class holds in its block, after `assert`, and after a negated one that leaves."""
    assert narrows(text) is holds


def test_parts_of_collections() -> None:
    """Items, entries and methods of collections have the types of their arguments."""
    assert [item_of(text) for text in ("dict[str, A]", "list[A]", "A")] == ["A", "A", ""]
    assert entry_of("tuple[K, V]", "(key, value)", "value") == "V"
    assert entry_of("tuple[K, V]", "a, b, c", "b") == ""
    assert returned_by_table("Mapping[str, list[A]]", "items") == "list[tuple[str, list[A]]]"
    assert returned_by_table("list[A]", "get") == ""


def test_modules_that_a_package_imports(storage: CodeStorage, tmp_path: Path) -> None:
    """A name through a package means what the package imports under it, and so the name has its callers."""
    snapshot = open_project(storage, tmp_path / "package", files_of("package"))
    assert resolved(snapshot, "use.py")["pk.b.X"] == "pk/b.py:X"
    assert [caller["name"] for caller in Navigator(snapshot).callers("X")] == ["use"]


FIXTURES = files_of("fixtures")
"""What says the type of the parameter `x` of a test."""
NO_FIXTURES = {"of another class", "no fixture", "of itself"}
"""Those of which `x.go()` means nothing; of the others it means `A.go`."""


@pytest.mark.parametrize("path", ["tests/test_x.py", "tests/conftest.py", "conftest.py", "other/conftest.py"])
@pytest.mark.parametrize("name", FIXTURES)
def test_parameters_of_tests_have_the_values_of_fixtures(
    storage: CodeStorage, tmp_path: Path, name: str, path: str
) -> None:
    """A parameter is what the fixture of its name gives, in the class, the file, or a conftest.py of a folder above."""
    text = FIXTURES[name]
    use = "class TestX:\n    def test_x(self, x):\n        x = x.same()\n        x.go()\n"
    use = use.replace("class TestX:\n", "") if path == "tests/test_x.py" and "class TestX" in text else use
    plugin = "from models import *\n@pytest.fixture\ndef x(): return A()\n"
    head = "import pytest, typing as t\nfrom models import *\n"
    files = {"models.py": CLASSES, "plugin.py": plugin, "tests/test_x.py": f"{head}{use}"}
    files[path] = f"{head}{text}\n{use if path == 'tests/test_x.py' else ''}"
    targets = resolved(open_project(storage, tmp_path / "fixtures", files), "tests/test_x.py")
    is_seen = not path.startswith("other") and ("class" not in name or path.startswith("tests/test"))
    assert targets["x.go"] == ("models.py:A.go" if is_seen and name not in NO_FIXTURES else "")


@pytest.mark.parametrize("use", [
    "def helper(x):\n    x.go()", "def test_x(x=None):\n    x.go()", "def test_x():\n    x = 1\n    x.go()",
    "def test_x(x):\n    x = unknown()\n    x.go()", "def test_x(xx, *x):\n    x.go()",
    "def test_x():\n    for x in y: x.go()", "def test_x(y: tuple[int, x, str]):\n    x.go()",
])  # fmt: skip
def test_what_is_no_parameter_of_a_test_has_no_fixture(
    storage: CodeStorage, tmp_path: Path, use: str
) -> None:
    """A function that pytest does not call, a default, and a variable of the name have nothing of the fixture."""
    files = {"conftest.py": f"{CLASSES}\n@pytest.fixture\ndef x(): return A()\n", "test_x.py": use}
    assert resolved(open_project(storage, tmp_path / "fixtures", files), "test_x.py")["x.go"] == ""


def test_modules_beside_a_stub_and_below_a_package(storage: CodeStorage, tmp_path: Path) -> None:
    """The stub of a module that is there means the module; a package has modules that it does not import itself."""
    expected = {"pk.go": "pk/b.py:go", "pk.b.go": "pk/b.py:go", "pk.c.go": ""}
    check_meanings(storage, tmp_path, files_of("stub"), "use.py", expected)


def test_the_last_definition_of_a_name_is_meant(storage: CodeStorage, tmp_path: Path) -> None:
    """From another file a name means its last definition, as it does when the program runs."""
    snapshot = open_project(storage, tmp_path / "last", files_of("last"))
    (hit,) = [use for use in Navigator(snapshot).find_references("go") if use["role"] == "call"]
    assert hit["definition"]["line"] == 4


def test_calls_through_self(storage: CodeStorage, tmp_path: Path) -> None:
    """Calls through `self` are shown where nothing in the repository is meant, with the name in the other project."""
    snapshot = open_project(storage, tmp_path / "pay", files_of("outside"))
    file = snapshot.file("pay.py")
    run = next(symbol for symbol in snapshot.detail(file).symbols if symbol.name == "run")
    calls = GraphWalker(snapshot).outgoing(file, run.start, run.end)
    assert [(call["name"], call.get("file_path"), call.get("external_name")) for call in calls] == [
        ("self.stripe.charge", None, "stripe.Client.charge"),
        ("self.db.session.commit", None, None),
        ("self.log.setLevel", None, "logging.getLogger.setLevel"),
        ("self.own", "pay.py", None),
    ]


def test_guesses_are_marked(storage: CodeStorage, tmp_path: Path) -> None:
    """A caller or a touched definition that is only guessed by a method's name is not certain."""
    files = {"a.py": "class A:\n    def revolve(self): pass\n", "b.py": "def use(x):\n    x.revolve()\n"}
    navigator = Navigator(open_project(storage, tmp_path / "guess", files))
    (caller,), (touched,) = navigator.callers("A.revolve"), navigator.impact("A.revolve")
    assert (caller["confidence"], caller["certain"], touched.certain) == (0.35, False, False)


def test_what_callers_pass_and_methods_override(storage: CodeStorage, tmp_path: Path) -> None:
    """Parameters have what calls pass, and methods that override have the uses of the base."""
    snapshot = open_project(storage, tmp_path / "passed", files_of("passed"))
    targets = resolved(snapshot, "pk/use.py")
    names = ("self.callback", "self.item.step", "self.field.other", "static.call")
    assert [targets[name].partition(":")[2] for name in names] == ["plain", "Base.step", "Base.other", "call"]
    callers = {caller["name"]: caller["confidence"] for caller in Navigator(snapshot).callers("Heir.step")}
    assert callers == {"Base.other": 0.5, "Holder.run": 0.5}
