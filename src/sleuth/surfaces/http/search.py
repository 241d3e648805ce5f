"""POST /v1/search: ranked passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field
from pydantic_core import to_json

from sleuth.engine import Engine, SearchRequest
from sleuth.engine.index import IndexBackend
from sleuth.filters import Filter, all_of, as_filter
from sleuth.surfaces import cursors
from sleuth.surfaces.http.answers import MISSING, Remarks, remarks_of
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall
from sleuth.types import Ranking, RetrievedItem

router = JsonRouter("search")

SOURCES_POOL = 100
"""Hits that several sources find at most (`sleuth.engine.sources.POOL`), and that a reranker orders."""

FilterField = Annotated[
    str | dict[str, Any] | None,
    Field(
        description="Which passages may answer, as text or as a tree (see the guide to filters).",
        examples=["year>=2020 lang:en", {"year": {"$gte": 2020}}],
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBody(SearchRequest):
    """A search, page by page."""

    snippets: Annotated[
        bool, Field(description="Give of each passage the window that shows why it matches.")
    ] = False
    cursor: Annotated[str | None, Field(max_length=500, description="`next_cursor` of the page before.")] = (
        None
    )

    def stated(self) -> str:
        """Return what pages of one ranking have in common: the query and the options, save the page itself."""
        options = {
            name: value for name, value in self.changed().items() if name not in ("cursor", "snippets")
        }
        return cursors.written({"query": self.query, **options})


class Excerpt(BaseModel):
    """A window of a passage; each span is the begin and end of a match in `text`."""

    text: str
    spans: list[tuple[int, int]]


class Item(BaseModel):
    """A passage. Higher scores are better; `metadata` has its place."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None
    copies: list[str] | None = Field(
        default=None, description="Ids of passages that are left out because they repeat this one."
    )
    folded: int | None = Field(
        default=None, description="How many more passages have the same value of the key of `collapse`."
    )
    snippet: Excerpt | None = None
    explanation: dict[str, Any] | None = None


class SearchResponse(Remarks):
    """Passages best first. `next_cursor` is null on the last page."""

    query: str
    items: list[Item]
    next_cursor: str | None


@router.post("/v1/search", response_model=SearchResponse, responses=MISSING)
def search(body: SearchBody, call: CurrentCall) -> bytes:
    """Find the passages that answer a query."""
    cache = call.service.cache
    stated = body.stated()
    sources = call.sources if body.sources is None else body.sources
    # Kept is what asks an index of this machine alone, so that it depends on nothing but its version; ages grow.
    is_one = tuple(sources) == ("docs",) and isinstance(call.engine.backend, IndexBackend)
    is_plain = is_one and body.recency is None and not call.engine.has_retrieval_hooks
    if not cache.capacity or not is_plain:
        return search_page(body, call, stated)
    # What a key filter hides, no other one gets.
    question = (call.key.filter, stated, body.k, body.cursor, body.snippets)
    stamp = call.engine.store.stamp  # of the version that is newest now: the answer may be of a newer one
    answer = cache.get(question, stamp)
    (call.service.metrics.cache_misses if answer is None else call.service.metrics.cache_hits).inc()
    if answer is not None:
        call.facts |= {"kept": True} | ({"query": body.query} if call.service.settings.log_queries else {})
        return answer
    answer = search_page(body, call, stated)
    if "degraded" not in call.facts:  # else another try may find more
        cache.put(question, stamp, answer)
    return answer


class Completion(BaseModel):
    """A completion of what was typed, and whether a word is completed or a title holds it."""

    text: str
    kind: Literal["word", "title"]


class SuggestResponse(BaseModel):
    """Completions, the best first."""

    suggestions: list[Completion]


@router.get("/v1/suggest", response_model=SuggestResponse)
def suggest(
    call: CurrentCall,
    q: Annotated[str, Query(max_length=200, description="What somebody types.", examples=["token buc"])],
    k: Annotated[int, Query(ge=0, le=50, description="Completions at most.")] = 8,
) -> dict[str, Any]:
    """Complete what somebody types: with words of the documents, and with their titles and headings."""
    return {"suggestions": [entry._asdict() for entry in call.engine.suggest(q, k)]}


def search_page(body: SearchBody, call: Call, stated: str) -> bytes:
    """Return one page of a ranking as JSON. A longer ranking begins with a shorter one, so a page is a part of it.

    Args:
        stated: what the pages of the ranking have in common.
    """
    first = cursors.offset_of(body.cursor or None, stated)
    ranking = retrieve(body, call, first + body.k + 1)
    page = ranking[first : first + body.k]
    has_more = body.k and len(ranking) > first + body.k
    return to_json(
        {
            "query": body.query,
            "items": [plain_item(item, body, call) for item in page],
            **remarks_of(ranking),
            "next_cursor": cursors.cursor_of(first + body.k, stated) if has_more else None,
        },
        inf_nan_mode="null",
        fallback=str,
    )


def retrieve(body: SearchRequest, call: Call, k: int, *, filter: Filter | None = None) -> Ranking:
    """Return the best hits of the engine, or of the requested sources, before the call's deadline.

    Args:
        filter: besides that of the request.
    """
    service = call.service
    retriever = call.retriever(body.sources)
    depth = SOURCES_POOL
    if isinstance(retriever, Engine) and body.rerank is None:
        depth = cursors.depth(body)
    request = call.request(body, k=min(k, max(depth, body.k)), filter=all_of(as_filter(body.filter), filter))
    ranking = call.shown(retriever.run(request))
    service.metrics.observe_parts(ranking.parts)
    call.facts |= {"k": body.k, "hits": len(ranking)}
    if ranking.failures:
        call.facts["degraded"] = [part.name for part in ranking.failures]
    if service.settings.log_queries:
        call.facts["query"] = body.query
    return ranking


def plain_item(item: RetrievedItem, body: SearchBody, call: Call) -> dict[str, Any]:
    """Return an item as plain values."""
    values: dict[str, Any] = {
        "id": item.id,
        "text": item.text,
        "metadata": item.metadata,
        "score": item.score,
    }
    if item.copies:
        values["copies"] = item.copies
    if item.folded:
        values["folded"] = item.folded
    if body.snippets:
        snippet = call.service.engine.snippet(body.query, item)
        values["snippet"] = {"text": snippet.text, "spans": snippet.spans}
    if body.explain and item.explanation is not None:
        values["explanation"] = item.explanation.to_dict()
    return values
