"""Vectors of sentences and questions, of length 1, for comparing what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.protocols import Embedder

T = TypeVar("T")


def name_of(embedder: Any) -> str:
    """Return what messages call an embedder."""
    return str(getattr(embedder, "fingerprint", None) or type(embedder).__name__)


def ask(embedder: Any, call: Callable[[T], Any], argument: T) -> Any:
    """Return what a call of an embedder gives; raises EmbeddingError for whatever it raises."""
    from sleuth.vectors import ask_embedder

    return ask_embedder(call, argument, name_of(embedder))


def unit_vectors(embedder: Embedder, texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, shape (len(texts), dimension); a vector of zeros stays.

    Raises:
        EmbeddingError: the embedder failed, or gave something else than one finite vector per text.
    """
    from sleuth.vectors import as_vectors, unit

    vectors = ask(embedder, embedder.embed_documents, texts)
    return unit(as_vectors(vectors, len(texts), name_of(embedder)))


def unit_query(embedder: Embedder, question: str) -> NDArray[np.float32]:
    """Return the vector of a question, shape (dimension,); raises as `unit_vectors`."""
    from sleuth.vectors import as_vectors, unit

    vector = ask(embedder, embedder.embed_query, question)
    scaled: NDArray[np.float32] = unit(as_vectors([vector], 1, name_of(embedder)))[0]
    return scaled
