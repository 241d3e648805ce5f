"""Document 000, the retrieval manager: its own examples, with nothing changed but the imports."""

# mypy: disable-error-code="no-untyped-def,type-arg,union-attr,str-format,no-any-return"
# The document's examples are untyped, and stand here as they are written.

import asyncio
from collections.abc import Mapping
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from sleuth.errors import RetrievalError
from sleuth.hooks import Morpheus, hook
from sleuth.manager import IndianaJones, install_builtins
from sleuth.results import (
    BaseResult,
    RetrievedItem,
    RetrieveResult,
    ReturnMode,
    SearchResult,
    StatusCode,
    StatusDetail,
)
from sleuth.types import PartReport, Ranking
from tests.retrievers import Fixed


def test_indiana_retrieve() -> None:
    """The document's own test with a mocked host passes as written."""
    mock_rag2f = MagicMock()

    def mock_hook(hook_name, result, *args, **kw):
        if hook_name == "indiana_jones_retrieve":
            return RetrieveResult.success(
                query=args[0], items=[RetrievedItem(id="doc1", text="Hello world", score=0.95)]
            )
        return result

    mock_rag2f.morpheus.execute_hook.side_effect = mock_hook

    indiana = IndianaJones(rag2f_instance=mock_rag2f)
    result = indiana.execute_retrieve("test query", k=5)

    assert result.is_ok()
    assert len(result.items) == 1
    assert result.items[0].id == "doc1"


def test_indiana_empty_query() -> None:
    """The document's own test of an empty query passes as written."""
    indiana = IndianaJones()
    result = indiana.execute_retrieve("")

    assert result.is_error()
    assert result.detail.code == "empty"


class Host:
    """A host of hooks over two passages, with the document's two hooks."""

    def __init__(self) -> None:
        self.morpheus = Morpheus()
        self.indiana_jones = IndianaJones(self)
        self.seen: list[tuple[Any, ...]] = []


class MyVectorDb:
    """The document's `my_vector_db`."""

    def search(self, query: str, k: int) -> list[RetrievedItem]:
        return [
            RetrievedItem(id=f"d{i}", text=f"Passage {i} about {query}", score=1 / (i + 1)) for i in range(k)
        ]


class MyLlm:
    """The document's `my_llm`."""

    def generate(self, prompt: str) -> str:
        return prompt


@pytest.fixture
def rag2f() -> Host:
    host = Host()
    my_vector_db = MyVectorDb()
    my_llm = MyLlm()

    @hook("indiana_jones_retrieve", priority=10)
    def my_retriever(
        result: RetrieveResult, query: str, k: int, return_mode: ReturnMode, for_synthesize: bool, *, rag2f
    ):
        """Perform retrieval from vector store."""
        # Optionally adjust behavior based on for_synthesize
        effective_k = k * 2 if for_synthesize else k  # Over-fetch for synthesis

        items = my_vector_db.search(query, effective_k)

        return RetrieveResult.success(
            query=query, items=[RetrievedItem(id=i.id, text=i.text, score=i.score) for i in items[:k]]
        )

    @hook("indiana_jones_synthesize", priority=10)
    def my_synthesizer(
        result: SearchResult, retrieve_result: RetrieveResult, return_mode: ReturnMode, kwargs: dict, *, rag2f
    ):
        """Synthesize response from retrieved items."""
        items = retrieve_result.items
        context = "\n".join(i.text for i in items)

        response = my_llm.generate(f"Answer based on:\n{context}\n\nQuestion: {result.query}")

        result.response = response
        result.used_source_ids = [i.id for i in items]
        return result

    host.morpheus.add(my_retriever, my_synthesizer)
    return host


def test_basic_retrieval(rag2f: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """The document's first usage example prints score and text of each item."""
    result = rag2f.indiana_jones.execute_retrieve("How does authentication work?", k=5)

    if result.is_ok():
        for item in result.items:
            print(f"[{item.score:.2f}] {item.text[:100]}...")
    else:
        print(f"Error: {result.detail.message}")

    assert capsys.readouterr().out.startswith(
        "[1.00] Passage 0 about How does authentication work?...\n[0.50]"
    )


def test_search_with_answer(rag2f: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """The document's search example prints the answer, its sources and the chunks."""
    result = rag2f.indiana_jones.execute_search(
        "What are the security best practices?", k=10, return_mode=ReturnMode.WITH_ITEMS
    )

    if result.is_ok():
        print(f"Answer: {result.response}")
        print(f"Sources: {result.used_source_ids}")

        if result.items:
            print("\nRetrieved chunks:")
            for item in result.items:
                print(f"  - {item.id}: {item.text[:50]}...")

    out = capsys.readouterr().out
    assert "Question: What are the security best practices?" in out
    assert "Sources: ['d0', 'd1'" in out
    assert "  - d9: Passage 9 about" in out


def test_error_handling(rag2f: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """The document's match on status codes takes the branch of the empty query."""
    result = rag2f.indiana_jones.execute_retrieve("")

    if result.is_error():
        match result.detail.code:
            case "empty":
                print("Please provide a query")
            case "no_results":
                print("No relevant documents found")

    assert capsys.readouterr().out == "Please provide a query\n"


def test_return_modes(rag2f: Host) -> None:
    """Minimal omits the items of a search, with_items returns them, and a retrieval always does."""
    indiana, query = rag2f.indiana_jones, "anything"
    assert indiana.execute_search(query, return_mode=ReturnMode.MINIMAL).items is None
    assert indiana.execute_search(query).items is None
    assert len(indiana.execute_search(query, return_mode=ReturnMode.WITH_ITEMS).items or []) == 10
    assert len(indiana.execute_retrieve(query).items) == 10
    assert len(indiana.execute_search(query, return_mode="with_items").items or []) == 10


def test_retrieval_error(rag2f: Host) -> None:
    """A backend that fails raises RetrievalError with query, k, hook and plugin, whose cause is its exception."""

    def crash(result: RetrieveResult, *args: Any, rag2f: Any) -> None:
        raise ConnectionResetError("backend gone")

    rag2f.morpheus.on("indiana_jones_retrieve", crash, priority=99, plugin="crasher")
    with pytest.raises(RetrievalError) as caught:
        rag2f.indiana_jones.execute_retrieve("why?", k=3)
    e = caught.value
    assert "backend gone" in str(e)
    assert e.context["query"] == "why?"
    assert e.context["k"] == 3
    assert (e.context["hook"], e.context["plugin"]) == ("indiana_jones_retrieve", "crasher")
    assert isinstance(e.__cause__, ConnectionResetError)


def test_result_models() -> None:
    """The fields of results equal those of the document, unknown ones are refused, and each has to_dict."""
    assert {"id", "text", "metadata", "score", "extra"} == set(RetrievedItem.model_fields)
    base = set(BaseResult.model_fields)
    assert base == {"status", "detail"}
    assert set(RetrieveResult.model_fields) - base == {"query", "items", "extra"}
    assert set(SearchResult.model_fields) - base == {"query", "response", "used_source_ids", "items", "extra"}
    for model in (RetrieveResult, SearchResult, RetrievedItem, StatusDetail):
        with pytest.raises(ValueError, match="unknown"):
            model.model_validate({"id": "a", "text": "b", "code": "c", "unknown": 1})
    result = RetrieveResult.success(query="q", items=[RetrievedItem(id="a", text="b")])
    assert result.to_dict()["items"] == [{"id": "a", "text": "b", "metadata": {}, "score": None, "extra": {}}]
    assert isinstance(result.items[0].metadata, Mapping)
    assert SearchResult.success(query="q").to_dict()["items"] is None


def test_status_codes() -> None:
    """The codes are strings with the document's values, and an error keeps the query."""
    codes = (StatusCode.EMPTY, StatusCode.NO_RESULTS, StatusCode.DEGRADED)
    assert codes == ("empty", "no_results", "degraded")
    failed = SearchResult.fail(StatusDetail(code=StatusCode.INVALID, message="m"), query="q")
    assert failed.is_error()
    assert not failed.is_ok()
    assert failed.query == "q"
    assert failed.to_dict()["detail"] == {"code": "invalid", "message": "m", "context": {}}


@pytest.mark.parametrize(
    ("query", "k", "code"),
    [
        *((query, 3, StatusCode.EMPTY) for query in ("", "  \n\t ", None)),
        *(("q", k, StatusCode.INVALID) for k in (0, -1, 2.5, "3", None, True)),
    ],
)
def test_what_cannot_be_searched(rag2f: Host, query: Any, k: Any, code: StatusCode) -> None:
    """An empty query is EMPTY; a k below 1, or not an int, is INVALID and named. The result has the query."""
    indiana = rag2f.indiana_jones
    for result in (indiana.execute_retrieve(query, k), indiana.execute_search(query, k)):
        assert isinstance(result, RetrieveResult | SearchResult)
        assert result.is_error()
        assert result.detail.code == code
        assert code == StatusCode.EMPTY or repr(k) in result.detail.message
        assert result.query == (query or "")


@pytest.mark.parametrize("mode", ["everything", ["minimal"]])
def test_invalid_return_mode(rag2f: Host, mode: Any) -> None:
    """An unknown return mode, also one of another type, is INVALID."""
    result = rag2f.indiana_jones.execute_search("q", return_mode=mode)
    assert result.detail.code == StatusCode.INVALID


def test_more_items_than_k_are_cut() -> None:
    """A hook that returns more than k items does not make the result longer than k."""
    host = Host()

    def many(result: RetrieveResult, query: str, k: int, *args: Any, rag2f: Any) -> RetrieveResult:
        items = [RetrievedItem(id=str(i), text="t") for i in range(k + 7)]
        return RetrieveResult.success(query=query, items=items)

    host.morpheus.on("indiana_jones_retrieve", many)
    assert [item.id for item in host.indiana_jones.execute_retrieve("q", 3).items] == ["0", "1", "2"]


def test_no_hooks_find_nothing() -> None:
    """Without hooks the result is a success without items, with and without a host."""
    for manager in (IndianaJones(), Host().indiana_jones):
        result = manager.execute_retrieve("q")
        assert result.is_ok()
        assert result.items == []
        assert manager.execute_search("q").is_ok()


def host_over(ranking: Ranking) -> Host:
    host = Host()
    install_builtins(host.morpheus, Fixed(*ranking.items, parts=ranking.parts))
    return host


def test_nothing_found() -> None:
    """If the built-in retriever has no hits, the result is an error with NO_RESULTS, also for a search."""
    indiana = host_over(Ranking([])).indiana_jones
    for result in (indiana.execute_retrieve("q"), indiana.execute_search("q")):
        assert result.is_error()
        assert result.detail.code == "no_results"
        assert result.query == "q"


def test_degraded() -> None:
    """If one leg fails and others answer, the result is a success with the code degraded and the failed part in the
    context.
    """
    item = RetrievedItem(id="a", text="b", score=1.0)
    ranking = Ranking([item], [PartReport("lexical"), PartReport("dense", status="failed", error="no model")])
    indiana = host_over(ranking).indiana_jones
    for result in (indiana.execute_retrieve("q"), indiana.execute_search("q")):
        assert result.is_ok()
        assert result.detail.code == "degraded"
        assert [part["name"] for part in result.detail.context["failed"]] == ["dense"]
        assert "dense" in result.detail.message


def test_wrong_type_raises(rag2f: Host) -> None:
    """A hook that returns another type raises a RetrievalError that names it."""
    rag2f.morpheus.on("indiana_jones_retrieve", lambda *a, rag2f: ["a list"], plugin="odd")
    with pytest.raises(RetrievalError, match="must return RetrieveResult or None, got") as caught:
        rag2f.indiana_jones.execute_retrieve("q")
    assert caught.value.context["plugin"] == "odd"


def test_foreign_host_failures_keep_context() -> None:
    """A host whose hook runner raises, or returns another type, raises a RetrievalError with query and k."""
    host = MagicMock()
    host.morpheus.execute_hook.side_effect = TimeoutError("slow")
    with pytest.raises(RetrievalError, match="slow") as caught:
        IndianaJones(host).execute_retrieve("q", 4)
    assert (caught.value.context["query"], caught.value.context["k"]) == ("q", 4)
    with pytest.raises(RetrievalError, match="must give RetrieveResult"):
        IndianaJones(MagicMock()).execute_retrieve("q")
    host.morpheus.execute_hook.side_effect = RetrievalError("backend gone", context={"shard": 3})
    with pytest.raises(RetrievalError) as caught:
        IndianaJones(host).execute_retrieve("q", 4)
    assert caught.value.context == {
        "query": "q", "k": 4, "hook": "indiana_jones_retrieve", "plugin": "", "shard": 3,
    }  # fmt: skip


def test_hook_arguments() -> None:
    """Hooks get result, query, k, mode and flag in the document's order, and for_synthesize from a search."""
    host = Host()

    def watch(*args: Any, rag2f: Any) -> None:
        host.seen.append((*args, rag2f))

    host.morpheus.on("indiana_jones_retrieve", watch)
    host.morpheus.on("indiana_jones_synthesize", watch)
    host.indiana_jones.execute_retrieve("q", 3, return_mode="minimal")
    host.indiana_jones.execute_search("q", 4, colour="red")
    alone, first, second = host.seen
    assert alone[1:] == ("q", 3, ReturnMode.MINIMAL, False, host)
    assert first[1:] == ("q", 4, ReturnMode.WITH_ITEMS, True, host)
    result, retrieved, mode, kwargs, rag2f = second
    assert isinstance(result, SearchResult)
    assert isinstance(retrieved, RetrieveResult)
    assert (mode, kwargs, rag2f) == (ReturnMode.MINIMAL, {"colour": "red"}, host)


def test_with_items_includes_what_was_retrieved() -> None:
    """If a synthesize hook returns its own result, the retrieved chunks and context are added to it."""
    item = RetrievedItem(id="a", text="b", score=1.0)
    ranking = Ranking([item], [PartReport("lexical"), PartReport("dense", status="failed", error="no model")])
    host = host_over(ranking)

    def fresh(result: SearchResult, *args: Any, rag2f: Any) -> SearchResult:
        return SearchResult.success(query=result.query, response="r", used_source_ids=["a"])

    host.morpheus.on("indiana_jones_synthesize", fresh)
    result = host.indiana_jones.execute_search("q", return_mode=ReturnMode.WITH_ITEMS)
    assert (result.response, result.used_source_ids, result.items) == ("r", ["a"], [item])
    assert result.detail.code == StatusCode.DEGRADED
    assert host.indiana_jones.execute_search("q").items is None


def test_items_that_a_hook_adds_in_place_are_items(rag2f: Host) -> None:
    """Items that a hook adds to a result in place count like assigned ones."""

    def add(result: RetrieveResult, *args: Any, rag2f: Any) -> None:
        result.items.insert(0, {"id": "z", "text": "added"})  # type: ignore[arg-type]

    rag2f.morpheus.on("indiana_jones_retrieve", add, priority=1)
    assert rag2f.indiana_jones.execute_retrieve("q", 2).items[0] == RetrievedItem(id="z", text="added")
    assert rag2f.indiana_jones.execute_search("q", 2).used_source_ids == ["z", "d0"]


def test_used_source_ids_were_retrieved(rag2f: Host) -> None:
    """Ids that were not retrieved are not in used_source_ids, but in extra."""

    def invent(result: SearchResult, retrieved: RetrieveResult, *args: Any, rag2f: Any) -> None:
        result.used_source_ids = ["d1", "made up", "d1", "d0"]
        retrieved.items.clear()  # what a hook makes of the list afterwards changes nothing

    rag2f.morpheus.on("indiana_jones_synthesize", invent, priority=-5)
    result = rag2f.indiana_jones.execute_search("q")
    assert result.used_source_ids == ["d1", "d0"]
    assert result.extra["unknown_source_ids"] == ["made up"]


def test_a_search_retrieves_by_execute_retrieve(rag2f: Host) -> None:
    """A search calls the `execute_retrieve` of its class, also one that replaces ours."""
    result = RetrieveResult.success(query="q", items=[RetrievedItem(id="z", text="t")])
    with patch.object(IndianaJones, "execute_retrieve", return_value=result) as retrieve:
        assert rag2f.indiana_jones.execute_search("q", 3).used_source_ids == ["z"]
    retrieve.assert_called_once_with("q", 3, for_synthesize=True)


def test_async_twins(rag2f: Host) -> None:
    """Each call has an async twin with the same result."""

    async def both() -> tuple[RetrieveResult, SearchResult, list[str]]:
        manager = rag2f.indiana_jones
        pieces = [piece async for piece in manager.astream_search("q", 3)]
        return await manager.aexecute_retrieve("q", 3), await manager.aexecute_search("q", 3), pieces

    retrieved, searched, pieces = asyncio.run(both())
    assert retrieved == rag2f.indiana_jones.execute_retrieve("q", 3)
    assert searched == rag2f.indiana_jones.execute_search("q", 3)
    assert "".join(pieces) == searched.response
