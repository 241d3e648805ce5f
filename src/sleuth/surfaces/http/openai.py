"""What clients of OpenAI's API ask: the search of a vector store, and embeddings."""

from __future__ import annotations

import base64
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.errors import ArgumentError
from sleuth.filters import MAX_DEPTH, And, Compare, Filter, Or
from sleuth.surfaces.http.answers import MISSING, PROBLEMS, json_response
from sleuth.surfaces.http.problems import Refusal
from sleuth.surfaces.http.routes import JsonRoute
from sleuth.surfaces.http.scores import scored_hits
from sleuth.surfaces.http.service import Call, CurrentCall

if TYPE_CHECKING:
    from sleuth.types import RetrievedItem

router = APIRouter(tags=["OpenAI"], route_class=JsonRoute)

QueryText = Annotated[str, Field(max_length=MOST_QUERY)]
Passage = Annotated[str, Field(max_length=100_000)]
"""A text that is embedded."""


class ComparisonFilter(BaseModel):
    """One attribute against a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str
    value: str | int | float | bool | list[str | int | float | bool]

    def tree(self, _: int = 0) -> Filter:
        """Return the comparison as a filter of Sleuth's."""
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        return Compare(self.key, self.type, value)


class CompoundFilter(BaseModel):
    """Several filters, of which all or any must hold."""

    type: Literal["and", "or"]
    filters: list[ComparisonFilter | CompoundFilter] = Field(min_length=1, max_length=1000)

    def tree(self, depth: int = 0) -> Filter:
        """Return the compound filter as a filter of Sleuth's."""
        if depth >= MAX_DEPTH:
            raise ArgumentError(f"filters must be nested at most {MAX_DEPTH} deep")
        parts = tuple(part.tree(depth + 1) for part in self.filters)
        if len(parts) == 1:
            return parts[0]
        return And(parts) if self.type == "and" else Or(parts)


class RankingOptions(BaseModel):
    """How hits are ranked; `ranker` is accepted and changes nothing."""

    ranker: str | None = None
    score_threshold: float | None = Field(default=None, ge=0, le=1)


class VectorStoreSearchRequest(BaseModel):
    """A search as OpenAI's clients ask it. Queries of a list are searched as one text."""

    query: QueryText | list[QueryText] = Field(examples=["how do I rotate a key"])
    filters: ComparisonFilter | CompoundFilter | None = None
    max_num_results: int = Field(default=10, ge=1, le=50)
    ranking_options: RankingOptions | None = None
    rewrite_query: bool = Field(default=False, description="Accepted; queries are searched as they are.")


class Content(BaseModel):
    """A passage."""

    type: Literal["text"]
    text: str


class VectorStoreHit(BaseModel):
    """A passage, with the document that it is of."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, str | int | float | bool]
    content: list[Content]


class VectorStorePage(BaseModel):
    """Hits, best first."""

    object: Literal["vector_store.search_results.page"]
    search_query: list[str]
    data: list[VectorStoreHit]
    has_more: bool
    next_page: str | None


@router.post(
    "/v1/vector_stores/{vector_store_id}/search", response_model=VectorStorePage, responses=PROBLEMS | MISSING
)
async def search_vector_store(
    vector_store_id: str, body: VectorStoreSearchRequest, call: CurrentCall
) -> Response:
    """Search the index as a vector store; it has the name of its folder."""
    if vector_store_id != call.service.name:
        raise Refusal(
            404,
            "UnknownStoreError",
            f"the vector store must be {call.service.name!r}, got {vector_store_id!r}",
        )
    queries = [body.query] if isinstance(body.query, str) else body.query
    tree = body.filters.tree() if body.filters else None
    options = body.ranking_options or RankingOptions()
    hits = await call.read(
        scored_hits,
        " ".join(queries),
        body.max_num_results,
        tree,
        call,
        least=options.score_threshold or 0.0,
    )
    return json_response(
        {
            "object": "vector_store.search_results.page",
            "search_query": queries,
            "data": [_hit(item, score) for item, score in hits],
            "has_more": False,
            "next_page": None,
        }
    )


def _hit(item: RetrievedItem, score: float) -> dict[str, Any]:
    document = item.id.rpartition("#")[0] or item.id
    source = str(item.metadata.get("source") or document)
    scalars = {k: v for k, v in item.metadata.items() if isinstance(v, str | int | float | bool)}
    return {
        "file_id": document,
        "filename": PurePath(source).name or source,
        "score": score,
        "attributes": scalars,
        "content": [{"type": "text", "text": item.text}],
    }


class EmbeddingsRequest(BaseModel):
    """Texts to embed."""

    input: Passage | Annotated[list[Passage], Field(min_length=1, max_length=2048)]
    model: str = Field(max_length=1000, description="Accepted; the embedder is that of the index.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1, description="That of the embedder, or left out.")
    user: str | None = None


class Embedding(BaseModel):
    """One vector: numbers, or their 32-bit floats in base64."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsResponse(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


@router.post("/v1/embeddings", response_model=EmbeddingsResponse, responses=PROBLEMS | MISSING)
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
    name = embedder.fingerprint
    vectors = as_vectors(ask_embedder(embedder.embed_documents, texts, name), len(texts), name).astype("<f4")
    if body.dimensions is not None and body.dimensions != len(vectors[0]):
        raise ArgumentError(f"dimensions must be {len(vectors[0])}, got {body.dimensions}")
    tokens = sum(count_tokens(text) for text in texts)
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
