"""What names of Java mean."""

# ruff: noqa: E501 - sources of other languages, a line each
from pathlib import Path

from sleuth.code import CodeStorage
from tests.code.projects import files_of
from tests.code.test_definitions import symbols
from tests.code.test_inference import check_type_parameters, meanings

ARGUMENTS = "class Key { void go() {} }\nclass Item extends Key { void take() {} }\nclass Far { void go() {} void take() {} }\nclass Store<K, V extends Key> { V one; List<V> many; V first() { return one; } }\nclass Shelf<T extends Key> extends Store<String, T> {}\nclass Use extends Shelf<Item> {\n  void run(Store<Far, Item> of) {\n    this.one.take();\n    of.first().take();\n    for (Item each : of.many) { each.take(); }\n    this.first().go();\n  }\n}\n"


def test_type_parameters_stand_for_arguments(storage: CodeStorage, tmp_path: Path) -> None:
    """A member whose type is a parameter of a class has the argument of the object, also through bases."""
    check_type_parameters(storage, tmp_path, "A.java", ARGUMENTS)


def test_java_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """Overloads are chosen by their arguments; fields, packages, static imports, bodies and outer classes are told apart."""
    files = files_of("java")
    base = "src/main/java/p/Base.java"
    expected = {
        "6 bound.put": f"{base}:Base.put:4", "7 bound.put": f"{base}:Base.put:5", "8 bound.put": f"{base}:Base.put:6",
        "9 .of": f"{base}:Base.of:7", "10 .of": f"{base}:Base.of:8", "11 .tag": f"{base}:Base.tag:10",
        "9 .Kind": f"{base}:Base.Kind:9", "12 new Base() {}.tag": f"{base}:Base.tag:10",
        "13 ((Base) any).put": f"{base}:Base.put:4", "14 .far": "", "15 .near": f"{base}:Base.near:11",
    }  # fmt: skip
    targets = meanings(storage, tmp_path / "java", files, "src/test/java/p/Use.java")
    assert {use: targets.get(use) for use in expected} == expected


def test_the_definition_above_keeps_its_line() -> None:
    """A line with an annotation and a definition is not a decorator of the next definition."""
    source = "class A {\n  @Override public String a() { return null; }\n  void b() {}\n  @Override\n  void c() {}\n}\n"
    definitions = symbols(source, "java")
    assert [(definitions[f"A.{name}"].start, definitions[f"A.{name}"].end) for name in "abc"] == [
        (2, 2),
        (3, 3),
        (4, 5),
    ]
