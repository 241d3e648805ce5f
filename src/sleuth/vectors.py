"""What embedders read of passages, checks of the vectors that they give, and their scaling to length 1."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError

if TYPE_CHECKING:
    from sleuth.protocols import Embedder

R = TypeVar("R")
T = TypeVar("T")
EMBEDDED_FIELDS = ("title", "heading", "text")
"""The texts of a passage that models read, in this order."""
_ROWS = 1_000
"""Vectors that are scaled at once."""


def embedded_text(texts: Mapping[str, object]) -> str:
    """Return what is embedded of a passage with these texts by field; others than texts do not count."""
    return _joined(text for name in EMBEDDED_FIELDS if isinstance(text := texts.get(name), str))


def embedded_texts(
    texts: Mapping[str, Sequence[str]], n: int, fields: Sequence[str] = EMBEDDED_FIELDS
) -> list[str]:
    """Return what is embedded of `n` passages with these texts by field, column-wise."""
    columns = [texts[name] for name in fields if name in texts]
    return [_joined(parts) for parts in zip(*columns, strict=True)] or [""] * n


def _joined(texts: Iterable[str]) -> str:
    """Return texts of a passage as one; empty ones leave no trace."""
    return " ".join(text for text in texts if text)


def checked_vectors(vectors: object, n: int) -> NDArray[np.float32]:
    """Return vectors for `n` texts as an array, shape (n, dimension).

    Raises:
        ValueError: something else than `n` finite vectors of one length above 0; says the rule and what came.
    """
    try:
        numbers = np.asarray(vectors)
        with np.errstate(over="ignore"):  # what single precision does not hold is infinite, and refused below
            matrix: NDArray[np.float32] = numbers.astype(np.float32, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"vectors of numbers, got {str(vectors)[:80]!r} ({error})") from error
    if numbers.size and numbers.dtype.kind not in "fiu":
        raise ValueError(f"vectors of numbers, got {str(vectors)[:80]!r}")
    if matrix.ndim != 2 or len(matrix) != n or (n and not matrix.shape[1]):
        raise ValueError(f"one vector per text, got an array of shape {matrix.shape} for {n} texts")
    if not np.isfinite(matrix).all():
        raise ValueError("finite numbers, got a vector that is not finite")
    return matrix


def as_vectors(vectors: object, n: int, embedder: str) -> NDArray[np.float32]:
    """Return what an embedder gave for `n` texts, shape (n, dimension).

    Args:
        embedder: its fingerprint or name, for messages.

    Raises:
        EmbeddingError: something else than `n` finite vectors of one length above 0.
    """
    try:
        return checked_vectors(vectors, n)
    except ValueError as error:
        raise EmbeddingError(f"embedder must give {error} from {embedder!r}", service=embedder) from error


def ask_embedder(call: Callable[[T], R], argument: T, name: str) -> R:
    """Return what a call of an embedder, such as `embedder.embed_query`, gives for an argument, unchecked.

    Args:
        name: the embedder's fingerprint or name, for messages.

    Raises:
        EmbeddingError: the embedder raised any exception but a TimeoutError; chained to it.
        MemoryError: the process has too little memory.
    """
    try:
        return call(argument)
    except (EmbeddingError, TimeoutError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError(str(error)) from error
        raise EmbeddingError(
            f"embedder {name!r} failed: {type(error).__name__}: {error}", service=name
        ) from error


def ask_if_able(embedder: object, method: str, argument: Any) -> Any:
    """Return what a method that only some embedders have gives for an argument; None if the embedder lacks it.

    Raises:
        EmbeddingError: as of `ask_embedder`.
    """
    call = getattr(embedder, method, None)
    return None if call is None else ask_embedder(call, argument, name_of(embedder))


def as_vector(vector: object, embedder: str) -> NDArray[np.float32]:
    """Return what an embedder gave for one text, shape (dimension,); raises as `as_vectors`."""
    row: NDArray[np.float32] = as_vectors([vector], 1, embedder)[0]
    return row


def name_of(embedder: object) -> str:
    """Return what messages call an embedder."""
    return str(getattr(embedder, "fingerprint", None) or type(embedder).__name__)


def unit_vectors(embedder: Embedder, texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors of texts scaled to length 1, shape (len(texts), dimension); a vector of zeros stays.

    Raises:
        EmbeddingError: the embedder failed, or gave something else than one finite vector per text.
    """
    name = name_of(embedder)
    return unit(as_vectors(ask_embedder(embedder.embed_documents, texts, name), len(texts), name))


def unit_query(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Return the vector of a query scaled to length 1, shape (dimension,); raises as `unit_vectors`."""
    name = name_of(embedder)
    scaled: NDArray[np.float32] = unit(as_vector(ask_embedder(embedder.embed_query, query, name), name)[None])
    return scaled[0]  # type: ignore[no-any-return]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows scaled to length 1, shape (n, dimension); zeros stay."""
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    odd = ~((lengths > 1e-15) & (lengths < 1e15))[:, 0]  # whose squares single precision does not hold
    lengths[odd] = 1
    scaled = np.empty_like(vectors)
    # To divide by a column at once, numpy needs a buffer. Where memory lacks for it, numpy 2.4 ends the process.
    for start in range(0, len(vectors), _ROWS):
        rows = slice(start, start + _ROWS)
        np.divide(vectors[rows], np.repeat(lengths[rows], vectors.shape[1], axis=1), out=scaled[rows])
    if odd.any():
        wide = vectors[odd].astype(np.float64)
        exact = np.linalg.norm(wide, axis=1, keepdims=True)
        exact[exact == 0] = 1
        scaled[odd] = wide / exact
    return scaled
