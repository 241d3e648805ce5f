"""Definitions, labels and uses whose syntax is hard to recognise in a grammar."""

import pytest

from sleuth.code.parsing.detail import Symbol
from tests.code.conftest import parse_source
from tests.code.projects import SAMPLES


def symbols(source: str, language: str, path: str = "x") -> dict[str, Symbol]:
    """Return definitions by qualified name."""
    return {symbol.qualified: symbol for symbol in parse_source(source.encode(), language, path).symbols}


def uses(source: str, language: str) -> list[str]:
    """Return used names with their roles, in order of line."""
    return [
        f"{r.qualifier}.{r.name} {r.role}".lstrip(".")
        for r in parse_source(source.encode(), language).references
    ]


@pytest.mark.parametrize(("language", "source", "lines"), SAMPLES["groups"])
def test_definitions_of_a_group_stand_side_by_side(
    language: str, source: str, lines: dict[str, list[int]]
) -> None:
    """Definitions of a group are siblings, each with its own lines."""
    assert {name: [s.start, s.end] for name, s in symbols(source, language).items()} == lines


@pytest.mark.parametrize(("source", "label"), SAMPLES["attributes"])
def test_rust_attributes_say_what_a_definition_is(source: str, label: str) -> None:
    """Attributes are not part of the definition that follows, but they determine its labels."""
    labels = symbols(source, "rust")["f"].labels
    assert label in labels
    assert "public_api" not in labels


@pytest.mark.parametrize(("language", "source", "expected"), SAMPLES["types"])
def test_types_are_uses(language: str, source: str, expected: list[str]) -> None:
    """Annotations, results, casts and checks are uses of the classes that they name, and bases are inherited from."""
    assert uses(source, language) == expected


@pytest.mark.parametrize(("language", "source", "expected"), SAMPLES["names"])
def test_every_name_is_a_definition(language: str, source: str, expected: list[str]) -> None:
    """Every name in the sample is one definition with its full name, its kind and its container."""
    definitions = symbols(source, language)
    assert [f"{name} {symbol.kind}" for name, symbol in definitions.items()] == expected


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


@pytest.mark.parametrize(("language", "source", "signature"), SAMPLES["signatures"])
def test_a_signature_reads_as_one_line(language: str, source: str, signature: str) -> None:
    """Brackets enclose their parts without spaces; a comma that makes a tuple, a macro and addresses stay."""
    assert [*symbols(source, language).values()][-1].signature == signature
