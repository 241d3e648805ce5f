"""Texts embedded (POST /v1/embeddings, of OpenAI) and ordered (/v1/rerank, /v2/rerank, /rerank, of Cohere and TEI)."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from sleuth.arguments import MOST_QUERY
from sleuth.errors import ArgumentError
from sleuth.surfaces.http import MISSING, CurrentCall, JsonRouter, Refusal, Strict

openai_router, router = JsonRouter("OpenAI"), JsonRouter("rerank")

MOST_CHARACTERS = 100_000
"""Of one text."""
MOST_INPUTS = 2048
"""Texts of one request, as OpenAI's API has it."""

Passage = Annotated[str, Field(max_length=MOST_CHARACTERS)]


class EmbeddingsRequest(Strict):
    """Texts to embed. Arrays of tokens are refused: LangChain sends texts with `check_embedding_ctx_length=False`."""

    input: Passage | Annotated[list[Passage], Field(min_length=1, max_length=MOST_INPUTS)] = Field(
        description="A text, or several.", examples=["tokens are refilled"]
    )
    model: str = Field(max_length=1000, description="Accepted; the embedder is that of the index.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1, description="That of the embedder, or left out.")


@openai_router.post("/v1/embeddings", responses=MISSING)
def embeddings(body: EmbeddingsRequest, call: CurrentCall) -> dict[str, Any]:
    """Embed texts with the embedder of the index."""
    from sleuth.text import count_tokens
    from sleuth.vectors import as_vectors, ask_embedder

    embedder = call.service.engine.embedder
    if embedder is None:
        raise Refusal(
            404, "NoEmbedderError", "the index has no vectors; `sleuth index --embedder` makes them"
        )
    texts = [body.input] if isinstance(body.input, str) else body.input
    tokens = sum(map(count_tokens, texts))
    name = embedder.fingerprint
    vectors = as_vectors(ask_embedder(embedder.embed_documents, texts, name), len(texts), name).astype("<f4")
    if body.dimensions is not None and body.dimensions != len(vectors[0]):
        raise ArgumentError(f"dimensions must be {len(vectors[0])}, got {body.dimensions}")
    if body.encoding_format == "base64":
        embeddings: list[Any] = [base64.b64encode(vector.tobytes()).decode() for vector in vectors]
    else:
        embeddings = vectors.tolist()
    data = [
        {"object": "embedding", "index": index, "embedding": embedding}
        for index, embedding in enumerate(embeddings)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": body.model, "usage": usage}


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
def rerank(body: RerankRequest, call: CurrentCall) -> dict[str, Any]:
    """Order documents by their relevance to a query, as clients of Jina, Cohere and Open WebUI ask."""
    from sleuth.text import count_tokens

    texts = [document if isinstance(document, str) else document.text for document in body.documents]
    results: list[dict[str, Any]] = [
        {"index": place, "relevance_score": score}
        | ({"document": {"text": texts[place]}} if body.return_documents else {})
        for place, score in _ranked(body.query, texts)[: body.top_n]
    ]
    tokens = count_tokens(body.query) + sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"id": call.id, "model": body.model, "results": results, "usage": usage}


@router.post("/rerank")
def rerank_texts(body: RerankTextsRequest, call: CurrentCall) -> list[dict[str, Any]]:
    """Order texts by their relevance to a query, as clients of TEI ask."""
    ranking = _ranked(body.query, body.texts)
    texts: list[dict[str, Any]] = [{"text": text} if body.return_text else {} for text in body.texts]
    return [{"index": place, "score": score} | texts[place] for place, score in ranking]


def _ranked(query: str, texts: list[str]) -> list[tuple[int, float]]:
    """Return the places of texts with their relevance, the best first."""
    from sleuth.engine import score_texts

    scores = score_texts(query, texts)
    return [(place, scores[place]) for place in sorted(range(len(texts)), key=lambda place: -scores[place])]
