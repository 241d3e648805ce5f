"""What names of C# mean."""

from pathlib import Path

from sleuth.code import CodeStorage
from sleuth.code.graph.resolve import resolver_of
from tests.code.conftest import open_project
from tests.code.projects import files_of
from tests.code.test_definitions import symbols, uses
from tests.code.test_graph import resolved
from tests.plugins.languages.samples import TABLES

NAMESPACES = files_of("csharp")


def test_namespaces_parts_and_extensions_of_csharp(storage: CodeStorage, tmp_path: Path) -> None:
    """Types are seen through namespaces, a class has all of its parts, and an extension is of the type it extends."""
    snapshot = open_project(storage, tmp_path, NAMESPACES)
    targets = resolved(snapshot, "Use.cs")
    expected = TABLES["csharp"]
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected
    file = snapshot.file("Use.cs")
    writes = [each for each in snapshot.detail(file).references if each.name == "Write"]
    heads = [
        target.definition.symbol.signature
        for each in writes
        if (target := resolver_of(snapshot).resolve(file, each))
    ]
    assert [head.partition("(")[2] for head in heads] == ["params string[] words)", "Square square)"]
    inner = snapshot.file("Core/Canvas.Text.cs")
    add = next(each for each in snapshot.detail(inner).references if each.name == "Add")
    target = resolver_of(snapshot).resolve(inner, add)
    assert target is not None and target.definition.file.path == "Core/Shapes.cs"


def test_a_namespace_without_braces_reaches_to_the_end() -> None:
    """A namespace without braces contains the rest of the file; a comment is no part of its head."""
    namespace = symbols("using System;\nnamespace /* { */ N;\n\nclass A\n{\n}\n", "csharp")["N"]
    assert (namespace.start, namespace.end, namespace.signature) == (2, 6, "namespace N;")


def test_arguments_of_a_base_are_no_bases() -> None:
    """The only base of `class A(B b) : Base(b)` is `Base`."""
    source = "class A(B b) : Base(b), I {}\nrecord C(int x) : D(x);\n"
    assert [use for use in uses(source, "csharp") if "inheritance" in use] == [
        "Base inheritance",
        "I inheritance",
        "D inheritance",
    ]
