"""Questions with typing mistakes, and in other languages than the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.wordings import GUIDES, compare, own_questions
from sleuth import Document, Engine
from sleuth.answer import ExtractiveSynthesizer
from sleuth.results import Grade
from tests.answer.conftest import item


@pytest.fixture(scope="module")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine.open(tmp_path_factory.mktemp("guides") / "index", create=True) as engine:
        engine.index([GUIDES / "how-to", GUIDES / "concepts"])
        yield engine


@pytest.mark.parametrize("kind", ["typos", "languages"])
def test_an_answer_is_never_worse_than_the_first_hit(guides: Engine, kind: str) -> None:
    """Where the first hit of a search holds the gold text, so does that of the first quote, or both are one."""
    comparisons = [compare(guides, *each) for each in own_questions()[kind]]
    assert len(comparisons) == 20
    assert sum(each.is_hit for each in comparisons) >= {"typos": 10, "languages": 3}[kind]
    assert [each.question for each in comparisons if each.is_worse] == []


@pytest.mark.parametrize(
    "question",
    [
        "Что такое правила игры?",
        "Cum luptă regimurile împotriva imperialismului cultural?",
        "IPCC başkanı kimdir?",
        "Ce este Internet2?",
        "¿Qué es Internet2?",
    ],
)
def test_a_short_question_in_another_language(tmp_path: Path, question: str) -> None:
    """A question without a common word of its language is known by its letters, and gets the best passage."""
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document("The rules of the game are few.", {"source": "rules.md"})])
        items = list(engine.retrieve("rules", 1))
        assert engine.grade(question, items) is Grade.MAY_HELP
        assert engine.grade("who is the mayor of Paris", items) is Grade.NOTHING_CLOSE


def test_a_mistyped_word_that_no_passage_resembles(tmp_path: Path) -> None:
    """Nothing corrects it, but the quotes keep the order of the search, where words would find nothing close."""
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document("Activists plead solidarity to secure one bargain.", {"source": "law.md"})])
        items = list(engine.retrieve("activists", 1))
        assert engine.grade("is there a common tactic negotiatinng of prosecutors", items) is Grade.MAY_HELP
        assert (
            engine.grade("is there a common tactic negotiating of prosecutors", items) is Grade.NOTHING_CLOSE
        )


def test_a_corrected_question_keeps_the_order_of_the_search() -> None:
    """A cautious writer begins with the first passage, and says so, unless it has evidence for another."""
    items = [
        item("a", "Limits are small.", 1.05),
        item("b", "The owner changed keys in May.", 1.04),
        item("c", "x", 1.03),
    ]
    question = "Which keys has the owner changed for zebras of the zoo?"
    plain, cautious = ExtractiveSynthesizer(), ExtractiveSynthesizer().cautious()
    assert plain.synthesize(question, items).used_source_ids == ["b"]
    result = cautious.synthesize(question, items)
    assert result.used_source_ids == ["a", "b"]
    assert result.response.startswith("May help, in the order of the search:")
    nothing = "Why do zebras jump over the bucket?"
    assert plain.assess(nothing, items).grade is Grade.NOTHING_CLOSE
    assert cautious.assess(nothing, items).grade is Grade.MAY_HELP
    likely = "Which keys has the owner changed?"
    assert plain.assess(likely, items).grade is Grade.LIKELY
    assert cautious.assess(likely, items) == plain.assess(likely, items)


def test_an_engine_is_cautious_after_a_correction(tmp_path: Path) -> None:
    """The quotes for a question with a corrected word begin with the first hit where they are not likely answers."""
    texts = ["The bucket is refilled.", "A king and zebras live in Norway and jump."]
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document(text, {"source": f"{number}.md"}) for number, text in enumerate(texts)])
        result = engine.search("Why would the queen sell a buckett to old kings and zebras?")
        assert result.extra["corrected_query"] == "Why would the queen sell a bucket to old kings and zebras?"
        assert result.response.startswith("May help, in the order of the search:")


def test_a_long_name_is_corrected(tmp_path: Path) -> None:
    """A name of eight letters that lacks one is a typing mistake; a shorter one is another name."""
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add(
            [Document("Prometheus counts requests, and Jedi completes names.", {"source": "names.md"})]
        )
        slip = engine.search("what does Promtheus count")
        assert slip.extra["corrected_query"] == "what does prometheus count"
        assert "corrected_query" not in engine.search("what does Jedis complete").extra


def test_nothing_close_says_what_may_be_meant(tmp_path: Path) -> None:
    """Where nothing is close, the nearest titles are offered, and near words for those that no passage holds."""
    bucket = "The bucket is refilled every second. It holds fifty tokens."
    keys = "Keys are rotated every month by the owner of the project."
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document(bucket, {"source": "limits.md"}), Document(keys, {"source": "keys.md"})])
        result = engine.search("Which month is the Buckett of the king?")
        assert result.grade is Grade.NOTHING_CLOSE
        assert "- limits.md" in result.response
        assert result.extra["notes"] == ["no passage holds 'Buckett'; did you mean 'bucket'?"]
        assert "notes" not in engine.search("How often is the bucket refilled?").extra
