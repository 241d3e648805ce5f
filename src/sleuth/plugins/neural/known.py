"""Models that Sleuth knows by name: where they come from, and what their folders do not say."""

from __future__ import annotations

from typing import NamedTuple

_SEARCH = "Represent this sentence for searching relevant passages: "
_E5 = ("query: ", "passage: ")


class KnownModel(NamedTuple):
    """A model of a hub.

    Attributes:
        repository: where `sleuth index models pull` gets it.
        pooling: how the vectors of tokens become one: "mean" or "cls"; "" for other models than encoders.
        prefixes: put before queries and before passages, as the card of the model asks.
        is_multilingual: whether it knows other languages than English.
        unrelated: the cosine that texts without anything in common reach, from which `min_score` counts.
    """

    repository: str
    pooling: str = ""
    prefixes: tuple[str, str] = ("", "")
    is_multilingual: bool = False
    unrelated: float = 0.0


KNOWN = {  # a value of `unrelated` above 0 keeps `min_score` from passing gibberish
    "all-MiniLM-L6-v2": KnownModel("sentence-transformers/all-MiniLM-L6-v2", "mean", unrelated=0.3),
    "bge-small-en-v1.5": KnownModel("BAAI/bge-small-en-v1.5", "cls", (_SEARCH, "")),
    "e5-small-v2": KnownModel("intfloat/e5-small-v2", "mean", _E5, unrelated=0.7),  # cosines from .7
    "multilingual-e5-small": KnownModel("intfloat/multilingual-e5-small", "mean", _E5, True, 0.7),
    "snowflake-arctic-embed-xs": KnownModel("Snowflake/snowflake-arctic-embed-xs", "cls", (_SEARCH, "")),
    "snowflake-arctic-embed-s": KnownModel("Snowflake/snowflake-arctic-embed-s", "cls", (_SEARCH, "")),
    "mdbr-leaf-ir": KnownModel("MongoDB/mdbr-leaf-ir", "mean", (_SEARCH, "")),
    "Splade_PP_en_v1": KnownModel("Qdrant/Splade_PP_en_v1"),
    "ms-marco-MiniLM-L6-v2": KnownModel("cross-encoder/ms-marco-MiniLM-L6-v2"),
    "bge-reranker-base": KnownModel("BAAI/bge-reranker-base", is_multilingual=True),
}
"""By the name of the folder that a model gets; names are compared without case. The first encoder that is installed
reranks by default."""

_BY_NAME = {name.lower(): model for name, model in KNOWN.items()}


def known_model(name: str) -> KnownModel | None:
    """Return what is known of the model of this name, or None."""
    return _BY_NAME.get(name.lower())
