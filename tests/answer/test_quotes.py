"""What is quoted: the unit that fits best, marked, with the lines around it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer.quotes import LINES, WIDTH, best_of, quote_of, score_units, shortened
from sleuth.answer.units import units_of
from sleuth.answer.words import plain_words
from tests.answer.conftest import item


def best(question: str, *passages: str) -> str:
    """Return the best unit of passages that are ranked in this order."""
    items = [item(f"page{number}.md#0", text) for number, text in enumerate(passages)]
    weights = dict.fromkeys(plain_words([question])[0], 1.0)
    candidate = best_of(
        score_units(question, items, list(map(units_of, items)), analyze=plain_words), weights
    )
    return candidate.unit.text if candidate else ""


def lines(text: str, place: int = 0) -> list[str]:
    passage = item("a", text)
    return list(quote_of(passage, units_of(passage), place).lines)


def test_words_rank_and_headings_choose() -> None:
    """The unit with most words of the question is best; the ranking of passages and the headings decide the rest."""
    assert (
        best("when are keys rotated", "Keys are long. Keys are rotated monthly. Cats sleep.")
        == "Keys are rotated monthly."
    )
    assert best("keys", "Keys are long.", "Keys are short.") == "Keys are long."
    page = "# Tides\n\nEvery six hours.\n\n# Keys\n\nEvery month."
    assert best("how often do keys change", page) == "Every month."
    assert best("what does code 2 mean", "Code 1 is well. Code 2 is a failure.") == "Code 2 is a failure."


def test_a_quote_has_five_lines_under_one_heading() -> None:
    """The best unit is marked; those around it under its heading follow while they fit."""
    text = "# Keys\n\nOne is old. Two is new.\n\n- three\n- four\n\n# Tides\n\nFive."
    assert lines(text, 1) == ["One is old. **Two is new.**", "- three", "- four"]
    assert lines("- three\n- four\n\nFive.", 2) == ["- three", "- four", "", "**Five.**"]
    long = " ".join(f"This is sentence number {number} of a page about keys." for number in range(60))
    (line,) = lines(long, 30)
    assert "**This is sentence number 30 of a page about keys.**" in line
    assert len(line) <= LINES * WIDTH


def test_code_that_is_long_is_cut_between_lines() -> None:
    """Code has the sentence before it; where it goes on, dots say so."""
    code = "\n".join(f"keys --number {number}" for number in range(9))
    shown = lines(f"Run this:\n\n```\n{code}\n```\n\nDone.")
    assert shown == ["**Run this:**", "```", *code.split("\n")[:4], "…", "```"]


@given(
    st.lists(
        st.lists(st.sampled_from(["keys", "old", "north", "rust", "sea"]), min_size=1).map(" ".join),
        min_size=1,
        max_size=6,
    )
)
def test_no_unit_holds_less_than_the_best_one_of_the_first_passage(passages: list[str]) -> None:
    """Whatever the passages are, the best unit holds as many words of the question as the best one of the first."""
    asked = ["old", "keys", "of", "the", "north"]
    counts = [len({*asked} & {*text.split()}) for text in (best(" ".join(asked), *passages), passages[0])]
    assert counts[0] >= counts[1]


@given(
    st.lists(
        st.sampled_from(["Keys are long.", "- item", "| a | b |", "", "```", "# Head", "x" * 700]),
        max_size=12,
    )
)
def test_a_quote_is_never_longer(rows: list[str]) -> None:
    """Any passage is quoted in at most five lines, and a line of dots after code."""
    heights = [
        max(1, -(-len(line.strip("*- …")) // WIDTH)) for line in lines("\n".join(rows)) if line != "```"
    ]
    assert sum(heights) <= LINES + 1


def test_a_text_is_cut_between_words() -> None:
    """What does not fit into a line ends with dots."""
    assert shortened("one two three", 20) == "one two three"
    assert shortened("one two three", 9) == "one two …"
    assert shortened("数据库: 最大连接数是一百", 10) == "数据库: 最大连接数 …"
