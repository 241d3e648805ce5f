"""POST /v1/rerank, /v2/rerank and /rerank: texts ordered by a query, as clients of Jina, Cohere and TEI ask."""

from __future__ import annotations

from typing import Any, Literal

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
    """What clients of Jina, Cohere and Open WebUI ask."""

    query: str = Field(max_length=MOST_QUERY)
    model: str | None = Field(default=None, max_length=1000, description="Accepted; there is one model.")
    top_n: int | None = Field(default=None, ge=1)
    documents: list[str | TextDocument] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    return_documents: bool = False


class RerankTextsRequest(Strict):
    """What clients of TEI (Text Embeddings Inference) ask."""

    query: str = Field(max_length=MOST_QUERY)
    texts: list[str] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    raw_scores: Literal[False] = Field(default=False, description="Scores are always from 0 to 1.")
    return_text: bool = False
    truncate: bool = Field(default=False, description="Accepted; texts are read whole.")


@router.post("/v1/rerank")
@router.post("/v2/rerank")
async def rerank(body: RerankRequest, call: CurrentCall) -> Response:
    """Order documents by their relevance to a query, as clients of Jina, Cohere and Open WebUI ask."""
    from sleuth.text import count_tokens

    texts = [document if isinstance(document, str) else document.text for document in body.documents]
    results: list[dict[str, Any]] = [
        {"index": place, "relevance_score": score}
        | ({"document": {"text": texts[place]}} if body.return_documents else {})
        for place, score in (await _ranked(body.query, texts, call))[: body.top_n]
    ]
    tokens = count_tokens(body.query) + sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response({"id": call.id, "model": body.model, "results": results, "usage": usage})


@router.post("/rerank")
async def rerank_texts(body: RerankTextsRequest, call: CurrentCall) -> Response:
    """Order texts by their relevance to a query, as clients of TEI ask."""
    texts: list[dict[str, Any]] = [{"text": text} if body.return_text else {} for text in body.texts]
    ranking = await _ranked(body.query, body.texts, call)
    return json_response([{"index": place, "score": score} | texts[place] for place, score in ranking])


async def _ranked(query: str, texts: list[str], call: Call) -> list[tuple[int, float]]:
    """Return the places of texts with their relevance, the best first."""
    from sleuth.engine import score_texts

    scores = await call.read(score_texts, query, texts)
    return [(place, scores[place]) for place in sorted(range(len(texts)), key=lambda place: -scores[place])]
