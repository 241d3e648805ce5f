"""POST /v1/rerank and /v2/rerank: documents of the request, ordered by a query, as Jina's and Cohere's clients ask."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.surfaces.http import Call, CurrentCall, JsonRouter, Strict, json_response

router = JsonRouter("rerank")


MOST_DOCUMENTS = 1000
"""Documents of one request at most, as Cohere's API has it."""


class TextDocument(BaseModel):
    """A document in an object; other fields are ignored."""

    text: str


class RerankRequest(Strict):
    """What both versions ask."""

    query: str = Field(max_length=MOST_QUERY)
    model: str | None = Field(default=None, max_length=1000, description="Accepted; there is one model.")
    top_n: int | None = Field(default=None, ge=1)


class RerankV1Request(RerankRequest):
    """Documents to order."""

    documents: list[str | TextDocument] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    return_documents: bool = False


class RerankV2Request(RerankRequest):
    """Documents to order."""

    documents: list[str] = Field(min_length=1, max_length=MOST_DOCUMENTS)


@router.post("/v1/rerank")
async def rerank_v1(body: RerankV1Request, call: CurrentCall) -> Response:
    """Order documents by their relevance to a query, as Jina's clients and Open WebUI ask."""
    from sleuth.text import count_tokens

    texts = [document if isinstance(document, str) else document.text for document in body.documents]
    results = await _ranked(body, texts, call)
    if body.return_documents:
        for result in results:
            result["document"] = {"text": texts[result["index"]]}
    tokens = count_tokens(body.query) + sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response({"id": call.id, "model": body.model, "results": results, "usage": usage})


@router.post("/v2/rerank")
async def rerank_v2(body: RerankV2Request, call: CurrentCall) -> Response:
    """Order documents by their relevance to a query, as Cohere's clients ask."""
    results = await _ranked(body, body.documents, call)
    return json_response({"id": call.id, "results": results, "meta": {"api_version": {"version": "2"}}})


async def _ranked(body: RerankRequest, texts: list[str], call: Call) -> list[dict[str, Any]]:
    from sleuth.engine import score_texts

    scores = await call.read(score_texts, body.query, texts)
    order = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
    return [{"index": i, "relevance_score": scores[i]} for i in order[: body.top_n]]
