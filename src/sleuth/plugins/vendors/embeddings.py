"""POST /v1/embeddings: vectors of texts, as clients of OpenAI's API ask for them."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.surfaces.http import MISSING, Call, CurrentCall, JsonRouter, Refusal, Strict, json_response

router = JsonRouter("OpenAI")

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


@router.post("/v1/embeddings", responses=MISSING)
async def embeddings(body: EmbeddingsRequest, call: CurrentCall) -> Response:
    """Embed texts with the embedder of the index."""
    return json_response(await call.read(_embed, body, call))


def _embed(body: EmbeddingsRequest, call: Call) -> dict[str, Any]:
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
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector.tobytes()).decode()
            if body.encoding_format == "base64"
            else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]
    return {
        "object": "list",
        "data": data,
        "model": body.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
