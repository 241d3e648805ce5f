"""Engines answer with sentences, with a model, with plugins, whole and streamed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth.engine import Engine
from sleuth.errors import ArgumentError, GenerationError, RetrievalError
from sleuth.hooks import hook
from sleuth.llm import Ollama
from sleuth.manager import IndianaJones
from sleuth.results import Grade, RetrieveResult, SearchResult
from sleuth.testing.ollama import OllamaServer
from sleuth.types import Document
from tests.code.conftest import write

DOCUMENTS = [
    Document(
        "The bucket is refilled every second. A bucket holds fifty tokens.",
        {"source": "limits.md", "year": 2024},
    ),
    Document(
        "Keys are rotated every month by the owner of the project.", {"source": "keys.md", "year": 2020}
    ),
]
PLUGIN = Path(__file__).with_name("plugin.txt").read_text("utf8")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.delenv("SLEUTH_PLUGINS", raising=False)
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(DOCUMENTS)
        yield engine


def test_with_a_model(engine: Engine) -> None:
    """A model is set per call or for the engine, by name or as an object; its answer is cited."""
    with OllamaServer(reply=lambda prompt: "Every second [1].") as server:
        model = Ollama("llama3.1", server.url)
        result = engine.search("When is the bucket refilled?", model=model)
        assert (result.response, result.extra["synthesizer"]) == ("Every second [1].", "llm")
        assert "The bucket is refilled every second." in server.payloads("/api/generate")[0]["prompt"]
        assert engine.search("bucket").extra["synthesizer"] == "extractive"
        engine.use_model(model)
        assert engine.search("bucket").extra["synthesizer"] == "llm"
        engine.use_model(None)
        assert engine.search("bucket").extra["synthesizer"] == "extractive"


def test_stream(engine: Engine) -> None:
    """A stream yields the answer in pieces and then its result."""
    with OllamaServer(reply=lambda prompt: "One two three [1].") as server:
        model = Ollama("llama3.1", server.url)
        stream = engine.stream_search("bucket", model=model)
        assert list(stream) == ["One", " two", " three", " [1]."]
        assert stream.result == engine.search("bucket", model=model)


def test_filters_and_items(engine: Engine) -> None:
    """A filter limits the passages; items are returned on request."""
    result = engine.search("bucket keys every", return_mode="with_items", filter={"year": 2020})
    assert [item.metadata["source"] for item in result.items or []] == ["keys.md"]
    with pytest.raises(RetrievalError, match="FilterError"):
        engine.search("bucket", filter={"year": {"$near": 1}})


def test_options_of_retrieval(engine: Engine) -> None:
    """A search passes options to `retrieve`, and an invalid one raises an error."""
    result = engine.search("bucket", return_mode="with_items", legs=["lexical"], explain=True)
    assert [item.id for item in result.items or []] == ["limits.md#0"]
    assert (result.items or [])[0].explanation is not None
    with pytest.raises(RetrievalError, match="legs must be among"):
        engine.search("bucket", legs=["sparse"])


def test_expected_states(hybrid: Engine) -> None:
    """What an empty index answers is a result, not an exception."""
    nothing = hybrid.search("anything")
    assert nothing.detail is not None
    assert nothing.detail.code == "no_results"


def test_a_model_that_fails_is_raised(engine: Engine) -> None:
    """A failing model raises an error whose cause is the model's."""
    with pytest.raises(RetrievalError, match="ollama serve") as caught:
        engine.search("bucket", model=Ollama("m", "http://127.0.0.1:9"))
    assert isinstance(caught.value.__cause__, GenerationError)
    assert caught.value.context["query"] == "bucket"


def test_hooks_of_an_engine(engine: Engine) -> None:
    """The registry and the manager have both names, and hooks get the engine."""
    assert engine.hooks is engine.morpheus
    assert engine.indiana_jones is engine.manager
    assert isinstance(engine.manager, IndianaJones)
    hosts: list[Any] = []

    @hook("indiana_jones_retrieve", priority=5)
    def rewrite(result: RetrieveResult, query: str, *args: Any, rag2f: Engine) -> None:
        hosts.append(rag2f)
        result.query = "keys rotated"

    engine.hooks.add(rewrite)
    result = engine.indiana_jones.execute_retrieve("qqq", 1)
    assert result.items[0].metadata["source"] == "keys.md"
    assert hosts == [engine]
    assert engine.search("qqq").extra["searched_query"] == "keys rotated"


def test_plugins_of_an_engine(engine: Engine, tmp_path: Path) -> None:
    """Plugins of a folder are loaded into the engine, and deactivated when it closes."""
    plugins = write(tmp_path / "plugins", {"loud.py": PLUGIN, "broken.py": "import nothing_like_that"})
    infos = engine.load_plugins(plugins)
    assert {info.name: info.status for info in infos} == {"broken": "failed", "loud": "active"}
    assert "THE BUCKET IS REFILLED" in engine.search("bucket refilled").response
    engine.close()
    assert engine.seen == ["loud", "gone"]  # type: ignore[attr-defined]


def test_threads_share_one_registry(engine: Engine) -> None:
    """Engines that many threads use first at once register their hooks once."""

    async def many() -> list[SearchResult]:
        return await asyncio.gather(*(engine.asearch("bucket") for _ in range(8)))

    assert {result.response for result in asyncio.run(many())} == {engine.search("bucket").response}
    assert len(engine.hooks.hooks("indiana_jones_retrieve")) == 1


def test_a_plugins_folder_that_is_not_there_fails_each_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a missing plugins folder every call raises an error."""
    monkeypatch.setenv("SLEUTH_PLUGINS", str(tmp_path / "nowhere"))
    for _ in range(2):
        with pytest.raises((ArgumentError, RetrievalError), match="folder that exists"):
            engine.search("tokens")


def test_a_question_with_typos_is_answered_as_it_is_meant(engine: Engine) -> None:
    """Words that no passage holds are spelt as the passages do; the result says so."""
    result = engine.search("When is the buckett refilled?")
    assert "The bucket is refilled every second." in result.response
    assert result.grade is Grade.LIKELY
    assert result.extra["corrected_query"] == "When is the bucket refilled?"
    assert result.extra["notes"][0].endswith("answered instead: When is the bucket refilled?")
    assert "corrected_query" not in engine.search("When is the bucket refilled?").extra


def test_a_question_in_another_language_gets_the_best_passage(engine: Engine) -> None:
    """Its words do not tell which passages are close: the best one is quoted, and no word is corrected."""
    result = engine.search("Wie oft werden die Token der bucket gefüllt?")
    assert result.grade is Grade.MAY_HELP
    assert "The bucket is refilled every second." in result.response
    assert "corrected_query" not in result.extra


def test_a_word_that_begins_otherwise_is_no_typo(hybrid: Engine) -> None:
    """What begins alike, or with its first letters swapped, is a typing mistake: "redis" is no "jedi"."""
    hybrid.add(
        [Document("The jedi listen on port five of the station, and a bucket stands there.", {"source": "a"})]
    )
    other = hybrid.search("which port does redis listen on")
    assert "corrected_query" not in other.extra
    for typo in ("bukcket", "bucekt"):
        answer = hybrid.search(f"where on the station does a {typo} stand")
        assert answer.extra["corrected_query"] == "where on the station does a bucket stand"


RIGHT = ("sync", "pod", "party", "pencil", "cats", "prometheus", "redis")
"""Words of the passages that are one or two edits from other words that are right."""


@pytest.mark.parametrize(
    "word", ["async", "od", "parts", "penicillin", "kats", "Prometheuss", "jedis", "catts"]
)
@pytest.mark.parametrize("embedder", ["wordllama", None])
def test_no_word_is_corrected_that_may_be_right(tmp_path: Path, word: str, embedder: str | None) -> None:
    """A word of the embedder's vocabulary, a short one, a name and one that no vocabulary can judge stay."""
    question = f"what does the manual of the house say about {word}"
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        engine.add([Document(f"The manual of the house is about a {other}.", id=other) for other in RIGHT])
        assert "corrected_query" not in engine.search(question).extra
