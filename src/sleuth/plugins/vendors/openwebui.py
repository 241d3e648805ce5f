"""POST /v1/web_search: the index as the external web search of Open WebUI."""

from __future__ import annotations

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.engine import SearchRequest
from sleuth.surfaces.http import Call, CurrentCall, JsonRouter, Strict, json_response, passage_url, retrieve

router = JsonRouter("Open WebUI")


class WebSearchRequest(Strict):
    """What Open WebUI asks."""

    query: str = Field(max_length=MOST_QUERY)
    count: int = Field(default=10, ge=1, le=100, description="Passages at most.", examples=[3])


@router.post("/v1/web_search")
async def web_search(body: WebSearchRequest, request: Request, call: CurrentCall) -> Response:
    """Search the index as an external web search engine; the best passages come first."""
    return json_response(await call.read(_hits, body, str(request.base_url), call))


def _hits(body: WebSearchRequest, base: str, call: Call) -> list[dict[str, str]]:
    ranking = retrieve(SearchRequest(query=body.query, k=body.count), call, body.count)
    return [
        {
            "link": passage_url(base, item.id, item.metadata),
            "title": str(item.metadata.get("title") or item.metadata.get("source") or item.id),
            "snippet": item.text,
        }
        for item in ranking
    ]
