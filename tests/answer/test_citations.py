"""Citations are parsed, matched with passages and checked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer import Passage, citation_marks
from sleuth.answer.citations import check_citations, support
from tests.answer.conftest import item

FIRST = Passage(1, "The bucket is refilled every 60 seconds.", (item("a", ""), item("b", "")))
SECOND = Passage(2, "Requests above the limit are refused.", (item("c", ""),))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("So it is [1].", [1]),
        ("Both [1][3] or [2, 4] or [5; 6].", [1, 3, 5, 6, 2, 4]),
        ("A range [2-4], a footnote [^7], full width 【8】.", [2, 3, 4, 7, 8]),
        ("As others write: 【1†source】, [Source 2], [passages 3 – 4 and 5].", [1, 2, 3, 4, 5]),
        ("`a[1]` and\n```\nb[2]\n```", []),
        ("No [link](x), no [text], no [1234], no [source], no [Source code 1], no [1 source].", []),
        ("A huge range [1-999] is cut.", list(range(1, 52))),
    ],
)
def test_numbers(text: str, numbers: list[int]) -> None:
    """The usual forms of citations are parsed; code, links and years are not citations."""
    assert sorted(number for mark in citation_marks(text) for number in mark.numbers) == sorted(numbers)


def test_marks_have_their_places() -> None:
    """A citation is known by its characters and its numbers; code before it does not move it."""
    text = "`a[1]` is so [1, 2], and not [3-4]."
    marks = citation_marks(text)
    places = [(text[mark.start : mark.end], mark.numbers) for mark in marks]
    assert places == [("[1, 2]", [1, 2]), ("[3-4]", [3, 4])]
    quoted = "Bucket [1]\n> Made in 1820. [2]\n\n- Oak [1], elm [1]. [2]"
    assert [mark.start for mark in citation_marks(quoted, is_quoted=True)] == [7, len(quoted) - 3]


def test_report() -> None:
    """A citation has its statement, its items and the share of the statement that the passage supports."""
    answer = "The bucket is refilled every 60 seconds [1]. Limits are refused. [2] Everything is free [9]. I think so."
    report = check_citations(answer, [FIRST, SECOND])
    first, second = report.citations
    assert (first.number, first.ids, first.support) == (1, ("a", "b"), 1.0)
    assert first.statement == "The bucket is refilled every 60 seconds."
    assert (second.number, second.statement) == (2, "Limits are refused.")
    assert report.used_ids == ["a", "b", "c"]
    assert (report.unknown, report.uncited) == ((9,), ("Everything is free.", "I think so."))
    assert first.to_dict()["support"] == 1.0
    # Removing citations from a statement changes nothing else in it.
    (first, *_) = check_citations("Warming is\nreal[1][2] in x[a].", [FIRST, SECOND]).citations
    assert first.statement == "Warming is real in x[a]."


def test_support() -> None:
    """Support is the share of numbers and longer words of a statement that the passage contains."""
    assert support("Refilled every 60 seconds", FIRST.text) == 1.0
    assert support("Refilled every 90 seconds", FIRST.text) == 0.75
    assert support("Entirely different claims", FIRST.text) == 0.0
    assert support("Yes", FIRST.text) == 1.0
    assert support("桶里的令牌每秒钟补充一次", "令牌桶每秒补充一次，每个桶最多可以容纳五十个令牌。") == 0.75
    assert support("所有者が毎月鍵を交換します", "トークンは毎秒補充されます。") < 0.2


@given(st.text("ab[]1234,-^. \n`", max_size=60))
def test_any_answer_can_be_checked(answer: str) -> None:
    """For any answer, cited ids are of passages, unknown numbers are not; a sentence cites a passage or is marked."""
    report = check_citations(answer, [FIRST, SECOND])
    assert set(report.used_ids) <= {"a", "b", "c"}
    assert not set(report.unknown) & {1, 2}
    marked = check_citations(f"{answer}\n\nCats sleep{answer[:3]}.", [FIRST, SECOND])
    statements = [each.statement for each in marked.citations]
    assert "```" in answer or any("Cats sleep" in statement for statement in (*statements, *marked.uncited))
