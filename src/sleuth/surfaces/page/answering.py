"""Answers as the page shows them: Markdown as markup, citations as links, and the passages that are cited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode, urlsplit

from markupsafe import Markup, escape
from starlette.responses import Response

from sleuth.answer import citation_marks
from sleuth.errors import SleuthError
from sleuth.results import SearchResult
from sleuth.surfaces.http import AnswerEvent, Call, Refusal
from sleuth.surfaces.page.markup import fill, parse, to_html, to_nodes
from sleuth.surfaces.page.places import roots_of, short
from sleuth.surfaces.page.state import PageState
from sleuth.text.markup import plain

PREVIEW: Final = 300
"""Characters of a passage that a card shows."""
_SECONDS: Final = 0.08
"""Between two looks of a reader at what is written so far."""

Card: TypeAlias = dict[str, Any]
"""A passage of an answer: `number`, `ids`, `label`, `name`, `title`, `url` and `text`, its begin."""


_EMPTY: Final = {"cards": (), "html": "", "problem": "", "plain": "", "grade": ""}
"""What is shown of an answer, as of `answer_of`, before anything is."""


def cards_of(
    sources: Sequence[Mapping[str, Any]], query: str, roots: Sequence[str], texts: Mapping[str, str]
) -> list[Card]:
    """Return the cards of numbered passages.

    Args:
        texts: of passages by id, where a source itself has no text.
    """
    cards = []
    for source in sources:
        label, id = short(str(source["source"]), roots), source["ids"][0]
        path, mark, heading = label.partition(" § ")
        name = urlsplit(path).netloc if "://" in path else path.rpartition("/")[2]
        text = " ".join(plain(str(source.get("text") or texts.get(id, ""))[: 4 * PREVIEW]).split())
        cards.append(
            {
                "number": source["number"],
                "ids": source["ids"],
                "label": label,
                "name": f"{name or path}{mark}{heading}",
                "title": source.get("heading") or source.get("title") or label,
                "url": f"/source?{urlencode({'id': id, 'q': query})}#cited",
                "text": text if len(text) <= PREVIEW else f"{text[:PREVIEW]}…",
            }
        )
    return cards


def rendered(text: str, cards: Sequence[Card], *, is_quoted: bool = False) -> Markup:
    """Return an answer as markup: a citation, as `citation_marks` finds it, is a link where its numbers have cards."""
    links = {
        card["number"]: Markup('<a class="citation" href="{}" data-number="{}">[{}]</a>').format(
            card["url"], card["number"], card["number"]
        )
        for card in cards
    }

    def write(words: str) -> Markup:
        html, end = Markup(""), 0
        for mark in citation_marks(words, is_quoted=is_quoted):
            if links.keys() >= set(mark.numbers):
                html += escape(words[end : mark.start]) + Markup("").join(
                    links[number] for number in mark.numbers
                )
                end = mark.end
        return html + escape(words[end:])

    tokens, depth = parse(text, "h3"), 0
    for token in tokens:
        depth += token.nesting if token.tag == "blockquote" else 0
        fill([token], escape if is_quoted and depth else write)
    return to_html(tokens)


def answer_of(result: SearchResult, query: str, roots: Sequence[str]) -> dict[str, Any]:
    """Return what is shown of a whole answer: `cards`, `html`, `problem`, `grade`, and `plain` to copy."""
    texts = {item.id: item.text for item in result.items or ()}
    numbers = {citation["number"] for citation in result.extra.get("citations", ())}
    sources = [source for source in result.extra.get("sources", ()) if source["number"] in numbers]
    cards = cards_of(sources, query, roots, texts)
    unknown = ", ".join(f"[{number}]" for number in result.extra.get("unknown_citations", ()))
    problem = f"The model cites passages that do not exist: {unknown}. " if unknown else ""
    if result.extra.get("is_cut"):
        problem += "The answer is cut off: the model may write no more tokens."
    return {
        "cards": cards,
        "html": rendered(result.response, cards, is_quoted=result.extra.get("synthesizer") == "extractive"),
        "problem": result.detail.message if result.is_error() and result.detail else problem,
        "plain": "\n".join([result.response, "", *(f"[{card['number']}] {card['label']}" for card in cards)]),
        "grade": result.extra.get("grade") or "",
    }


def written_answer(call: Call, state: PageState, roots: Sequence[str]) -> dict[str, Any]:
    """Return the answer to the question of a page, or its problem."""
    request = call.request(state.request)
    options = request.changed()
    try:
        result = call.retriever(list(state.sources)).search(request.query, request.k, "with_items", **options)
    except SleuthError as error:
        return _EMPTY | {"problem": str(call.refusal_of(error).detail)}
    return answer_of(result, state.query, roots)


async def events_of(call: Call, state: PageState, render: Callable[[Mapping[str, Any]], str]) -> Response:
    """Stream what a script shows while a model writes: the answer so far as events `answer`, then `done` or `error`.

    Args:
        render: writes an answer as the page has it.
    """
    from sleuth.surfaces.http import AskBody, Writing, sent_event

    request, roots = state.request, await call.read(roots_of, call)
    body = AskBody(query=request.query, k=request.k, stream=True, passages=True, **request.changed())
    writing = Writing(body, call)

    async def events(before: AsyncIterator[AnswerEvent]) -> AsyncIterator[bytes]:
        cards: list[Card] = []
        text, last_look = "", 0.0
        async for event in before:
            if event.name == "sources":
                cards = cards_of(event.value, state.query, roots, {})
            else:
                text += event.value
            if time.monotonic() - last_look >= _SECONDS or not text:
                last_look = time.monotonic()
                values = _EMPTY | {"cards": cards, "html": rendered(text, cards)}
                yield sent_event("answer", to_nodes(render(values)))
        result = await writing.result
        yield sent_event("answer", to_nodes(render(answer_of(result, state.query, roots))))
        yield sent_event("done", {"is_whole": not result.is_error()})

    def failure(refusal: Refusal) -> bytes:
        return sent_event("error", {"message": str(refusal.detail)})

    return await writing.stream(events, failure)
