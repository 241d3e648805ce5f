"""Detection of the language of a text."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from sleuth.text.detection import TABLES, detect_language, language_of_query
from sleuth.text.languages import LANGUAGES

TEXTS = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text("utf8"))


@pytest.mark.parametrize("code", TEXTS)
def test_a_sentence_tells_its_language(code: str) -> None:
    """One sentence is enough, also beside a neighbour: Afrikaans is not Dutch, nor Yiddish Hebrew."""
    assert detect_language(TEXTS[code]) == code


def test_every_table_has_a_column_for_each_language() -> None:
    """Tables are of bytes, their rows a power of two, and each language stands in one; some have two scripts."""
    codes: set[str] = set()
    with np.load(TABLES) as tables:
        for script in (name for name in tables if not name.endswith("_codes")):
            codes |= set(tables[f"{script}_codes"].tolist())
            assert tables[script].dtype == np.int8
            assert len(tables[script]).bit_count() == 1
    assert {*LANGUAGES} - codes == {"el", "hy", "ta"}  # of which the script decides


@pytest.mark.parametrize(("query", "code", "stops"), [
    ("What is the price of tea", "en", {"What", "is", "the", "of"}), ("Ways to install", "en", {"to"}),
    ("Wer ist der Autor von Faust", "de", {"Wer", "ist", "der", "von"}),
    ("Où est le but", "fr", {"Où", "est", "le"}), ("most přes Vltavu", "", set()),
    ("most Praha", "", set()), ("the who", "", set()), ("tea", "", set()), ("", "", set()),
])  # fmt: skip
def test_stop_words_tell_the_language_of_a_query(query: str, code: str, stops: set[str]) -> None:
    """A query has the language of most of its stop words; none where it has too few, or no other words."""
    language = language_of_query(tuple(query.split()))
    assert (language.code, set(language.stops)) == (code, stops)


@pytest.mark.parametrize(
    "text", ["", "12.5 %", "Müller", "config.yaml", "foo(bar, baz) -> None", "x y z a b c i j k"]
)
def test_names_numbers_and_code_have_no_language(text: str) -> None:
    """Short texts, names, numbers and code have no language."""
    assert detect_language(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        '<ul> <li><a href="dns.html" class="nav-dns">DNS</a></li> <li><a href="errors.html">Errors</a></li> </ul> '
        * 3,
        "NAME 'x' (1, 0) (1, 1) OP '=' (1, 2) (1, 3) NUMBER '10' (1, 4) OP '*' (1, 7) NUMBER '2' OP '+' (1, 11) "
        * 3,
        "import os as _os import sys as _sys if os.name: os.close(fd) _os.getuid() os.setgid(os.getgid()) "
        * 2,
        "nu.is_integer: if nu.is_real: return S.One**(-nu)*bessel(-nu, z) nu = a + b; mu = a / nu " * 2,
    ],
)
def test_code_that_repeats_a_stop_word_has_no_language_of_it(text: str) -> None:
    """Markup and code are not read as Esperanto, Dutch, Portuguese or Romanian for a name that they repeat."""
    assert detect_language(text) in {"", "en"}


def test_names_in_latin_letters_do_not_tell_the_language() -> None:
    """A text in another script that lists names in Latin letters is of the language around them."""
    greek = (
        "Οι ομάδες είναι από το NFL (Los Angeles Rams, San Diego Chargers) και το NBA (Los Angeles Lakers)."
    )
    assert detect_language(greek) == "el"
    russian = (
        "Это команды Los Angeles Rams, San Diego Chargers, Los Angeles Lakers и ещё Los Angeles Clippers."
    )
    assert detect_language(russian) == "ru"
