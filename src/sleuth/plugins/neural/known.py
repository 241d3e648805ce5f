"""Models that Sleuth knows by name: where they come from, and what their folders do not say."""

from __future__ import annotations

from typing import NamedTuple

_SEARCH = "Represent this sentence for searching relevant passages: "


class KnownModel(NamedTuple):
    """A model of a hub.

    Attributes:
        repository: where `sleuth index models pull` gets it.
        purpose: one clause.
        pooling: how the vectors of tokens become one: "mean" or "cls"; "" for other models than encoders.
        query_prefix, passage_prefix: put before texts, as the card of the model asks.
        quality: mean nDCG@10 over 12 collections, as vectors of an index, where it was measured
            (docs/measured/neural.md); the default embedder has .604 there.
        unrelated: the cosine that texts without anything in common reach, from which `min_score` counts.
        is_multilingual: whether it knows other languages than English.
    """

    repository: str
    purpose: str
    pooling: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    is_multilingual: bool = False
    quality: float | None = None
    unrelated: float = 0.0


KNOWN = {
    "all-MiniLM-L6-v2": KnownModel(
        "sentence-transformers/all-MiniLM-L6-v2",
        "encoder, English, the fastest",
        "mean",
        quality=0.647,
        unrelated=0.3,
    ),
    "bge-small-en-v1.5": KnownModel("BAAI/bge-small-en-v1.5", "encoder, English", "cls", _SEARCH),
    "e5-small-v2": KnownModel(
        "intfloat/e5-small-v2", "encoder, English", "mean", "query: ", "passage: ", unrelated=0.7
    ),
    "multilingual-e5-small": KnownModel(
        "intfloat/multilingual-e5-small",
        "encoder, a hundred languages",
        "mean",
        "query: ",
        "passage: ",
        is_multilingual=True,
        unrelated=0.7,
    ),
    "snowflake-arctic-embed-xs": KnownModel(
        "Snowflake/snowflake-arctic-embed-xs", "encoder, English", "cls", _SEARCH
    ),
    "snowflake-arctic-embed-s": KnownModel(
        "Snowflake/snowflake-arctic-embed-s", "encoder, English", "cls", _SEARCH
    ),
    "mdbr-leaf-ir": KnownModel("MongoDB/mdbr-leaf-ir", "encoder, English", "mean", _SEARCH),
    "Splade_PP_en_v1": KnownModel("Qdrant/Splade_PP_en_v1", "sparse encoder, English"),
    "ms-marco-MiniLM-L6-v2": KnownModel("cross-encoder/ms-marco-MiniLM-L6-v2", "cross-encoder, English"),
    "bge-reranker-base": KnownModel(
        "BAAI/bge-reranker-base", "cross-encoder, English and Chinese", is_multilingual=True
    ),
}
"""By the name of the folder that a model gets; names are compared without case."""

_BY_NAME = {name.lower(): model for name, model in KNOWN.items()}


def known_model(name: str) -> KnownModel | None:
    """Return what is known of the model of this name, or None."""
    return _BY_NAME.get(name.lower())
