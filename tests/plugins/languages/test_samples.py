"""Each language of the plugin has its definitions, uses, imports, types and calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.code import CodeStorage
from sleuth.code.parsing.languages import LANGUAGES
from sleuth.extensions import own_extensions
from tests.code import test_bindings, test_definitions, test_inference, test_parse
from tests.code.conftest import parse_source
from tests.code.test_definitions import symbols
from tests.plugins.languages.samples import CALLS, CLASSES, IMPORTS, NAMES, OUTGOING, SOURCES, TYPES, USES


def test_each_language_has_a_sample() -> None:
    """The samples are of the languages of the plugin's table."""
    assert set(SOURCES) == set(own_extensions("languages"))


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_and_references(language: str) -> None:
    """Every grammar gives qualified definitions with their kind, and references with their role."""
    test_parse.check_definitions_and_references(language, SOURCES[language])


@pytest.mark.parametrize(("language", "text"), IMPORTS)
def test_imports(language: str, text: str) -> None:
    """An import statement gives the module, name and alias of everything that it imports."""
    assert [tuple(i)[:3] for i in LANGUAGES[language].imports(text)] == IMPORTS[language, text]


@pytest.mark.parametrize(("language", "source"), TYPES)
def test_types_are_uses(language: str, source: str) -> None:
    """Annotations, results, casts and checks are uses of the classes that they name."""
    assert test_definitions.uses(source, language) == TYPES[language, source]


@pytest.mark.parametrize(("language", "source"), NAMES)
def test_every_name_is_a_definition(language: str, source: str) -> None:
    """Every name in the sample is one definition with its full name, its kind and its container."""
    definitions = test_definitions.symbols(source, language)
    assert [f"{name} {symbol.kind}" for name, symbol in definitions.items()] == NAMES[language, source]


@pytest.mark.parametrize("language", USES)
def test_receivers_are_followed(storage: CodeStorage, tmp_path: Path, language: str) -> None:
    """Fields, parameters, variables, elements, returned values and bases lead to the one method that is meant."""
    test_inference.check_receivers(storage, tmp_path, CLASSES[language], USES[language])


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CodeStorage, str]]:
    """The samples of calls, indexed; and the repository's id."""
    with test_bindings.indexed(
        tmp_path_factory, {name: sample.source for name, sample in CALLS.items()}
    ) as code:
        yield code


@pytest.mark.parametrize("name", CALLS)
def test_calls_stay_and_variables_do_not(calls: tuple[CodeStorage, str], name: str) -> None:
    """Words in comments and strings hide no call; parameters and variables are not listed."""
    test_bindings.check_calls(*calls, name, CALLS[name])


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CodeStorage, str]]:
    """The samples of outgoing calls, indexed; and the repository's id."""
    with test_bindings.indexed(tmp_path_factory, OUTGOING) as code:
        yield code


@pytest.mark.parametrize("name", OUTGOING)
def test_definitions_elsewhere(outgoing: tuple[CodeStorage, str], name: str) -> None:
    """The function that is called is named with its line; parameters, variables and inner functions are not."""
    test_bindings.check_definitions(*outgoing, name, OUTGOING[name], {"ipairs"} if name == "o.lua" else set())


def test_no_nesting_of_java_is_too_deep() -> None:
    """Classes nested 20,000 levels deep are analysed."""
    detail = parse_source(b"class A{" * 20_000 + b"}" * 20_000, "java")
    assert detail.chunks[-1].end == 1


def test_php_is_public_unless_it_says_otherwise() -> None:
    """Functions, classes, traits, enums and members without a modifier are public."""
    source = (
        "<?php\nfunction a() {}\ntrait B {}\nenum C {}\nclass D {\n  function e() {}\n"
        "  private function f() {}\n  protected static function g() {}\n}\n"
    )
    private_names = {name for name, s in symbols(source, "php").items() if "public_api" not in s.labels}
    assert private_names == {"D.f", "D.g"}
