"""Definitions, labels and uses whose syntax is hard to recognise in a grammar."""

# ruff: noqa: E501 - sources of other languages, a line each
import pytest

from sleuth.code.parsing.detail import Symbol
from tests.code.conftest import parse_source


def symbols(source: str, language: str, path: str = "x") -> dict[str, Symbol]:
    """Return definitions by qualified name."""
    return {symbol.qualified: symbol for symbol in parse_source(source.encode(), language, path).symbols}


def uses(source: str, language: str) -> list[str]:
    """Return used names with their roles, in order of line."""
    return [
        f"{r.qualifier}.{r.name} {r.role}".lstrip(".")
        for r in parse_source(source.encode(), language).references
    ]


GROUPS = {
    ("go", "package m\nconst (\n\t// Quiet.\n\tDebug = iota\n\tInfo\n)\n"): {"Debug": (3, 4), "Info": (5, 5)},
    ("go", "package m\nvar (\n\tA = 1\n\t_ I = 1\n\tB = 2\n)\n"): {"A": (3, 3), "B": (5, 5)},
    ("go", "package m\ntype (\n\tS struct{ x int }\n\tT = S\n)\n"): {"S": (3, 3), "T": (4, 4)},
    ("go", "package m\n\n// One.\nconst A = 1\n"): {"A": (3, 4)},
    ("javascript", "export const PI = 3,\n  TAU = 6;\n"): {"PI": (1, 1), "TAU": (2, 2)},
}  # fmt: skip


@pytest.mark.parametrize(("language", "source"), GROUPS)
def test_definitions_of_a_group_stand_side_by_side(language: str, source: str) -> None:
    """Definitions of a group are siblings, each with its own lines."""
    definitions = symbols(source, language)
    assert {name: (s.start, s.end) for name, s in definitions.items()} == GROUPS[language, source]


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("#[test]\nfn f() {}\n", "test_case"),
        ("#[test] fn f() {}\n", "test_case"),
        ("/// Works.\n#[tokio::test]\n#[ignore]\nasync fn f() {}\n", "test_case"),
        ("#[deprecated]\nfn f() {}\n", "deprecated"),
        ('#[get("/x")]\nfn f() {}\n', "api_endpoint"),
        ("#[derive(Clone, Serialize)]\nstruct f { a: u8 }\n", "data_schema"),
    ],
)
def test_rust_attributes_say_what_a_definition_is(source: str, label: str) -> None:
    """Attributes are not part of the definition that follows, but they determine its labels."""
    labels = symbols(source, "rust")["f"].labels
    assert label in labels
    assert "public_api" not in labels


TYPES = {
    ("cpp", "int x = helper<int>(2);\nint y = n::make<A>(1);\n"): ["helper call", "n.make call", "A reference"],
    ("cpp", "struct A *f(B b) { std::vector<C> c; }\n"): ["A reference", "B reference", "C reference"],
    ("python", "x: A | None\n"): ["A reference"],
    ("python", "def f(x: p.A, y: B | C | list[D] | int) -> E | None: ...\n"): ["p.A reference", "B reference", "C reference", "list reference", "D reference", "int reference", "E reference"],
    ("python", "from m import *\nisinstance(x, (A, m.B)); issubclass(C, D)\nraise E\n"): ["m.* import", "isinstance call", "issubclass call", "x reference", "A reference", "m reference", "m.B reference", "C reference", "D reference", "E reference"],
    ("python", "from m import a, b\nf((a, b))\n"): ["m.a import", "m.b import", "f call", "a reference", "b reference"],
    ("go", "package m\nfunc f(a ...A) []B { var c C; return D[E]{} }\n"): ["D instantiation", "A reference", "B reference", "C reference", "E reference"],
    ("go", "package m\nfunc f(a string) (b *B, err error) { return x.(l.C) }\n"): ["B reference", "l.C reference"],
    ("typescript", "let a: A | null; let b: B[]; c as C; d instanceof D; let e: n.E;\n"): ["A reference", "B reference", "C reference", "D reference", "n.E reference"],
    ("javascript", "a instanceof A; b in B;\n"): ["A reference"],
    ("c", "struct node *n;\nnode_t f(struct node *m) { return (other_t) m; }\n"): ["node reference", "node_t reference", "node reference", "other_t reference"],
    ("python", "class A(B[int], m.C[str]): pass\n"): ["B inheritance", "m.C inheritance"],  # as without arguments
    ("rust", "trait A: B {}\nimpl C for D {}\nfn f<T: E + 'static>() {}\n"): ["B inheritance", "C inheritance", "E reference"],  # a bound is no base
    ("tsx", "const V = () => <form><label>a</label><ui.input/><Button/></form>;\n"): ["ui.input reference", "Button reference"],  # tags of HTML are none
    ("bash", "log::info x\nbin/run.sh\n"): ["log::info call", "bin/run.sh call"],  # colons and dots split no command
}  # fmt: skip


@pytest.mark.parametrize(("language", "source"), TYPES)
def test_types_are_uses(language: str, source: str) -> None:
    """Annotations, results, casts and checks are uses of the classes that they name, and bases are inherited from."""
    assert uses(source, language) == TYPES[language, source]


NAMES = {
    ("c", "typedef struct node { int a; } node_t;\nint a = 1, b = 2;\n"): ["node_t type", "node struct", "a constant", "b constant"],
    ("c", "typedef struct A { int a; } A, *B;\n"): ["B type", "A struct"],
    ("c", "typedef struct A { int a; } A;\ntypedef enum { X } B;\n"): ["A struct", "B type"],
    ("cpp", "struct A { int operator[](int i) { } operator bool() const { } int& operator()() { } };\n"): ["A struct", "A.operator[] method", "A.operator bool method", "A.operator() method"],
    ("cpp", "bool n::A<T, U>::operator<(A o) {}\nn::A::operator n::B() {}\nclass operators {};\nint A<T, U>::f() {}\n"): ["n.A.operator< method", "n.A.operator n::B method", "operators class", "A.f method"],
    ("cpp", "TEST(Suite, Name) {}\nTYPED_TEST(Suite, Other) {}\nint TEST_all(A a, B b) {}\n"): ["Suite.Name method", "Suite.Other method", "TEST_all function"],
    ("typescript", "interface I { f(a: string): void; b: string }\n"): ["I interface", "I.f method", "I.b attribute"],
    ("go", "package m\ntype I interface {\n\tGet() int\n}\nconst C, D = 1, 2\n"): ["I interface", "I.Get method", "C constant", "D constant"],
    ("python", "a, b = 1, 2\n(c, d) = a\ntype E = int\ntype F[T] = list[T]\nclass G:\n    h, i = 1, 2\n"): ["a constant", "b constant", "c constant", "d constant", "E type", "F type", "G class", "G.h attribute", "G.i attribute"],
    ("bash", "readonly A=1\nexport B=2\nlog::info() { x; }\n"): ["A constant", "B constant", "log::info function"],
}  # fmt: skip


@pytest.mark.parametrize(("language", "source"), NAMES)
def test_every_name_is_a_definition(language: str, source: str) -> None:
    """Every name in the sample is one definition with its full name, its kind and its container."""
    definitions = symbols(source, language)
    assert [f"{name} {symbol.kind}" for name, symbol in definitions.items()] == NAMES[language, source]


@pytest.mark.parametrize(("language", "source", "is_public"), [
    ("javascript", "export const PI = 3,\n  TAU = 6;\nconst E = 2;\n", {"PI": True, "TAU": True, "E": False}),
    ("rust", '// pub\n#[cfg(feature = "pub")]\nfn a() {}\n#[inline]\npub(crate) fn b() {}\n', {"a": False, "b": True}),
    ("cpp", "class A { static int f() {} };\nstatic int g() {}\n", {"A.f": True, "g": False}),
])  # fmt: skip
def test_what_is_public(language: str, source: str, is_public: dict[str, bool]) -> None:
    """All names of an `export`, what `pub` stands directly before, and static members of a class are public."""
    definitions = symbols(source, language)
    assert {name: "public_api" in definitions[name].labels for name in is_public} == is_public


def test_tests_of_googletest_are_tests() -> None:
    """`TEST(Suite, Name)` has the label of tests."""
    assert "test_case" in symbols("TEST_F(Suite, Name) {}\n", "cpp")["Suite.Name"].labels


def test_a_signature_over_lines_reads_as_one_line() -> None:
    """Brackets enclose their parts without spaces; a comma that makes a tuple stays."""
    source = "def take(\n    self,\n    n: int = 1,\n    sizes=(1,),\n) -> None: ...\n"
    assert symbols(source, "python")["take"].signature == "def take(self, n: int = 1, sizes=(1,)) -> None"
