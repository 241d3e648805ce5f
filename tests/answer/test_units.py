"""Units: what of a passage can be quoted alone, whole."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer.units import text_units, units_of, without_markup
from tests.answer.conftest import SAMPLES, item


def texts(text: str) -> list[str]:
    """Return the units of a text, code after a line of its sentence."""
    return ["\n".join([unit.text, *unit.code]) for unit in text_units(text)]


@pytest.mark.parametrize(("text", "units"), SAMPLES["units"])
def test_units_are_whole(text: str, units: list[str]) -> None:
    """A command has its description, an entry its name, a row its header, code its sentence; headings are no units."""
    assert texts(text) == units


@pytest.mark.parametrize(
    "text",
    [
        "- [The guide](guide.md)\n- [The keys](keys.md)", "[12] A. Lee, The tides of the north, 1998.",
        "Introduction ........ 3", "From: ann@example.org\n\nSubject: tides", "How are keys made?",
        "https://example.org/keys/and/tides", "|:<|",
    ],
)  # fmt: skip
def test_what_says_nothing_is_not_marked(text: str) -> None:
    """Links, bibliographies, contents, headers of mail, questions and signs are never the best of an answer."""
    assert not any(unit.is_answer for unit in text_units(text))


def test_a_unit_knows_what_is_above_it() -> None:
    """The last heading or question stands above a unit, and the item that it belongs to."""
    text = "# Keys\n\n- `limit`: how many.\n\n  The default is 5.\n\nHow are they made?\n\nBy hand."
    first, second, third = text_units(text)
    assert (first.heading, first.owner) == ("Keys", "")
    assert (second.text, second.owner) == ("The default is 5.", "`limit`: how many.")
    assert (third.text, third.heading) == ("By hand.", "How are they made?")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("See [the **guide**](a.md \"title\") and ![logo](x.png).", "See the guide and logo."),
        ("The {func}`echo` and :ref:`guide <place>` and `site <http://a.b>`_.", "The `echo` and `guide` and site."),
        ("``a`` &lt;b&gt; <span id=\"x\"/>c, `--file <path>`", "`a` <b> c, `--file <path>`"),
        ("https://a.b/c[the page] and <<ch01,this>> (((index)))", "the page and this"),
    ],
)  # fmt: skip
def test_markup_is_left_out(text: str, plain: str) -> None:
    """Links, roles, tags and stars are left out, and code keeps its signs."""
    assert without_markup(text) == plain


def test_code_is_quoted_by_its_definition() -> None:
    """Of code, the signature with the first sentence of its documentation is a unit, and the rest of that."""
    metadata: dict[str, Any] = {
        "source_type": "code", "language": "python", "signature": "def fold(box)", "symbol": "fold",
    }  # fmt: skip
    metadata["doc"] = "Folds paper. Slowly.\n\n:param box: to be wrapped."
    units = units_of(item("a", 'def fold(box):\n    """Folds paper."""\n    return box', **metadata))
    assert [unit.text for unit in units] == [
        "`def fold(box)`: Folds paper.",
        "Slowly.",
        ":param box: to be wrapped.",
    ]
    (bare,) = units_of(item("a", "x = 1", source_type="code", language="python", signature="x = 1"))
    assert bare.text == "`x = 1`"


@given(st.text("ab .#-=|`~:[]()<>\n*\t1?", max_size=120))
def test_any_text_has_units(text: str) -> None:
    """Any text is cut without an error, and a unit that may be marked has letters in one line."""
    for unit in text_units(text):
        assert "\n" not in unit.text
        assert not unit.is_answer or any(map(str.isalnum, unit.text))
