"""Disagreements between sources are found where they are planted, and nowhere in real pages."""

from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.answer.quotes import date_of, disagree, read_claims
from sleuth.text.analyzers import get_analyzer
from tests.answer.conftest import SAMPLES, item

English = get_analyzer("english").words_of_each

PLANTED = (Path(__file__).parent / "planted.txt").read_text("utf8").splitlines()
"""A question and two sentences on a line."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Index the language reference that Python brings."""
    with Engine.open(tmp_path_factory.mktemp("pages") / "index", create=True) as engine:
        engine.add(Document(text, {"source": f"{name}.rst", "type": "rst"}) for name, text in topics.items())
        yield engine


def test_planted_disagreements_are_found(pages: Engine) -> None:
    """Of 16 different values among real pages, at least 14 are found."""
    rest = {
        "a": "The rest of this page is about cats.",
        "b": "Nobody has read further since the last winter.",
    }
    text_pairs = {question: texts for question, *texts in (line.split(" / ") for line in PLANTED)}
    assert len(text_pairs) == 16
    documents = [
        Document(f"{text}\n\n{rest[name]}", {"source": f"{name}{number}.md"})
        for number, texts in enumerate(text_pairs.values())
        for name, text in zip("ab", texts, strict=True)
    ]
    pages.add(documents)
    missing = [question for question in text_pairs if not pages.search(question).extra["disagreement"]]
    pages.delete([document.metadata["source"] for document in documents])
    assert len(missing) <= 2, missing


@pytest.mark.parametrize(("one", "other"), SAMPLES["agreeing"])
def test_nothing_else_disagrees(one: str, other: str) -> None:
    """Spellings, other units, negations, names and subjects, and several values are no disagreement."""
    assert not disagree(*read_claims([one, other], English), is_same_question=True)


def test_the_date_of_a_document() -> None:
    """The year in a name comes before the day of the last change, which may be that of a copy."""
    modified: dict[str, Any] = {"modified": "2026-05-01T00:00:00Z"}
    assert date_of(item("a", "", source="/docs/leave-2021.md", **modified)) == "2021"
    assert date_of(item("a", "", source="leave.md", title="Leave 2024", **modified)) == "2024"
    assert date_of(item("a", "", source="leave.md", **modified)) == "2026-05-01"
    assert date_of(item("a", "", source="leave.md")) == ""


@pytest.mark.parametrize("question", ["How many days of leave do employees get?", "days of annual leave?"])
def test_both_values_are_shown_with_their_dates(hybrid: Engine, question: str) -> None:
    """Two documents that give different values stand side by side, the newest first, in each order of the ranking."""
    pages = {"leave-2021.md": "25 days", "leave-2024.md": "30 days"}
    hybrid.add(
        Document(f"# Leave\n\nEmployees get {days} of annual leave.", {"source": name})
        for name, days in pages.items()
    )
    result = hybrid.search(question)
    assert result.response.splitlines()[2:] == [
        "The sources disagree:",
        "- 2024: Employees get 30 days of annual leave. [1]",
        "- 2021: Employees get 25 days of annual leave. [2]",
    ]
    assert result.extra["disagreement"] is True
    assert [source["source"][:13] for source in result.extra["sources"]] == ["leave-2024.md", "leave-2021.md"]


def test_real_pages_do_not_disagree(pages: Engine) -> None:
    """Over the language reference, no question about a topic finds a disagreement."""
    questions = [f"{start} {name.replace('-', ' ')}?" for name in topics for start in ("What is", "How many")]
    assert len(questions) >= 100
    assert [question for question in questions if pages.search(question).extra.get("disagreement")] == []
