"""Answers without a model: the best passage, how sure it is, and what stands below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import Document, Engine, index_path, open_code, open_sources
from sleuth.answer.extractive import INTRODUCTIONS, NEAREST, TOPIC, ExtractiveSynthesizer
from sleuth.errors import EmbeddingError
from sleuth.results import Grade
from tests.answer.conftest import item
from tests.code.conftest import write
from tests.embedders import Letters

PAGES = {
    "limits.md": "# Limits\n\nEvery client has a bucket. A bucket holds fifty tokens.\n\n"
    "## Refill\n\nTokens are refilled every second.",
    "keys.md": "# Keys\n\nKeys are rotated every month. The owner of a project rotates its tokens.",
    "cats.md": "# Cats\n\nCats sleep most of the day.",
}  # fmt: skip


@pytest.fixture
def engine(hybrid: Engine, tmp_path: Path) -> Engine:
    hybrid.index(sorted(write(tmp_path, PAGES).glob("*.md")))
    return hybrid


def test_the_best_passage_stands_under_its_heading(engine: Engine) -> None:
    """The first line says how sure the answer is; then come heading, quote with its mark, and further sources."""
    result = engine.search("When are tokens refilled?")
    lines = result.response.splitlines()
    assert lines[0] == INTRODUCTIONS[Grade.LIKELY]
    assert lines[2] == "Limits > Refill [1]"
    assert lines[3] == "> **Tokens are refilled every second.**"
    assert lines[5:] == ["- The owner of a project rotates its tokens. [2]"]
    assert [citation["number"] for citation in result.extra["citations"]] == [1, 2]
    assert result.used_source_ids[0].endswith("limits.md#0")
    assert 1.5 <= result.extra["covered"] + result.extra["held"] <= 2


def test_a_command_is_shown_as_code(hybrid: Engine) -> None:
    """Code stands between fences, below the sentence that describes it."""
    hybrid.add(
        [Document("To list all keys, run:\n\n    keys --all\n\nKeys expire.", {"source": "manual.md"})]
    )
    response = hybrid.search("How do I list all keys?").response
    assert response.splitlines()[3:] == [
        "> **To list all keys, run:**", "> ```", "> keys --all", "> ```", "> Keys expire.",
    ]  # fmt: skip


def test_a_query_that_asks_nothing_shows_pages(engine: Engine) -> None:
    """A few words without a question are a topic: each page has a line, in the order of the search."""
    result = engine.search("bucket tokens")
    first, *pages = result.response.splitlines()
    assert first == TOPIC
    assert [page.partition(":")[0] for page in pages] == ["- Limits", "- Keys"]
    assert not engine.search("which tokens").response.startswith(TOPIC)


def test_copies_of_a_page_are_one_source() -> None:
    """Of pages that hold the same text, one is cited, and one is named where nothing is close."""
    text = "Tokens are refilled every second, and a bucket of a client holds at most fifty of them."
    items = [item(f"page.{kind}#0", text, source=f"page.{kind}") for kind in ("md", "html", "txt")]
    result = ExtractiveSynthesizer().synthesize("When are tokens refilled?", items)
    assert [source["number"] for source in result.extra["sources"]] == [1]
    nothing = ExtractiveSynthesizer().synthesize("Who reigns?", items)
    assert nothing.response.splitlines()[1:] == [NEAREST, "- page.md"]


def test_what_retrieval_found_is_not_denied(engine: Engine) -> None:
    """Nothing is close only where a passage shares neither a word nor the meaning of a question."""
    shares_a_word = engine.search("Which zebra owns a token of the moon?")
    assert shares_a_word.grade is Grade.MAY_HELP
    assert "> " in shares_a_word.response
    empty = ExtractiveSynthesizer().synthesize("Who reigns?", [])
    assert empty.response == INTRODUCTIONS[Grade.NOTHING_CLOSE]


@pytest.mark.parametrize("query", ["doctor cures sick people", "Which doctor cures sick people?"])
def test_what_only_meaning_finds_is_shown(engine: Engine, query: str) -> None:
    """A passage that shares the meaning alone is quoted, also for a query that is a topic: it may help."""
    engine.add([Document("A physician heals the ill.", {"source": "health.md"})])
    result = engine.search(query)
    assert result.grade is Grade.MAY_HELP
    assert result.response.splitlines()[2:] == ["health.md:1-1 [1]", "> **A physician heals the ill.**"]


@pytest.mark.parametrize("question", ["When are tokens refilled?", "What holds tokens of zebras?", "cats"])
def test_a_grade_is_that_of_the_first_passage(engine: Engine, question: str) -> None:
    """How many passages may be quoted does not change a grade, and `grade` gives the same."""
    grades = {engine.search(question, k).grade for k in (1, 2, 10)}
    assert grades == {engine.grade(question, engine.retrieve(question, 10))}


def test_words_alone_decide_where_the_embedder_fails(caplog: pytest.LogCaptureFixture) -> None:
    """An embedder that fails changes nothing that words say, and the log says so."""
    embedder = Letters()
    embedder.failure = EmbeddingError("out of order")
    passages = [item("a", "Tokens are refilled every second.")]
    plain = ExtractiveSynthesizer().synthesize("When are tokens refilled?", passages)
    failing = ExtractiveSynthesizer(embedder=embedder)
    assert failing.synthesize("When are tokens refilled?", passages) == plain
    assert caplog.text.count("by words alone") == 1


def test_documents_and_code_are_quoted_alike(tmp_path: Path) -> None:
    """A definition is quoted by its signature and documentation, under its file and name."""
    root = write(tmp_path / "src", {"parcel.py": 'def wrap(box):\n    """Folds paper round a box."""\n'})
    with open_code(tmp_path / "index", create=True) as storage:
        index_path(storage, root, workers=1)
    with open_sources(tmp_path / "index", ["code"]) as sources:
        result = sources.search("what does parcel.wrap do?")
    assert result.grade is Grade.LIKELY
    assert result.response.splitlines()[2:4] == [
        "parcel.py wrap [1]",
        "> **`def wrap(box)`: Folds paper round a box.**",
    ]


def test_pieces_are_the_lines_of_the_answer(engine: Engine) -> None:
    """A stream gives the answer line by line, and signs that control a terminal are left out."""
    stream = engine.stream_search("When are tokens refilled?")
    assert "".join(stream) == stream.result.response
    hostile = item("a", "Tokens \x1b[31mare\u202e refilled.", title="\x1b[2J")
    assert "\x1b" not in ExtractiveSynthesizer().synthesize("Are tokens refilled?", [hostile]).response
