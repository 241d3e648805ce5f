"""The manager runs hooks before, after and instead of the built-in ones, with options and streams."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sleuth.errors import RetrievalError
from sleuth.hooks import Morpheus
from sleuth.hooks.registry import RETRIEVE, SYNTHESIZE
from sleuth.manager import RetrievalManager
from sleuth.remote import THREADS
from sleuth.results import RetrievedItem, RetrieveResult, SearchResult, StatusCode, StatusDetail
from sleuth.types import Ranking
from tests.waiting import wait_until

PASSAGES = {"a": "red apples", "b": "green apples", "c": "blue plums"}


class Words:
    """A retriever that counts common words."""

    def __init__(self) -> None:
        self.queries: list[tuple[str, Any]] = []

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
        self.queries.append((query, filter))
        words = set(query.split())
        scored = [(len(words & set(text.split())), id) for id, text in PASSAGES.items()]
        best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1]))
        return Ranking([RetrievedItem(id=id, text=PASSAGES[id], score=float(n)) for n, id in best[:k]])


class Joiner:
    """A synthesizer that joins the passages, a piece each."""

    def synthesize(
        self, question: str, items: list[RetrievedItem], *, on_text: Callable[[str], None] | None = None
    ) -> SearchResult:
        pieces = [f"{item.text}. " for item in items]
        for piece in pieces:
            if on_text:
                on_text(piece)
        return SearchResult.success(response="".join(pieces), used_source_ids=[item.id for item in items])


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def morpheus() -> Morpheus:
    return Morpheus()


@pytest.fixture
def manager(words: Words, morpheus: Morpheus) -> RetrievalManager:
    return RetrievalManager.over(words, Joiner(), morpheus=morpheus)


def test_rewriter_before(manager: RetrievalManager, morpheus: Morpheus, words: Words) -> None:
    """A hook that sets result.query changes the searched query, and the result keeps the question."""

    def rewrite(result: RetrieveResult, query: str, *args: Any, rag2f: Any) -> None:
        result.query = query.replace("purple fruit", "plums")

    morpheus.on(RETRIEVE, rewrite, priority=5)
    result = manager.execute_retrieve("purple fruit", filter={"year": 2024})
    assert words.queries == [("plums", {"year": 2024})]
    assert result.query == "purple fruit"
    assert result.extra["searched_query"] == "plums"
    assert [item.id for item in result.items] == ["c"]


def test_reranker_after(manager: RetrievalManager, morpheus: Morpheus) -> None:
    """A hook of negative priority gets the built-in retriever's items, and its order stays."""

    def reverse(result: RetrieveResult, *args: Any, rag2f: Any) -> None:
        result.items = result.items[::-1]

    morpheus.on(RETRIEVE, reverse, priority=-1)
    assert [item.id for item in manager.execute_retrieve("apples").items] == ["b", "a"]


def test_retriever_instead(manager: RetrievalManager, morpheus: Morpheus, words: Words) -> None:
    """A hook that returns items, or an empty list, replaces the built-in retriever."""

    def mine(result: RetrieveResult, query: str, *args: Any, rag2f: Any) -> RetrieveResult:
        if query == "none":
            return RetrieveResult.fail(StatusDetail(code=StatusCode.NO_RESULTS))
        return RetrieveResult.success(items=[RetrievedItem(id="mine", text="my text")])

    morpheus.on(RETRIEVE, mine)
    assert [item.id for item in manager.execute_retrieve("apples").items] == ["mine"]
    nothing = manager.execute_retrieve("none")
    assert (nothing.is_error(), nothing.query) == (True, "none")
    assert words.queries == []


def test_builtins_can_be_removed(manager: RetrievalManager, morpheus: Morpheus, words: Words) -> None:
    """The built-in hooks are removed like those of a plugin named sleuth."""
    assert morpheus.remove(RETRIEVE, plugin="sleuth") == 1
    assert manager.execute_retrieve("apples").items == []
    assert words.queries == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda result: setattr(result, "items", ["junk"]), "of plugin 'wrong'"),
        (lambda result: result.items.append("junk"), "does not belong"),
    ],
)
def test_a_wrong_field_is_refused(
    manager: RetrievalManager, morpheus: Morpheus, change: Callable[[Any], None], says: str
) -> None:
    """A hook that sets a field to a wrong type, or puts one into it, raises an error that says so."""
    morpheus.on(RETRIEVE, lambda result, *args, rag2f: change(result), plugin="wrong", priority=-1)
    for ask in (manager.execute_retrieve, manager.execute_search):
        with pytest.raises(RetrievalError, match=says):
            ask("apples")


def test_an_error_without_a_reason_gets_one(manager: RetrievalManager, morpheus: Morpheus) -> None:
    morpheus.on(SYNTHESIZE, lambda result, *args, rag2f: setattr(result, "status", "error"))
    result = manager.execute_search("apples")
    assert result.detail is not None
    assert "without saying why" in result.detail.message


def test_stream_gives_the_pieces_of_the_response(manager: RetrievalManager) -> None:
    """The pieces of a stream join to the response; its result, also without them, is that of execute_search."""
    stream, result = manager.stream_search("apples"), manager.execute_search("apples")
    assert list(stream) == ["red apples. ", "green apples. "]
    assert (result.response, result.used_source_ids) == ("red apples. green apples. ", ["a", "b"])
    assert stream.result == manager.stream_search("apples").result == result


def test_stream_of_a_synthesizer_that_does_not_stream(manager: RetrievalManager, morpheus: Morpheus) -> None:
    """The response of an earlier hook is kept; one that no hook streamed is one piece."""
    morpheus.on(SYNTHESIZE, lambda result, *a, rag2f: setattr(result, "response", "whole"))
    assert list(manager.stream_search("apples")) == [manager.execute_search("apples").response] == ["whole"]


def test_stream_of_an_error_result(manager: RetrievalManager) -> None:
    """An error result has no pieces and a reason."""
    stream = manager.stream_search(" ")
    assert list(stream) == []
    assert stream.result.detail is not None
    assert stream.result.detail.code == StatusCode.EMPTY


def test_stream_raises_in_its_reader(manager: RetrievalManager, morpheus: Morpheus) -> None:
    """An exception of the writing thread is raised in the reader of the stream, and again by its result."""

    def fail(*args: Any, rag2f: Any) -> None:
        raise OSError("disk on fire")

    morpheus.on(SYNTHESIZE, fail, priority=9)
    stream = manager.stream_search("apples")
    for read in (list, lambda stream: stream.result, lambda stream: stream.result):
        with pytest.raises(RetrievalError, match="disk on fire"):
            read(stream)


def test_closing_a_stream_ends_its_thread(manager: RetrievalManager, morpheus: Morpheus) -> None:
    """An endless synthesizer stops once its reader closes the stream."""

    def endless(
        result: SearchResult, retrieved: RetrieveResult, mode: Any, kwargs: dict[str, Any], *, rag2f: Any
    ) -> None:
        while True:
            kwargs["on_text"]("more ")

    morpheus.on(SYNTHESIZE, endless)
    with manager.stream_search("apples") as stream:
        assert next(stream) == "more "
    wait_until(lambda: not THREADS.running)
    assert list(stream) == []


def test_async_stream(manager: RetrievalManager) -> None:
    """`async for` over a stream yields the same pieces, and leaving it early ends the thread."""

    async def read() -> tuple[list[str], str]:
        stream = manager.stream_search("apples")
        pieces = [piece async for piece in stream]
        return pieces, await anext(aiter(manager.astream_search("apples")))

    assert asyncio.run(read()) == (["red apples. ", "green apples. "], "red apples. ")
    wait_until(lambda: not THREADS.running)
