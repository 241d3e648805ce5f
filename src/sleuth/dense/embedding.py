"""How do many texts become vectors once, in batches, in parallel, and never a second time?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbedderMismatchError, EmbeddingError
from sleuth.protocols import Embedder
from sleuth.store.hashing import text_hash

Progress = Callable[[int, int], None]
"""Told how many texts are done, and of how many."""


class EmbeddingCache(Protocol):
    """Vectors that were made before, as bytes of float32, by embedder and hash of the text embedded."""

    def get(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """What there is of these; absent where never put."""
        ...

    def put(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keeps these."""
        ...


def embed_texts(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    cache: EmbeddingCache | None = None,
    dimension: int = 0,
    batch_size: int = 256,
    threads: int = 4,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """One vector per text, shape (len(texts), dimension); (0, 0) where there are no texts.

    Each distinct text is embedded once. Batches that are done stay in the cache if a later one fails, so
    that a second attempt goes on where the first one stopped. The cache is used from the calling thread
    only.

    Args:
        dimension: that the vectors must have, those in the cache included; 0 for whatever the first has.

    Raises:
        EmbeddingError: the embedder failed, or gave something else than one finite vector per text, all of
            one length.
    """
    if not texts:
        return np.zeros((0, 0), np.float32)
    names = [text_hash(text) for text in texts]
    distinct = dict(zip(names, texts, strict=True))
    vectors: dict[str, NDArray[np.float32]] = {}
    if cache is not None:
        for some in _batches(list(distinct), batch_size):
            found = cache.get(embedder.fingerprint, some)
            vectors.update((name, np.frombuffer(raw, np.float32)) for name, raw in found.items())
    dimension = dimension or next((len(vector) for vector in vectors.values()), 0)
    vectors = {name: vector for name, vector in vectors.items() if len(vector) == dimension}
    missing = [name for name in distinct if name not in vectors]
    for done in _embed(embedder, missing, distinct, batch_size, threads):
        vectors.update(done)
        given = next((len(vector) for vector in done.values() if len(vector) != dimension), dimension)
        if dimension and given != dimension:
            raise mixed(embedder.fingerprint, dimension, given)
        dimension = given
        if cache is not None:
            cache.put(embedder.fingerprint, {name: vector.tobytes() for name, vector in done.items()})
        if progress is not None:
            progress(len(vectors), len(distinct))
    return np.stack([vectors[name] for name in names])


def as_vectors(vectors: object, n: int, embedder: Embedder) -> NDArray[np.float32]:
    """What an embedder returned, as shape (n, dimension), checked to be that, finite and of a length above 0."""
    try:
        with np.errstate(over="ignore"):  # what single precision does not hold is infinite, and refused below
            checked = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"{embedder.fingerprint} gave something else than vectors: {error}", service=embedder.fingerprint
        ) from error
    if checked.ndim != 2 or len(checked) != n or (n and not checked.shape[1]):
        raise EmbeddingError(
            f"{embedder.fingerprint} gave an array of shape {checked.shape} for {n} texts",
            service=embedder.fingerprint,
        )
    if not np.isfinite(checked).all():
        raise EmbeddingError(
            f"{embedder.fingerprint} gave a vector that is not finite", service=embedder.fingerprint
        )
    return checked


def check_embedder(recorded: str, given: str, *, path: str = "") -> None:
    """Raises EmbedderMismatchError where an index was made with another embedder than the one given."""
    if recorded != given:
        raise EmbedderMismatchError(
            f"embedder must be {recorded!r}, with which this index was made, got {given!r}; "
            f"to change it, embed everything again: sleuth index --re-embed",
            path=path,
        )


def mixed(embedder: str, kept: int, given: int) -> EmbeddingError:
    """An embedder has changed under one name."""
    return EmbeddingError(
        f"vectors must have {kept} dimensions, as others of this index have, got {given} from {embedder!r}; "
        "if that is another model now, embed everything again: sleuth index --re-embed, "
        "or Engine.open(path, embedder=..., re_embed=True)",
        service=embedder,
    )


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows scaled to length 1, shape (n, dimension); zeros stay."""
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


def _embed(
    embedder: Embedder, names: Sequence[str], texts: Mapping[str, str], batch_size: int, threads: int
) -> Iterator[dict[str, NDArray[np.float32]]]:
    """Vectors by name, batch by batch, in order; at most `threads` batches at a time."""

    def embed(batch: list[str]) -> dict[str, NDArray[np.float32]]:
        made = as_vectors(embedder.embed_documents([texts[name] for name in batch]), len(batch), embedder)
        return dict(zip(batch, made, strict=True))

    batches = list(_batches(names, batch_size))
    if len(batches) <= 1 or threads <= 1:
        yield from map(embed, batches)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(batches))) as pool:
        running = [pool.submit(embed, batch) for batch in batches]
        try:
            for future in running:
                yield future.result()
        finally:
            for future in running:
                future.cancel()


def _batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    rest = iter(names)
    while batch := list(islice(rest, size)):
        yield batch
