"""OpenAI's own client asks for models, completions, responses, vector stores and their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from sleuth.plugins.vendors.chat import annotations_of
from sleuth.results import SearchResult
from sleuth.testing.ollama import OllamaServer
from tests.surfaces.http.conftest import make_index, rewriting, serving

QUESTION = "How often are tokens refilled?"
MESSAGES: Any = [{"role": "user", "content": QUESTION}]


@contextmanager
def client_of(index: Path, **settings: Any) -> Iterator[openai.OpenAI]:
    with (
        serving(make_index(index), **settings) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as opened,
    ):
        yield opened


@pytest.fixture
def client(tmp_path: Path) -> Iterator[openai.OpenAI]:
    """The client of a server without a model."""
    with client_of(tmp_path / ".sleuth") as opened:
        yield opened


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    """A model that rewrites questions, and answers with two citations of which one has no source."""
    with OllamaServer(reply=rewriting(QUESTION, "Every second [1]. See also [9].")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def writer(tmp_path: Path, ollama: OllamaServer) -> Iterator[openai.OpenAI]:
    """The client of a server with a model."""
    with client_of(tmp_path / ".sleuth", model="llama3.1") as opened:
        yield opened


def test_one_model_is_listed(client: openai.OpenAI) -> None:
    """The list has one model, which can be retrieved; another one is a 404."""
    assert [model.id for model in client.models.list()] == ["sleuth"]
    assert client.models.retrieve("sleuth").owned_by == "sleuth"
    with pytest.raises(openai.NotFoundError, match="the model must be 'sleuth'"):
        client.models.retrieve("other")


def test_the_index_is_a_vector_store_with_files(client: openai.OpenAI) -> None:
    """The store counts its documents, lists them in pages, and deletes one."""
    (store,) = client.vector_stores.list()
    assert (store.id, store.file_counts.completed) == ("sleuth", 3)
    assert client.vector_stores.retrieve("sleuth").name == "sleuth"
    files = [file.id for file in client.vector_stores.files.list("sleuth", limit=2)]
    assert files == ["bucket.md", "cats.md", "limits.md"]
    assert client.vector_stores.files.delete("cats.md", vector_store_id="sleuth").deleted
    assert client.vector_stores.retrieve("sleuth").file_counts.total == 2
    with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file or a document"):
        client.vector_stores.files.delete("cats.md", vector_store_id="sleuth")


@pytest.mark.parametrize(("name", "value"), [
    ("n", 2), ("tools", [{"type": "function", "function": {"name": "f"}}]),
    ("response_format", {"type": "json_object"}), ("max_tokens", 5), ("temperature", 0.5), ("stop", ["."]),
    ("stream_options", {"include_usage": True}),
    ("messages", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]),
])  # fmt: skip
def test_a_parameter_that_would_change_nothing_is_refused(
    client: openai.OpenAI, name: str, value: Any
) -> None:
    """The answer is a 422 that names the parameter."""
    options: Any = {"model": "sleuth", "messages": MESSAGES, name: value}
    with pytest.raises(openai.UnprocessableEntityError, match=name):
        client.chat.completions.create(**options)


def test_a_chat_says_how_many_tokens_it_took(client: openai.OpenAI) -> None:
    """Usage counts the conversation with its passages, and the answer; a stream says the same where it is asked to."""
    usage = client.chat.completions.create(model="sleuth", messages=MESSAGES, n=1).usage
    assert usage is not None
    assert 0 < usage.completion_tokens < usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    chunks = list(
        client.chat.completions.create(
            model="sleuth", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
    )
    assert (chunks[-1].usage, chunks[-1].choices) == (usage, [])


def test_a_chat_is_answered_with_citations(client: openai.OpenAI) -> None:
    """The answer is the message; sources and citations stand beside it."""
    chat = client.chat.completions.create(model="any", messages=MESSAGES)
    assert "Tokens are refilled every second." in (chat.choices[0].message.content or "")
    extra: Any = chat.model_extra
    assert extra["sources"][0]["source"] == "limits.md:1-1"
    assert extra["citations"][0]["number"] == 1
    assert extra["standalone_query"] is None
    annotation = (chat.choices[0].message.annotations or [])[0]
    assert annotation.type == "url_citation"
    citation = annotation.url_citation
    assert (chat.choices[0].message.content or "")[citation.start_index : citation.end_index] == "[1]"
    assert citation.title == "limits.md:1-1"
    assert citation.url == f"{client.base_url}".replace("/v1/", "/source?id=limits.md%230#cited")


def test_a_chat_is_streamed(writer: openai.OpenAI) -> None:
    """The chunks join to the answer; the last one has the sources, and the numbers that no source has."""
    chunks = list(writer.chat.completions.create(model="sleuth", messages=MESSAGES, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "Every second [1]. See also [9]."
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    last: Any = chunks[-1].choices[0].delta
    assert [each["url_citation"]["start_index"] for each in last.annotations] == [13]
    extra: Any = chunks[-1].model_extra
    assert extra["unknown_citations"] == [9]
    assert extra["sources"][0]["number"] == 1


def test_a_question_that_follows_others_is_asked_alone(writer: openai.OpenAI, client: openai.OpenAI) -> None:
    """A model rewrites it; without one, the words of the question before it are added. Both are told."""
    messages: Any = [
        {"role": "user", "content": "What are tokens?"},
        {"role": "assistant", "content": "What a bucket holds [1]."},
        {"role": "user", "content": [{"type": "text", "text": "And how often refilled?"}]},
    ]
    extra: Any = writer.chat.completions.create(model="sleuth", messages=messages).model_extra
    assert extra["standalone_query"] == QUESTION
    plain: Any = client.chat.completions.create(model="sleuth", messages=messages).model_extra
    assert plain["standalone_query"] == "And how often refilled? What are tokens?"


def test_a_model_that_is_down_is_an_error_of_the_client(writer: openai.OpenAI, ollama: OllamaServer) -> None:
    """A whole answer is a 502 with the cause; a stream ends with an error that the client raises."""
    ollama.fail("late-error", always=True)
    with pytest.raises(openai.InternalServerError, match="an error was encountered"):
        writer.chat.completions.create(model="sleuth", messages=MESSAGES)
    with pytest.raises(openai.APIError, match="an error was encountered"):
        list(writer.chat.completions.create(model="sleuth", messages=MESSAGES, stream=True))
    ollama.fail("cut", always=True)  # the limit of its tokens ended the answer
    chat = writer.chat.completions.create(model="sleuth", messages=MESSAGES)
    assert chat.choices[0].finish_reason == "length"
    assert writer.responses.create(model="sleuth", input=QUESTION).status == "incomplete"


def test_a_response_searches_files(writer: openai.OpenAI) -> None:
    """The response has the search with its results, and the text with a citation of a file at its place."""
    response = writer.responses.create(
        model="sleuth",
        input=QUESTION,
        tools=[{"type": "file_search", "vector_store_ids": ["sleuth"], "max_num_results": 3}],
        include=["file_search_call.results"],
    )
    search, message = response.output
    assert search.type == "file_search_call"
    assert search.results is not None
    assert search.results[0].file_id == "limits.md"
    assert message.type == "message"
    assert response.output_text == "Every second [1]. See also [9]."
    content = message.content[0]
    assert content.type == "output_text"
    (annotation,) = content.annotations
    assert annotation.type == "file_citation"
    assert (annotation.file_id, annotation.index) == ("limits.md", 13)


def test_a_response_is_streamed(writer: openai.OpenAI, client: openai.OpenAI) -> None:
    """The client puts the events together to the response that it gets whole, with a model and without."""
    for each in (writer, client):
        options: Any = {"model": "sleuth", "input": QUESTION, "include": ["file_search_call.results"]}
        whole = each.responses.create(**options)
        with each.responses.stream(**options) as stream:
            events = list(stream)
            response = stream.get_final_response()
        names = [event.type for event in events]
        assert names[0] == "response.created"
        assert names[-1] == "response.completed"
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert text == response.output_text == whole.output_text
        assert [item.type for item in response.output] == ["file_search_call", "message"]
        assert response.output[0].results == whole.output[0].results  # type: ignore[union-attr]
        said: list[Any] = [each.output[1] for each in (response, whole)]
        assert said[0].content[0].annotations == said[1].content[0].annotations
        extra: Any = response.model_extra
        assert extra["sources"][0]["number"] == 1
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_a_streamed_response_of_a_model_that_is_down_ends_with_an_error(
    writer: openai.OpenAI, ollama: OllamaServer
) -> None:
    ollama.fail("late-error", always=True)
    events = list(writer.responses.create(model="sleuth", input=QUESTION, stream=True))
    assert events[-1].type == "error"
    assert "an error was encountered" in events[-1].message


def test_several_numbers_in_one_citation_are_annotations_each() -> None:
    """ "[1, 2]" and "[1-2]" cite two files each, at the place of the bracket."""
    sources = [{"number": number, "ids": [f"{name}#0"]} for number, name in ((1, "a.md"), (2, "b.md"))]
    result = SearchResult(response="So it is [1, 2]. And [1-2].", extra={"sources": sources})
    places = [(each["file_id"], each["index"]) for each in annotations_of(result)]
    assert places == [("a.md", 9), ("b.md", 9), ("a.md", 21), ("b.md", 21)]
