"""Checks of the vectors that embedders give, and their scaling to length 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError


def as_vectors(vectors: object, n: int, embedder: str) -> NDArray[np.float32]:
    """Return what an embedder gave for `n` texts, shape (n, dimension).

    Args:
        embedder: its fingerprint or name, for messages.

    Raises:
        EmbeddingError: something else than `n` finite vectors of one length above 0.
    """
    try:
        with np.errstate(over="ignore"):  # what single precision does not hold is infinite, and refused below
            checked = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as error:
        given = f"{str(vectors)[:80]!r} ({error})"
        raise _unfit("vectors of numbers", given, embedder) from error
    if checked.ndim != 2 or len(checked) != n or (n and not checked.shape[1]):
        raise _unfit("one vector per text", f"an array of shape {checked.shape} for {n} texts", embedder)
    if not np.isfinite(checked).all():
        raise _unfit("finite numbers", "a vector that is not finite", embedder)
    return checked


def _unfit(rule: str, given: str, embedder: str) -> EmbeddingError:
    return EmbeddingError(f"embedder must give {rule}, got {given} from {embedder!r}", service=embedder)


def as_vector(vector: object, embedder: str) -> NDArray[np.float32]:
    """Return what an embedder gave for one text, shape (dimension,); raises as `as_vectors`."""
    checked: NDArray[np.float32] = as_vectors([vector], 1, embedder)[0]
    return checked


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows scaled to length 1, shape (n, dimension); zeros stay."""
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    odd = ~((lengths > 1e-15) & (lengths < 1e15))[:, 0]  # whose squares single precision does not hold
    lengths[odd] = 1
    scaled: NDArray[np.float32] = vectors / lengths
    if odd.any():
        wide = vectors[odd].astype(np.float64)
        exact = np.linalg.norm(wide, axis=1, keepdims=True)
        exact[exact == 0] = 1
        scaled[odd] = wide / exact
    return scaled
