"""Embeds many texts once, in batches and in parallel, with a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbedderMismatchError, EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.store import EncodingCache, SegmentView, text_hash
from sleuth.vectors import as_vectors, ask_embedder

logger = logger_of("dense")

Progress = Callable[[int, int], None]
"""Told how many texts are done, and of how many."""


class Reading(NamedTuple):
    """What texts say.

    Attributes:
        vectors: shape (n, dimension), float32, of length 1 or zero.
        tokens: the set of the first tokens of each text, one after the other, uint8 (matching.h).
        sizes: bytes of each set, shape (n,), uint16.
    """

    vectors: NDArray[np.float32]
    tokens: NDArray[np.uint8]
    sizes: NDArray[np.uint16]


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder whose tokens can be matched with those of a query: a dense leg keeps them beside the vectors."""

    @property
    def token_weight(self) -> float:
        """What the best match of tokens gains in the default fusion, of the best score."""
        ...

    def read(self, texts: Sequence[str]) -> Reading:
        """Vectors and tokens of these texts, in order; from any thread."""
        ...


def embed_texts(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    cache: EncodingCache | None = None,
    dimension: int = 0,
    batch_size: int = 256,
    threads: int = 4,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return one vector per text, shape (len(texts), dimension); (0, 0) where there are no texts.

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
            cache_entries = cache.get(embedder.fingerprint, some)
            vectors.update((name, np.frombuffer(raw, np.float32)) for name, raw in cache_entries.items())
    dimension = dimension or next((len(vector) for vector in vectors.values()), 0)
    vectors = {name: vector for name, vector in vectors.items() if len(vector) == dimension}
    missing = [name for name in distinct if name not in vectors]
    logger.debug(
        "embedding %d texts with %s, %d are cached", len(missing), embedder.fingerprint, len(vectors)
    )
    for batch in _embed(embedder, missing, distinct, batch_size, threads):
        vectors.update(batch)
        length = next((len(vector) for vector in batch.values() if len(vector) != dimension), dimension)
        if dimension and length != dimension:
            raise mixed(embedder.fingerprint, dimension, length)
        dimension = length
        if cache is not None:
            cache.put(embedder.fingerprint, {name: vector.tobytes() for name, vector in batch.items()})
        if progress is not None:
            progress(len(vectors), len(distinct))
    return np.stack([vectors[name] for name in names])


def check_embedder(recorded: str, current: str, *, path: str = "") -> None:
    """Raises EmbedderMismatchError where an index was made with another embedder than the one given."""
    if recorded != current:
        raise EmbedderMismatchError(
            f"embedder must be {recorded!r}, with which this index was made, got {current!r}; "
            f"to change it, embed everything again: sleuth index --re-embed",
            path=path,
        )


def mixed(embedder: str, recorded: int, current: int) -> EmbeddingError:
    """Return an embedder has changed under one name."""
    return EmbeddingError(
        f"vectors must have {recorded} dimensions, as others of this index have, got {current} from {embedder!r}; "
        "if that is another model now, embed everything again: sleuth index --re-embed, "
        "or Engine.open(path, embedder=..., re_embed=True)",
        service=embedder,
    )


def dimension_of(segments: Sequence[SegmentView]) -> int:
    """Return the length of the vectors of these segments, or 0.

    Raises:
        EmbeddingError: there are several; names two.
    """
    embedders = {view.arrays["vectors"].shape[1]: view.meta["embedder"] for view in segments if len(view)}
    if len(embedders) > 1:
        first, second, *_ = embedders
        raise mixed(str(embedders[first]), first, second)
    return next(iter(embedders), 0)


def _embed(
    embedder: Embedder, names: Sequence[str], texts: Mapping[str, str], batch_size: int, threads: int
) -> Iterator[dict[str, NDArray[np.float32]]]:
    """Vectors by name, batch by batch, in order; at most `threads` batches at a time."""

    def embed(batch: list[str]) -> dict[str, NDArray[np.float32]]:
        vectors = ask_embedder(
            embedder.embed_documents, [texts[name] for name in batch], embedder.fingerprint
        )
        return dict(zip(batch, as_vectors(vectors, len(batch), embedder.fingerprint), strict=True))

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
