"""POST /v1/search: ranked passages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from sleuth.engine import Engine
from sleuth.errors import ArgumentError
from sleuth.filters import Filter, all_of
from sleuth.surfaces.http import cursors
from sleuth.surfaces.http.answers import MISSING, PROBLEMS, Strict
from sleuth.surfaces.http.routes import JsonRoute
from sleuth.surfaces.http.service import Call, CurrentCall

if TYPE_CHECKING:
    from sleuth.types import Ranking, RetrievedItem

router = APIRouter(tags=["search"], route_class=JsonRoute)

MOST_HITS = 1000
"""Hits of one page at most."""

MOST_QUERY = 100_000
"""Characters of a query at most."""

SOURCES_POOL = 100
"""Hits that several sources find at most (`sleuth.engine.sources.POOL`)."""

SHORT_K = 100
"""Hits that a search asks for at most to be short."""

SHORT_QUERY = 200
"""Characters of the query of a short search at most."""

FilterField = Annotated[
    str | dict[str, Any] | None,
    Field(
        description="Which passages may answer, as text or as a tree (see the guide to filters).",
        examples=["year>=2020 lang:en", {"year": {"$gte": 2020}}],
    ),
]


class SearchRequest(Strict):
    """A search."""

    query: str = Field(max_length=MOST_QUERY, examples=["how do I rotate a key"])
    k: int = Field(default=10, ge=0, le=MOST_HITS, description="Passages on this page.")
    filter: FilterField = None
    legs: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=20,
        examples=[["lexical"]],
        description="Search only by words (lexical), by meaning (dense) or by other legs of the index.",
    )
    fusion: str | None = Field(
        default=None, max_length=200, examples=["minmax(lexical=1,dense=0.4,pool=200)"]
    )
    expand: Annotated[int, Field(ge=1, le=20)] | Literal["section", "document"] | None = Field(
        default=None, description="Give each passage with its neighbours, its section or its document."
    )
    explain: bool = Field(default=False, description="Say of each passage how its score comes about.")
    snippets: bool = Field(
        default=False, description="Give of each passage the window that shows why it matches."
    )
    sources: list[str] | None = Field(
        default=None,
        max_length=20,
        description="Where to search, such as docs and code; those of the server by default.",
    )
    cursor: str | None = Field(default=None, max_length=500, description="`next_cursor` of the page before.")


class Excerpt(BaseModel):
    """A window of a passage; each span is the begin and end of a match in `text`."""

    text: str
    spans: list[tuple[int, int]]


class LegReport(BaseModel):
    """What one leg or source of a search did."""

    name: str
    status: Literal["ok", "failed", "abandoned", "skipped"]
    seconds: float
    hits: int
    error: str


class Item(BaseModel):
    """A passage. Higher scores are better; `metadata` says where it stands."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None
    snippet: Excerpt | None = None
    explanation: dict[str, Any] | None = None


class SearchResponse(BaseModel):
    """Passages best first. `next_cursor` is null on the last page."""

    query: str
    items: list[Item]
    parts: list[LegReport]
    next_cursor: str | None


@router.post("/v1/search", response_model=SearchResponse, responses=PROBLEMS | MISSING)
async def search(body: SearchRequest, call: CurrentCall) -> Response:
    """Find the passages that answer a query."""
    call.require("read")
    is_plain = _is_plain(body, call)
    kept = KeptAnswer(body, call) if is_plain and call.service.cache.capacity else None
    if kept is not None and (answer := kept.read()):
        return Response(answer, media_type="application/json")
    kind = _short_kind(body, call) if is_plain else ""
    run = call.read_here if kind and call.service.durations.is_short(kind) else call.read
    page = await run(_timed_page, kind, body, call)
    if kept is not None and page.is_whole:
        kept.write(page.json)
    return Response(page.json, media_type="application/json")


def _is_plain(body: SearchRequest, call: Call) -> bool:
    """Return whether a search asks an index of this machine alone, so that it depends on nothing but its version."""
    sources = call.service.settings.sources if body.sources is None else body.sources
    engine = call.engine
    return tuple(sources) == ("docs",) and type(engine) is Engine and not engine.has_retrieval_hooks


def _short_kind(body: SearchRequest, call: Call) -> str:
    """Return the kind of a plain search whose duration others of it foretell; "" where it may take longer."""
    if (
        body.k > SHORT_K
        or len(body.query) > SHORT_QUERY
        or (body.cursor, body.filter, body.expand) != (None, None, None)
        or body.explain
        or body.snippets
    ):
        return ""
    legs = [leg for name, leg in call.engine.legs.items() if not body.legs or name in body.legs]
    if all(leg.is_exact for leg in legs):
        return "exact"  # holds the GIL most of the time: threads would wait for each other
    is_slow = call.service.settings.threads != 1 or any(leg.is_slow for leg in legs)
    return "" if is_slow else "hybrid"


class KeptAnswer:
    """The place of one request's answer among those that the server keeps: only its own key filter sees it."""

    def __init__(self, body: SearchRequest, call: Call) -> None:
        self._service, self._call = call.service, call
        self._question = (call.key.filter, body.model_dump_json(exclude_defaults=True))
        self._stamp = call.engine.store.stamp
        self._query = body.query

    def read(self) -> bytes | None:
        """Return the answer, if it is kept, and count whether it is."""
        service = self._service
        answer = service.cache.get(self._question, self._stamp)
        (service.metrics.cache_misses if answer is None else service.metrics.cache_hits).inc()
        if answer is not None:
            self._call.facts["kept"] = True
            if service.settings.log_queries:
                self._call.facts["query"] = self._query
        return answer

    def write(self, answer: bytes) -> None:
        """Keep an answer of the version that was newest when the request came, or of a newer one."""
        self._service.cache.put(self._question, self._stamp, answer)


class JsonPage(NamedTuple):
    """A page of a ranking.

    Attributes:
        json: as it is answered.
        is_whole: whether every leg answered: another try may find more where not.
    """

    json: bytes
    is_whole: bool


def _timed_page(kind: str, body: SearchRequest, call: Call) -> JsonPage:
    """Return a page, and note how long it took."""
    started = time.perf_counter()
    page = search_page(body, call)
    if kind:
        call.service.durations.note(kind, time.perf_counter() - started)
    return page


def search_page(body: SearchRequest, call: Call) -> JsonPage:
    """Return one page of a ranking. A longer ranking begins with a shorter one, so a page is a part of it."""
    stated = body.model_dump(exclude={"cursor", "k", "snippets"}, exclude_defaults=True)
    first = cursors.offset_of(body.cursor, stated) if body.cursor else 0
    ranking = retrieve(body, call, first + body.k + 1)
    page = ranking[first : first + body.k]
    more = body.k and len(ranking) > first + body.k
    items = [plain_item(item, body, call) for item in page]
    answer = to_json(
        {
            "query": body.query,
            "items": items,
            "parts": [part.to_dict() for part in ranking.parts],
            "next_cursor": cursors.cursor_of(first + body.k, stated) if more else None,
        },
        inf_nan_mode="null",
        fallback=str,
    )
    return JsonPage(answer, not ranking.failures)


def retrieve(body: SearchRequest, call: Call, k: int, *, filter: Filter | None = None) -> Ranking:
    """Return the best hits of the engine, or of the requested sources, before the call's deadline.

    Args:
        filter: besides that of the request.
    """
    service = call.service
    retriever = call.retriever(body.sources)
    tree = all_of(call.filter(body.filter), filter)
    with call.retrieval_span(body.query, body.k):
        if isinstance(retriever, Engine):
            most = cursors.depth(body.legs, body.fusion)
            ranking = retriever.retrieve(
                body.query,
                min(k, max(most, body.k)),
                filter=tree,
                legs=body.legs,
                fusion=body.fusion,
                expand=body.expand,
                explain=body.explain,
                deadline=call.remaining,
            )
        else:
            _check_for_sources(body)
            most = max(SOURCES_POOL, body.k)
            ranking = retriever.retrieve(body.query, min(k, most), filter=tree, explain=body.explain)
    service.metrics.observe_parts(ranking.parts)
    call.facts |= {"k": body.k, "hits": len(ranking)}
    if service.settings.log_queries:
        call.facts["query"] = body.query
    return ranking


def _check_for_sources(body: SearchRequest) -> None:
    """Refuse what only the documents alone can be asked for.

    Raises:
        ArgumentError: names the argument.
    """
    for name in ("legs", "fusion", "expand"):
        if (value := getattr(body, name)) is not None:
            raise ArgumentError(
                f"{name} must be left out where other sources than docs are searched, got {value!r}; "
                '"sources": ["docs"] searches the documents alone'
            )


def plain_item(item: RetrievedItem, body: SearchRequest, call: Call) -> dict[str, Any]:
    """Return an item as plain values."""
    values: dict[str, Any] = {
        "id": item.id,
        "text": item.text,
        "metadata": item.metadata,
        "score": item.score,
    }
    if body.snippets:
        snippet = call.service.engine.snippet(body.query, item)
        values["snippet"] = {"text": snippet.text, "spans": snippet.spans}
    if body.explain and item.explanation is not None:
        values["explanation"] = item.explanation.to_dict()
    return values
