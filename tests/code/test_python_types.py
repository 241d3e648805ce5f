"""What a name of Python means: through packages, tests of a class, collections, returned values and other projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth.code import CodeStorage, GraphWalker, Navigator
from sleuth.code.graph.bindings import narrows
from sleuth.code.graph.expressions import entry_of, item_of, returned_by_table
from tests.code.conftest import open_project
from tests.code.test_graph import resolved

CLASSES = """class A:
    def go(self): pass
    def same(self): return self


class B(A):
    def other(self): pass


class Far:
    def go(self): pass
    def other(self): pass
    def same(self): pass


def made():
    return A()


async def later():
    return A()


class Row:
    def __getitem__(self, at: int) -> A: ...
    def __iter__(self) -> t.Iterator[A]: ...


class Box(A): ...
"""
"""Each method is there twice, so that no name decides alone."""

HEAD = "import typing as t\nimport copy\nfrom models import A, B, Box, Far, Row, made, later\n\n"
BODIES = {
    "for key, value in {}.items(): value.go()": "d: dict[str, A]",
    "for value in {}.values(): value.go()": "d: dict[str, A]",
    "{}['key'].go()": "d: dict[str, A]",
    "{}.get('key').go()": "d: dict[str, A]",
    "[value.go() for key, value in {}.items()]": "d: dict[str, A]",
    "for at, value in enumerate({}): value.go()": "d: list[A]",
    "for value in sorted({}): value.go()": "d: list[A]",
    "key, value = {}; value.go()": "d: tuple[Far, A]",
    "if isinstance({}, A): {}.go()": "d",
    "assert isinstance({}, A)\n    {}.go()": "d",
    "if not isinstance({}, A):\n        return\n    {}.go()": "d",
    "if isinstance({}, Far):\n        return\n    elif isinstance({}, A):\n        {}.go()": "d",
    "values = list({}.values())\n    values[0].go()": "d: dict[str, A]",
    "[value.go() for value in list(reversed({}))]": "d: list[A]",
    "for value in {}: value.go()": "d: dict[A, Far]",
    "for at, (key, value) in enumerate({}.items()): value.go()": "d: dict[str, A]",
    "other = copy.deepcopy({})\n    other.go()": "d: A",
    "other = t.cast(A, {})\n    other.go()": "d",
    "value = {}[0]\n    value.go()": "d: list[A]",
    "{}.pop().go()": "d: list[A]",
    "for value in {}: value.go()  # values": "*d: A",
    "{}['key'].go()  # values": "**d: A",
    "{}().go()": "d: t.Callable[[Far], A]",
    "{}().go()  # class": "d: type[A]",
    "{}[0].go()  # item": "d: Row",
    "for value in {}: value.go()  # row": "d: Row",
    "Box[int].go()": "",
    "def inner({}={}): {}.go()\n    inner()": "d: A",
    "made().go()": "",
    "(await later()).go()": "",
    "B().same().same().other()": "",
}
"""Statements of a function by its parameter: `{}` stands for its name."""


@pytest.mark.parametrize("body", BODIES)
def test_types_are_followed(storage: CodeStorage, tmp_path: Path, body: str) -> None:
    """Tests of a class, items of tables and tuples, and returned values lead to the method of the class."""
    code = f"{HEAD}async def use({BODIES[body]}):\n    {body.replace('{}', 'd')}\n"
    targets = resolved(
        open_project(storage, tmp_path / "types", {"models.py": CLASSES, "use.py": code}), "use.py"
    )
    meant = [target for name, target in targets.items() if name.endswith((".go", ".other"))]
    assert meant == ["models.py:B.other" if ".other" in body else "models.py:A.go"]


USES = {
    "A field that holds a function of the file": ("self.field()", "h.py:go", "self.field = go"),
    "A field that holds a function of a module": ("self.field()", "m.py:go", "self.field = m.go"),
    "A field that is nothing at first": ("self.field()", "m.py:go", "self.field = None; self.field = m.go"),
    "A field that holds a module": ("self.field.go()", "m.py:go", "self.field = m"),
    "A field with a class as its type": ("self.field()", "h.py:X", "self.field: type[X] = x"),
    "A field that holds one of two": ("self.field()", "", "self.field = go; self.field = m.go"),
    "A field that holds a parameter": ("self.field()", "", "self.field = y"),
    "A parameter whose type is a class": ("x()", "h.py:X", ""),
    "A function that a variable is in other cases": ("inner()", "h.py:H.__init__.inner", "inner = x.y"),
    "An import of the function": ("go()", "m.py:go", "from m import go"),
    "An import of the function from outside": ("go()", "", "from outside import go"),
    "A method of a class from outside": ("y.request.go()", "", ""),
}
"""Uses in a method: what is written, what it means, and the statement before it."""


@pytest.mark.parametrize("name", USES)
def test_uses_in_a_method(storage: CodeStorage, tmp_path: Path, name: str) -> None:
    """Fields, imports and functions of a method are what they hold; what is of another project means nothing here."""
    use, target, statement = USES[name]
    head = "import m\nfrom web import Request\ndef go(): pass\nclass X: pass\nclass H:\n"
    method = "    def __init__(self, x: type[X], y: Request):\n        def inner(): pass\n"
    files = {"m.py": "def go(): pass\n", "h.py": f"{head}{method}        {statement}\n        {use}\n"}
    assert resolved(open_project(storage, tmp_path / "uses", files), "h.py")[use.removesuffix("()")] == target


def test_the_body_of_a_class_sees_its_names(storage: CodeStorage, tmp_path: Path) -> None:
    """A name in the body of a class means what the class defines before it, and not so in a method."""
    code = "class A:\n    class B: pass\n    made = B()\n    def use(self): return [C()]\n    class C: pass\n"
    targets = resolved(open_project(storage, tmp_path / "body", {"a.py": code}), "a.py")
    assert (targets["B"], targets["C"]) == ("a.py:A.B", "")


def test_self_is_the_class_of_the_object(storage: CodeStorage, tmp_path: Path) -> None:
    """`-> Self`, as it is imported, is the class of the object that the method is called on, along a chain."""
    code = (
        "import typing as t\nclass A:\n    def one(self) -> t.Self: ...\n"
        "class B(A):\n    def go(self): ...\nclass C:\n    def go(self): ...\nB().one().one().go()\n"
    )
    targets = resolved(open_project(storage, tmp_path / "self", {"a.py": code}), "a.py")
    assert targets["B().one().one().go"] == "a.py:B.go"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("if isinstance(x, A):\n    x.go()", True),
        ("if isinstance(x, A):\n    pass\nx.go()", False),
        ("if isinstance(x, A):\n    pass\nelse:\n    x.go()", False),
        ("if not isinstance(x, A):\n    x.go()", False),
        ("if not isinstance(x, A):\n    raise E\nx.go()", True),
        ("if not isinstance(x, A):\n    pass\nx.go()", False),
        ("assert isinstance(x, A)\nx.go()", True),
        ("    assert isinstance(x, A)\nx.go()", False),
        ("if isinstance(x, A) or y:\n    x.go()", False),
        ("isinstance(x, A) and x.go()", True),
    ],
)
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
    files = {
        "pk/__init__.py": "from . import b\n",
        "pk/b.py": "class X: pass\n",
        "use.py": "import pk\n\ndef use():\n    return pk.b.X()\n",
    }
    snapshot = open_project(storage, tmp_path / "package", files)
    assert resolved(snapshot, "use.py")["pk.b.X"] == "pk/b.py:X"
    assert [caller["name"] for caller in Navigator(snapshot).callers("X")] == ["use"]


def test_the_last_definition_of_a_name_is_meant(storage: CodeStorage, tmp_path: Path) -> None:
    """From another file a name means its last definition, as it does when the program runs."""
    files = {
        "a.py": "if x:\n    def go(): pass\nelse:\n    def go(): pass\n",
        "b.py": "from a import go\ngo()\n",
    }
    snapshot = open_project(storage, tmp_path / "last", files)
    (hit,) = [use for use in Navigator(snapshot).find_references("go") if use["role"] == "call"]
    assert hit["definition"]["line"] == 4


OUTSIDE = """import logging
from stripe import Client

class Pay:
    def __init__(self, db):
        self.stripe, self.db = None, db
        self.stripe = Client()
        self.log = logging.getLogger()

    def run(self):
        self.stripe.charge(1)
        self.db.session.commit()
        self.log.setLevel(1)
        self.own()

    def own(self): pass
"""


def test_calls_through_self(storage: CodeStorage, tmp_path: Path) -> None:
    """Calls through `self` are shown where nothing in the repository is meant, with the name in the other project."""
    files = {
        "pay.py": OUTSIDE,
        "other.py": "class Other:\n    def setLevel(self): pass\n    def charge(self): pass\n",
    }
    snapshot = open_project(storage, tmp_path / "pay", files)
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
