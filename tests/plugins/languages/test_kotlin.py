"""What names of Kotlin mean."""

# ruff: noqa: E501 - sources of other languages, a line each
from pathlib import Path

from sleuth.code import CodeStorage
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.rules import CERTAIN
from tests.code.conftest import open_project
from tests.code.projects import files_of
from tests.code.test_graph import resolved


def test_companions_and_extensions_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """Members of a companion are named by its class; a function extends a type; a builder's `apply` returns itself."""
    files = files_of("kotlin_companions")
    targets = resolved(open_project(storage, tmp_path / "companion", files), "kotlin/a/Use.kt")
    expected = {
        "Block.of": "Block.companion.of", "Block.of(text).show": "Block.show", "made.add": "Block.Builder.add",
        "made.add().also2": "Block.Builder.also2", "made.add().also2().build": "Block.Builder.build",
        "block.shorten": "shorten", "text.loud": "loud",
    }  # fmt: skip
    assert {name: targets.get(name, "no use").rpartition(":")[2] for name in expected} == expected


def test_lambdas_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """`this` and `it` in a lambda are what it is called on, or what the function declares that takes it."""
    files = files_of("kotlin_lambdas")
    snapshot = open_project(storage, tmp_path / "lambdas", files)
    file = snapshot.file("kotlin/a/Use.kt")
    lines = files["kotlin/a/Use.kt"].split("\n")
    for use_of_name in snapshot.detail(file).references:
        if use_of_name.name in ("emit", "indent", "show", "joined"):
            target = resolver_of(snapshot).resolve(file, use_of_name)
            is_own = "mine" in lines[use_of_name.line - 1] and use_of_name.name == "emit"
            owner = {
                "emit": "Use." if is_own else "Writer.", "indent": "Writer.", "show": "Item.", "joined": "",
            }  # fmt: skip
            assert target is not None, lines[use_of_name.line - 1]
            assert target.definition.symbol.qualified == owner[use_of_name.name] + use_of_name.name
            assert target.confidence >= CERTAIN
            assert target.definition.symbol.line != 11


def test_a_lambda_whose_parameter_is_in_its_own_call(storage: CodeStorage, tmp_path: Path) -> None:
    """What a lambda takes is unknown where its call has that parameter too, and the others are resolved."""
    use = "package a\nclass A {\n  fun wrap() {}\n  fun take(f: (() -> A)?) = f?.let { { it().let { a -> a.wrap() } } }\n}\n"
    snapshot = open_project(storage, tmp_path / "own", {"a/A.kt": use + "fun last(a: A) { a.wrap() }\n"})
    file, resolver = snapshot.file("a/A.kt"), resolver_of(snapshot)
    targets = [
        resolver.resolve(file, each) for each in snapshot.detail(file).references if each.name == "wrap"
    ]
    assert targets[-1] is not None
    assert targets[-1].definition.symbol.qualified == "A.wrap"


def test_overloads_and_extensions_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """Arguments with names, defaults and lambdas choose the overload; what a function extends is `this` in it."""
    snapshot = open_project(storage, tmp_path, files_of("kotlin_overloads"))
    file = snapshot.file("shop/box.kt")
    lines = {
        each.line: target.definition.symbol.line
        for each in snapshot.detail(file).references
        if each.name in ("put", "seal", "close") and (target := resolver_of(snapshot).resolve(file, each))
    }
    expected = {12: 6, 17: 10, 18: 15, 20: 6, 21: 6, 22: 8, 23: 7, 24: 9, 25: 10, 26: 17, 27: 18}
    assert {line: lines.get(line) for line in expected} == expected
