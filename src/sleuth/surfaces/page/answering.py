"""Answers as the page shows them: Markdown as elements, citations as links, and cards of the cited passages."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from sleuth.answer import citation_marks
from sleuth.errors import SleuthError
from sleuth.surfaces.http import Refusal
from sleuth.surfaces.page.markdown import Element, Node, parse, texts_of, to_json
from sleuth.surfaces.plain import plain
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from markupsafe import Markup

    from sleuth.results import SearchResult
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

PREVIEW: Final = 300
"""Characters of a passage that a card shows."""
MOST_RELATED: Final = 4
_SECONDS: Final = 0.08
"""Between two looks of a reader at what is written so far."""
_VERBATIM: Final = frozenset({"a", "code", "pre"})


@dataclass(frozen=True, slots=True)
class Card:
    """A passage that an answer is written from.

    Attributes:
        ids: of the passage, and of its neighbours where they were joined.
        label: the path of its document, with lines, page or heading.
        name: the same without the folders; of a web page, its host.
        text: its beginning.
    """

    number: int
    ids: Sequence[str]
    label: str
    name: str
    title: str
    url: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer that is written.

    Attributes:
        cards: of the passages that it cites.
        related: headings of passages that it does not cite, each with the address of its results.
        failure: why there is no answer, or "".
        warning: what is wrong with the answer, or "".
    """

    html: Markup
    cards: list[Card]
    related: list[tuple[str, str]]
    failure: str = ""
    warning: str = ""


def cards_of(sources: Sequence[Mapping[str, Any]], query: str, texts: Mapping[str, str]) -> list[Card]:
    """Return the cards of numbered passages.

    Args:
        texts: of passages by id, where a source itself has no text.
    """
    return [
        Card(
            number=source["number"],
            ids=list(source["ids"]),
            label=escape_text(str(source["source"])),
            name=escape_text(_short(str(source["source"]))),
            title=escape_text(str(source.get("heading") or source.get("title") or "")),
            url=_source_url(source["ids"][0], query),
            text=_preview(str(source.get("text") or texts.get(source["ids"][0], ""))),
        )
        for source in sources
    ]


def _source_url(id: str, query: str) -> str:
    return f"/source?{urlencode({'id': id, 'q': query})}#cited"


def _short(label: str) -> str:
    """Return a label without its folders; of a web page, its host."""
    path, mark, heading = label.partition(" § ")
    name = urlsplit(path).netloc if path.startswith(("http://", "https://")) else path.rpartition("/")[2]
    return f"{name or path}{mark}{heading}"


def rendered(text: str, cards: Sequence[Card]) -> list[Node]:
    """Return an answer as elements whose citations lead to their passages."""
    return _linked(parse(text, "h3"), {card.number: card for card in cards})


def blocks_of(result: SearchResult, cards: Sequence[Card], query: str) -> list[Node]:
    """Return a whole answer as elements; titles that stand in place of an answer lead to their passages."""
    nodes = rendered(result.response, cards)
    titles = nodes[-1] if nodes else None
    if isinstance(titles, Element) and titles.tag == "ul" and not result.extra.get("sources"):
        pages: dict[str, str] = {}
        for item in result.items or ():
            pages.setdefault(
                str(item.metadata.get("path") or item.metadata.get("source") or item.id), item.id
            )
        for entry, id in zip(titles.children, pages.values(), strict=False):
            if isinstance(entry, Element):
                entry.children = [Element("a", {"href": _source_url(id, query)}, [*texts_of(entry.children)])]
    return nodes


def related(result: SearchResult, state: PageState) -> list[tuple[str, str]]:
    """Return headings of passages that an answer does not cite, each with the address of its results."""
    names: dict[str, str] = {}
    for item in result.items or ():
        heading = str(item.metadata.get("heading") or "").rpartition(" > ")[2].strip()
        if (
            item.id not in result.used_source_ids
            and heading
            and heading.casefold() not in state.query.casefold()
        ):
            names.setdefault(heading.casefold(), heading)
    return [(escape_text(name), state.asking(name).address()) for name in list(names.values())[:MOST_RELATED]]


def cited_cards(result: SearchResult, state: PageState) -> list[Card]:
    """Return the cards of the passages that an answer cites."""
    texts = {item.id: item.text for item in result.items or ()}
    numbers = {citation["number"] for citation in result.extra.get("citations", ())}
    sources = [source for source in result.extra.get("sources", ()) if source["number"] in numbers]
    return cards_of(sources, state.query, texts)


def view_of(result: SearchResult, state: PageState) -> AnswerView:
    """Return a whole answer, for readers without script."""
    from sleuth.surfaces.page.markdown import to_html

    failure = result.detail.message if result.is_error() and result.detail else ""
    cards = cited_cards(result, state)
    html = to_html(blocks_of(result, cards, state.query))
    return AnswerView(html, cards, related(result, state), escape_text(failure), warning_of(result))


def warning_of(result: SearchResult) -> str:
    """Return which citations of an answer have no passage; "" where all have one."""
    numbers = ", ".join(f"[{number}]" for number in result.extra.get("unknown_citations", ()))
    return f"The model cites passages that do not exist: {numbers}." if numbers else ""


async def events_of(call: Call, state: PageState) -> AsyncIterator[bytes]:
    """Yield what a script shows while an answer is written.

    First `cards` where a model writes, then `blocks`, each with the number of the first block that it replaces. At the
    end the `cards` that are cited, the last `blocks`, and `done` or `error`.
    """
    from sleuth.surfaces.http import AskBody, Writing, sent_event

    writing: Writing | None = None
    cards: list[Card] = []
    blocks_sent: list[Any] = []
    text, last_look = "", 0.0
    try:
        request = state.request
        body = AskBody(query=request.query, k=request.k, stream=True, passages=True, **request.changed())
        writing = Writing(body, call)
        while (event := await writing.next()) is not None:
            if event.name == "sources":
                cards = cards_of(event.value, state.query, {})
                yield sent_event("cards", [asdict(card) for card in cards])
                continue
            text += event.value
            if time.monotonic() - last_look >= _SECONDS:
                last_look = time.monotonic()
                blocks = to_json(rendered(text, cards))
                yield sent_event("blocks", _changes(blocks_sent, blocks))
                blocks_sent = blocks
        result = await writing.result()
        cards = cited_cards(result, state)
        yield sent_event("cards", [asdict(card) for card in cards])
        blocks = to_json(blocks_of(result, cards, state.query))
        yield sent_event("blocks", _changes(blocks_sent, blocks))
        is_error = result.is_error() and result.detail is not None
        ending = {
            "failure": escape_text(result.detail.message) if is_error and result.detail else "",
            "grade": result.extra.get("grade"),
            "text": escape_text(result.response),
            "related": related(result, state),
            "warning": warning_of(result),
        }
        yield sent_event("done", ending)
    except (SleuthError, Refusal) as error:
        yield sent_event("error", {"message": escape_text(str(call.refusal_of(error).detail))})
    finally:
        if writing is not None:
            writing.close()


def _changes(before: Sequence[Any], blocks: Sequence[Any]) -> dict[str, Any]:
    """Return the blocks from the first one on that differs from those sent before."""
    same = 0
    while same < min(len(before), len(blocks)) and before[same] == blocks[same]:
        same += 1
    return {"from": same, "blocks": list(blocks[same:])}


def _linked(nodes: Sequence[Node], cards: Mapping[int, Card]) -> list[Node]:
    """Return nodes in which citations such as [2] are links; not in code, and not of numbers that no card has."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, str):
            result += _links_in(node, cards)
            continue
        if node.tag not in _VERBATIM:
            node.children = _linked(node.children, cards)
        result.append(node)
    return result


def _links_in(text: str, cards: Mapping[int, Card]) -> Iterator[Node]:
    """Yield a text with its citations as links to their cards; a citation without a card stays text."""
    end = 0
    for mark in citation_marks(text):
        if all(number in cards for number in mark.numbers):
            yield text[end : mark.start]
            for number in mark.numbers:
                attributes = {"class": "citation", "href": cards[number].url, "data-number": str(number)}
                yield Element("a", attributes, [f"[{number}]"])
            end = mark.end
    yield text[end:]


def _preview(text: str) -> str:
    words = " ".join(plain(text[: 4 * PREVIEW]).split())
    return escape_text(words if len(words) <= PREVIEW else f"{words[:PREVIEW]}…")
