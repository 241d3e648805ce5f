"""Answers as clients of OpenAI's API ask for them: models, chat completions, and responses with file search."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from sleuth.answer import CitationMark, citation_marks
from sleuth.errors import ArgumentError
from sleuth.filters import all_of, any_of
from sleuth.plugins.vendors.vector_stores import (
    ComparisonFilter,
    CompoundFilter,
    file_of,
    file_values,
    scope_of,
)
from sleuth.results import SearchResult
from sleuth.surfaces.http import (
    MISSING,
    AnswerEvent,
    AskBody,
    CurrentCall,
    JsonRouter,
    Refusal,
    Strict,
    TurnBody,
    Writing,
    json_response,
    passage_url,
    problem,
    sent_event,
)
from sleuth.types import document_of

router = JsonRouter("OpenAI", answers={"/v1/chat/completions", "/v1/responses"})

MODEL = "sleuth"
"""The model that clients name; what writes is chosen by the server."""


_MODEL = {"id": MODEL, "object": "model", "created": 0, "owned_by": "sleuth"}


@router.get("/v1/models")
def models(call: CurrentCall) -> dict[str, Any]:
    """Return the one model that answers from the index."""
    return {"object": "list", "data": [_MODEL]}


@router.get("/v1/models/{model}", responses=MISSING)
def model(model: str, call: CurrentCall) -> dict[str, Any]:
    """Return the model of a name."""
    if model != MODEL:
        raise Refusal(404, "UnknownModelError", f"the model must be {MODEL!r}, got {model!r}")
    return _MODEL


class TextPart(BaseModel):
    """A part of a message; parts without text are ignored."""

    type: str = Field(examples=["text"])
    text: str = Field(default="", max_length=100_000)


class Message(BaseModel):
    """A message of a conversation. Those of the system are refused: the rules of an answer are the server's own."""

    role: str = Field(
        default="",
        max_length=20,
        description="Who speaks: user or assistant. An item without it, as a search of an answer before, is ignored.",
        examples=["user"],
    )
    content: Annotated[str, Field(max_length=100_000)] | list[TextPart] | None = Field(
        default=None, examples=["How often are tokens refilled?"]
    )

    @property
    def text(self) -> str:
        """What the message says."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.text)


class StreamOptions(Strict):
    """What a stream holds beside the text."""

    include_usage: bool | None = Field(default=None, description="End with a chunk that has the usage.")


class TextFormat(Strict):
    """The form of an answer."""

    type: Literal["text"]


class ChatRequest(Strict):
    """A conversation, whose last question is answered. A parameter that would change nothing is refused by its name."""

    messages: list[Message] = Field(min_length=1, max_length=200)
    n: int | None = Field(default=None, ge=1, le=1, description="There is one answer.", examples=[1])
    response_format: TextFormat | None = Field(
        default=None, description="An answer is text.", examples=[{"type": "text"}]
    )
    stream_options: StreamOptions | None = Field(
        default=None, description="Only with `stream`.", examples=[{"include_usage": True}]
    )
    model: str = Field(
        default=MODEL, max_length=1000, description="Accepted; the server chooses what writes."
    )
    stream: bool | None = Field(default=None, description="Answer in chunks, as server-sent events.")


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; as a stream, the events of OpenAI's API.",
        "content": {"text/event-stream": {}},
    }
}


@router.post("/v1/chat/completions", responses=MISSING | _STREAM)
async def chat_completions(body: ChatRequest, request: Request, call: CurrentCall) -> Response:
    """Answer the last question of a conversation from the passages that are found for it, with citations."""
    call.require("read")
    if body.stream_options is not None and not body.stream:
        raise ArgumentError("stream_options must be left out without stream")
    writing = Writing(_asked(body.messages, passages=True), call)
    base = str(request.base_url)
    head = {"id": f"chatcmpl-{call.id}", "created": int(time.time()), "model": body.model}
    if not body.stream:
        result = await writing.whole(request)
        annotations = url_citations(result, base)
        message = {
            "role": "assistant",
            "content": _text_of(result),
            "refusal": None,
            "annotations": annotations,
        }
        choice = {"index": 0, "message": message, "finish_reason": _reason(result), "logprobs": None}
        completion = {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(body, result)}
        return json_response({**completion, **_said(writing, result)})
    head["object"] = "chat.completion.chunk"

    def chunk(delta: dict[str, Any], reason: str | None = None, **said: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return b"data: " + to_json({**head, **said, "choices": [choice]}, fallback=str) + b"\n\n"

    async def chunks(before: AsyncIterator[AnswerEvent]) -> AsyncIterator[bytes]:
        """Yield the chunks of an answer; the last one with a choice has its sources and citations."""
        role = {"role": "assistant"}
        async for event in before:
            if event.name == "text":
                yield chunk({**role, "content": event.value})
                role = {}
        result = await writing.result
        if role:
            yield chunk({**role, "content": _text_of(result)})
        yield chunk({"annotations": url_citations(result, base)}, _reason(result), **_said(writing, result))
        if body.stream_options is not None and body.stream_options.include_usage:
            yield b"data: " + to_json({**head, "choices": [], "usage": _usage(body, result)}) + b"\n\n"
        yield b"data: [DONE]\n\n"

    def failure(refusal: Refusal) -> bytes:
        return b'data: {"error":' + bytes(problem(refusal, call.id).body) + b"}\n\n"

    return await writing.stream(chunks, failure)


def _reason(result: SearchResult) -> str:
    """Return why an answer ended."""
    return "length" if result.extra.get("is_cut") else "stop"


def _usage(body: ChatRequest, result: SearchResult) -> dict[str, int]:
    """Return the tokens of the conversation with the passages, and of the answer, as `count_tokens` has them."""
    from sleuth.text import count_tokens

    texts = [message.text for message in body.messages] + [item.text for item in result.items or ()]
    prompt, completion = sum(map(count_tokens, texts)), count_tokens(_text_of(result))
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _asked(messages: Sequence[Message], **options: Any) -> AskBody:
    """Return the last question of a conversation, with the turns before it.

    Raises:
        ArgumentError: the last message is not a question of the user, or one is neither the user's nor an answer.
    """
    for number, message in enumerate(messages):
        if message.role not in ("", "user", "assistant"):
            raise ArgumentError(
                f"messages[{number}].role must be user or assistant, since the rules of an answer are the server's "
                f"own, got {message.role!r}"
            )
    talk = [message for message in messages if message.role in ("user", "assistant") and message.text.strip()]
    if not talk or talk[-1].role != "user":
        raise ArgumentError("the last message must be the user's, with text")
    turns: list[TurnBody] = []
    for message in talk[:-1]:
        if message.role == "user":
            turns.append(TurnBody(question=message.text[:10_000]))
        elif turns:
            turns[-1] = TurnBody(question=turns[-1].question, answer=message.text)
    return AskBody(query=talk[-1].text, history=turns[-50:], **options)


def _text_of(result: SearchResult) -> str:
    """Return the answer, or the reason of the failure."""
    return result.response or (result.detail.message if result.detail else "")


def _said(writing: Writing, result: SearchResult) -> dict[str, Any]:
    """Return what is said of an answer beside its text."""
    values = writing.values(result)
    facts = ("sources", "citations", "unknown_citations", "degraded", "notes", "standalone_query", "detail")
    return {name: values[name] for name in facts}


class FileSearch(Strict):
    """The tool that searches the index."""

    type: Literal["file_search"]
    vector_store_ids: list[str] = Field(min_length=1, max_length=10)
    filters: ComparisonFilter | CompoundFilter | None = None
    max_num_results: int = Field(default=10, ge=1, le=50)


class ResponsesRequest(Strict):
    """A question, or a conversation, that is answered from the index. Other parameters are refused by name."""

    input: (
        Annotated[str, Field(max_length=100_000)]
        | Annotated[list[Message], Field(min_length=1, max_length=200)]
    )
    model: str = Field(
        default=MODEL, max_length=1000, description="Accepted; the server chooses what writes."
    )
    tools: list[FileSearch] = Field(default=[], max_length=1)
    include: list[str] | None = Field(default=None, max_length=20, examples=[["file_search_call.results"]])
    stream: bool | None = Field(default=None, description="Answer in server-sent events.")
    previous_response_id: str | None = Field(
        default=None,
        max_length=1000,
        description="Refused, since no response is kept: send the conversation as `input`.",
    )
    conversation: str | dict[str, Any] | None = Field(
        default=None, description="Refused, as `previous_response_id`."
    )


@router.post("/v1/responses", responses=MISSING | _STREAM)
async def responses(body: ResponsesRequest, request: Request, call: CurrentCall) -> Response:
    """Answer from the passages that file search finds; citations are annotations of the text."""
    call.require("read")
    for name in ("previous_response_id", "conversation"):
        if getattr(body, name) is not None:
            raise ArgumentError(
                f"{name} must be left out, since this server keeps no responses: send the conversation as `input`, "
                "a list of its messages with the new question last"
            )
    tool = (
        body.tools[0] if body.tools else FileSearch(type="file_search", vector_store_ids=[call.service.name])
    )
    scopes = [scope_of(store, call) for store in tool.vector_store_ids]
    scope = None if None in scopes else any_of(*(part for part in scopes if part is not None))
    messages = [Message(role="user", content=body.input)] if isinstance(body.input, str) else body.input
    tree = all_of(scope, tool.filters.tree() if tool.filters else None)
    question = _asked(messages, k=tool.max_num_results, filter=tree, sources=["docs"], passages=True)
    writing = Writing(question, call)
    if not body.stream:
        result = await writing.whole(request)
        return json_response(
            _response(body, writing, _outputs(body, writing, question.query, result), result)
        )
    numbers = count()

    def say(name: str, **values: Any) -> bytes:
        return sent_event(name, {"type": name, "sequence_number": next(numbers), **values})

    async def events(before: AsyncIterator[AnswerEvent]) -> AsyncIterator[bytes]:
        """Yield the events of a response: the search, the text in pieces, its annotations, and the whole."""
        yield say("response.created", response=_response(body, writing, [], None))
        search, message = _outputs(body, writing, question.query, None)
        in_search = {"item_id": search["id"], "output_index": 0}
        place = {"item_id": message["id"], "output_index": 1, "content_index": 0}
        yield say("response.output_item.added", output_index=0, item=search)
        yield say("response.file_search_call.in_progress", **in_search)
        yield say("response.file_search_call.searching", **in_search)
        yield say("response.output_item.added", output_index=1, item=message)
        yield say("response.content_part.added", **place, part=_text_part("", []))
        has_text = False
        async for event in before:
            if event.name == "text":
                has_text = True
                yield say("response.output_text.delta", **place, delta=event.value, logprobs=[])
        result = await writing.result
        search, message = _outputs(body, writing, question.query, result)
        (part,) = message["content"]
        if not has_text:
            yield say("response.output_text.delta", **place, delta=part["text"], logprobs=[])
        yield say("response.file_search_call.completed", **in_search)
        yield say("response.output_item.done", output_index=0, item=search)
        for number, annotation in enumerate(part["annotations"]):
            yield say(
                "response.output_text.annotation.added",
                **place,
                annotation_index=number,
                annotation=annotation,
            )
        yield say("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield say("response.content_part.done", **place, part=part)
        yield say("response.output_item.done", output_index=1, item=message)
        response = _response(body, writing, [search, message], result)
        yield say(f"response.{response['status']}", response=response)

    def failure(refusal: Refusal) -> bytes:
        return say("error", code=refusal.code, message=str(refusal.detail), param=None)

    return await writing.stream(events, failure)


def _response(
    body: ResponsesRequest,
    writing: Writing,
    output: list[dict[str, Any]],
    result: SearchResult | None,
) -> dict[str, Any]:
    """Return a response with its outputs; it is in progress until it has a result."""
    is_cut = result is not None and result.extra.get("is_cut", False)
    return {
        "id": f"resp_{writing.call.id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress" if result is None else "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "model": body.model,
        "output": output,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [tool.model_dump(exclude_none=True) for tool in body.tools],
        **({} if result is None else _said(writing, result)),
    }


def _outputs(
    body: ResponsesRequest, writing: Writing, query: str, result: SearchResult | None
) -> list[dict[str, Any]]:
    """Return the search and the message of a response; both are in progress until there is a result."""
    id, status = writing.call.id, "in_progress" if result is None else "completed"
    search: dict[str, Any] = {"id": f"fs_{id}", "type": "file_search_call", "status": status}
    search |= {"queries": [writing.standalone or query], "results": None}
    if result is not None and "file_search_call.results" in (body.include or ()):
        search["results"] = [
            {**file_values(item), "score": item.score, "text": item.text} for item in result.items or ()
        ]
    content = [] if result is None else [_text_part(_text_of(result), annotations_of(result))]
    message = {"id": f"msg_{id}", "type": "message", "role": "assistant", "status": status}
    return [search, {**message, "content": content}]


def _text_part(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations}


def annotations_of(result: SearchResult) -> list[dict[str, Any]]:
    """Return the citations of an answer as those of files, each at the place of its number in the text."""
    annotations = []
    for mark, source, metadata in _cited_sources(result):
        file = file_of(document_of(source["ids"][0]), metadata)
        place = {"file_id": file.id, "filename": file.name, "index": mark.start}
        annotations.append({"type": "file_citation", **place})
    return annotations


def url_citations(result: SearchResult, base: str) -> list[dict[str, Any]]:
    """Return the citations of an answer as those of web pages, with the place of their numbers in the text.

    Args:
        base: address of this server, whose page shows passages that are on no web page.
    """
    citations = []
    for mark, source, metadata in _cited_sources(result):
        url = passage_url(base, source["ids"][0], metadata)
        page = {"title": source["title"] or source["source"], "url": url}
        citation = {"start_index": mark.start, "end_index": mark.end, **page}
        citations.append({"type": "url_citation", "url_citation": citation})
    return citations


def _cited_sources(result: SearchResult) -> Iterator[tuple[CitationMark, dict[str, Any], Mapping[str, Any]]]:
    """Yield each citation in the text of an answer with each source that it names, and the metadata of its passage."""
    metadata = {item.id: item.metadata for item in result.items or ()}
    sources = {source["number"]: source for source in result.extra.get("sources", ())}
    for mark in citation_marks(result.response, is_quoted=result.extra.get("synthesizer") == "extractive"):
        for number in mark.numbers:
            if source := sources.get(number):
                yield mark, source, metadata.get(source["ids"][0], {})
