"""POST /v1/ask: an answer that cites its sources, whole or as a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from sleuth.arguments import MOST_QUERY
from sleuth.engine import SearchRequest
from sleuth.errors import SleuthError
from sleuth.results import Grade
from sleuth.surfaces.http.answers import MISSING, Refusal, json_response, problem
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall
from sleuth.types.explanations import HIDDEN_ERROR
from sleuth.types.request import Wire

if TYPE_CHECKING:
    from sleuth.manager.streaming import SearchStream
    from sleuth.results import SearchResult

router = JsonRouter("ask", answers={"/v1/ask"})


class TurnBody(BaseModel):
    """An earlier question of the conversation, with its answer where it is known."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=MOST_QUERY, examples=["How often are tokens refilled?"])
    answer: str = Field(default="", max_length=100_000, examples=["Every second [1]."])


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBody(SearchRequest):
    """A question."""

    passages: Annotated[bool, Field(description="Give the passages too.")] = False
    history: Annotated[
        Sequence[TurnBody],
        Wire(list[TurnBody]),
        Field(max_length=50, description="Earlier questions, the oldest first: `query` follows them."),
    ] = ()
    stream: Annotated[
        bool, Field(description="Answer by server-sent events: `sources`, `text` pieces, then `result`.")
    ] = False


class AskResponse(BaseModel):
    """An answer.

    Attributes:
        status: "error" without an answer, as for an empty question; `detail` says why.
        standalone_query: what was searched for a question that follows others; null where it is `query`.
        response: the answer; its citations are numbers in brackets, as [1].
        grade: how well it fits the question; null where a plugin wrote it, or for an error.
        synthesizer: "llm" or "extractive".
        is_cut: whether the model's limit of tokens ended the answer.
        sources: what was read, by number, with path, title and heading.
        citations: where `response` cites which source; without a model these are the quotes.
        unknown_citations: numbers that the model cites and no source has.
        unsupported: sentences without support in their citations.
        used_source_ids: ids of the passages that are cited.
        degraded: whether a part of the search did not answer; `detail` says which.
        notes: sentences for the author of the question.
        items: the passages, where they were asked for.
    """

    status: Literal["success", "error"]
    detail: dict[str, Any] | None
    query: str
    standalone_query: str | None
    response: str
    grade: Grade | None
    synthesizer: str | None
    is_cut: bool
    sources: list[dict[str, Any]]
    citations: list[dict[str, Any]]
    unknown_citations: list[int]
    unsupported: list[str]
    used_source_ids: list[str]
    degraded: bool
    notes: list[str]
    items: list[dict[str, Any]] | None


_EVENTS = {
    "description": "The answer. As a stream: an event `question` where the question was rewritten to stand alone, the "
    "numbered passages as an event `sources` where a model writes, events "
    "`text` with a piece of the answer each, then one `result`, or `error`.",
    "content": {"text/event-stream": {}},
}


@router.post("/v1/ask", response_model=AskResponse, responses=MISSING | {200: _EVENTS})
async def ask(body: AskBody, request: Request, call: CurrentCall) -> Response:
    """Answer a question from the passages that are found for it."""
    call.require("read")
    writing = Writing(body, call)
    if not body.stream:
        return json_response(writing.values(await writing.whole(request)))

    async def events(before: AsyncIterator[AnswerEvent]) -> AsyncIterator[bytes]:
        async for event in before:
            yield sent_event(event.name, {event.name: event.value})
        yield sent_event("result", writing.values(await writing.result))

    def failure(refusal: Refusal) -> bytes:
        return b"event: error\ndata: " + bytes(problem(refusal, call.id).body) + b"\n\n"

    return await writing.stream(events, failure)


NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}


EventName: TypeAlias = Literal["question", "sources", "text"]


class AnswerEvent(NamedTuple):
    """What a stream says before its result.

    Attributes:
        value: the question as it is searched, the numbered passages with their text, or a piece of the text.
    """

    name: EventName
    value: Any


class Writing:
    """An answer that is being written in a thread. Leaving it stops the model.

    Attributes:
        standalone: what is searched for a question that follows others; None where it is the question itself.
        result: the answer, after its last piece.
    """

    def __init__(self, body: AskBody, call: Call) -> None:
        self.call = call
        options = call.request(body).changed()
        del options["deadline"]  # of the search, which is shorter than that of the answer
        if body.deadline is not None:
            options["deadline"] = body.deadline
        self._answering = call.retriever(body.sources)
        self._options = options
        self._stream: SearchStream | None = None
        self.standalone: str | None = None
        self._events: asyncio.Queue[AnswerEvent | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self.result = asyncio.create_task(call.service.answers.run(self._pump, body))
        self.result.add_done_callback(lambda _: self._events.put_nowait(None))

    def _pump(self, body: AskBody) -> SearchResult:
        """Read the stream in a thread of the queue."""
        from sleuth.answer.conversation import Turn

        turns = [Turn(turn.question, turn.answer) for turn in body.history]
        query = self._answering.standalone(body.query, turns) if turns else body.query
        if query != body.query:
            self.standalone = query
            self._say("question", query)
        self._stream = self._answering.stream_search(
            query,
            body.k,
            "with_items" if body.passages else "minimal",
            on_sources=partial(self._say, "sources"),
            **self._options,
        )
        with self._stream:
            for piece in self._stream:
                self._say("text", piece)
            return self._stream.result

    def _say(self, name: EventName, value: Any) -> None:
        """Hand an event to the event loop, from another thread."""
        self._loop.call_soon_threadsafe(self._events.put_nowait, AnswerEvent(name, value))

    async def next(self) -> AnswerEvent | None:
        """Return the next event, or None after the last.

        Raises:
            Refusal: too many wait, or the deadline passed.
            SleuthError: searching or writing failed.
        """
        try:
            event = await asyncio.wait_for(self._events.get(), self.call.remaining)
        except TimeoutError:
            self.close()
            raise Refusal(504, "DeadlineError", "the deadline of the request passed") from None
        except asyncio.CancelledError:
            self.close()
            raise
        if event is None:
            await self.result
        return event

    async def stream(
        self,
        events: Callable[[AsyncIterator[AnswerEvent]], AsyncIterator[bytes]],
        failure: Callable[[Refusal], bytes],
    ) -> Response:
        """Return the answer as a stream of server-sent events. A failure before the first one is a problem.

        Args:
            events: writes what a client reads, from the events before the result and the result.
            failure: writes that the answer cannot be finished.
        """
        first = await self.next()

        async def before() -> AsyncIterator[AnswerEvent]:
            event = first
            while event is not None:
                yield event
                event = await self.next()

        async def pieces() -> AsyncIterator[bytes]:
            try:
                async for piece in events(before()):
                    yield piece
            except (SleuthError, Refusal) as error:
                yield failure(self.call.refusal_of(error))
            finally:
                self.close()

        return StreamingResponse(pieces(), media_type="text/event-stream", headers=NO_BUFFER)

    async def whole(self, request: Request) -> SearchResult:
        """Return the answer, or stop writing it if its client leaves."""

        async def disconnected() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                continue

        disconnection = asyncio.create_task(disconnected())
        try:
            await asyncio.wait(
                (self.result, disconnection), timeout=self.call.remaining, return_when=asyncio.FIRST_COMPLETED
            )
            if not self.result.done():
                if disconnection.done():
                    raise ConnectionAbortedError("the client is gone")
                raise Refusal(504, "DeadlineError", "the deadline of the request passed")
            return await self.result
        finally:
            disconnection.cancel()
            self.close()

    def values(self, result: SearchResult) -> dict[str, Any]:
        """Return the answer as plain values; a key with a filter is not told why parts of the server failed."""
        values = result.to_dict()
        extra = values.pop("extra")
        context = values["detail"]["context"] if values["detail"] else {}
        if self.call.key.filter is not None and "failed" in context:
            context["failed"] = [part | {"error": HIDDEN_ERROR} for part in context["failed"]]
        lists = ("sources", "citations", "unknown_citations", "unsupported", "notes")
        return {
            **values,
            "standalone_query": self.standalone,
            "grade": extra.get("grade"),
            "synthesizer": extra.get("synthesizer"),
            "is_cut": extra.get("is_cut", False),
            "degraded": "failed" in context,
            **{name: extra.get(name, []) for name in lists},
        }

    def close(self) -> None:
        """Stop the model, if it still writes."""
        if self._stream is not None:
            self._stream.close()
        self.result.cancel()


def sent_event(name: str, value: Any) -> bytes:
    """Return an event as it is sent."""
    data = to_json(value, inf_nan_mode="null", fallback=str)  # JSON in one line, as events need it
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
