"""Embeds many texts once, in batches and in parallel, with a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.store import CachedForm, EncodingCache, SegmentView, batches_of, encode_once
from sleuth.vectors import as_vectors, ask_embedder

logger = logger_of("dense")

Part = TypeVar("Part")
Result = TypeVar("Result")

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

    Each distinct text is embedded once; see `encode_once`.

    Args:
        dimension: that the vectors must have, those in the cache included; 0 for whatever the first has.

    Raises:
        EmbeddingError: the embedder failed, or gave something else than one finite vector per text, all of
            one length.
    """
    if not texts:
        return np.zeros((0, 0), np.float32)

    def read(raw: bytes) -> NDArray[np.float32] | None:
        nonlocal dimension
        vector = np.frombuffer(raw, np.float32)
        dimension = dimension or len(vector)
        return vector if len(vector) == dimension else None

    def embed_batch(batch: list[str]) -> NDArray[np.float32]:
        vectors = ask_embedder(embedder.embed_documents, batch, embedder.fingerprint)
        return as_vectors(vectors, len(batch), embedder.fingerprint)

    def embed(missing: list[str]) -> Iterator[list[NDArray[np.float32]]]:
        nonlocal dimension
        logger.debug("embedding %d texts with %s, others are cached", len(missing), embedder.fingerprint)
        for vectors in in_threads(embed_batch, list(batches_of(missing, batch_size)), threads):
            length = vectors.shape[1]
            if dimension and length != dimension:
                raise mixed(embedder.fingerprint, dimension, length)
            dimension = length
            yield list(vectors)

    form = CachedForm(cache, embedder.fingerprint)
    vectors: list[NDArray[np.float32]] = encode_once(
        texts, embed, form, read=read, write=lambda vector: vector.tobytes(), progress=progress
    )
    return np.stack(vectors)


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
    embedders = {int(view.meta["dimension"]): view.meta["embedder"] for view in segments if len(view)}
    if len(embedders) > 1:
        first, second, *_ = embedders
        raise mixed(str(embedders[first]), first, second)
    return next(iter(embedders), 0)


def in_threads(call: Callable[[Part], Result], parts: Sequence[Part], threads: int) -> Iterator[Result]:
    """Yield what a call makes of each part, in order; at most `threads` calls at a time."""
    if len(parts) <= 1 or threads <= 1:
        yield from map(call, parts)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        yield from pool.map(call, parts)
