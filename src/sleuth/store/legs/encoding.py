"""What models make of texts, made once for each text and kept in a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from sleuth.store.legs.leg import Rows

T = TypeVar("T")

_TOGETHER: Final = 256
"""Texts that a cache is asked for at a time."""


def text_hash(text: str) -> str:
    """Return the hash that finds equal texts, 32 hex digits (BLAKE2b of its UTF-8)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class EncodingCache(Protocol):
    """What a model made of texts before, as bytes, by fingerprint of the model and hash of the text."""

    def get(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the cached ones of these."""

    def put(self, fingerprint: str, encodings: Mapping[str, bytes]) -> None:
        """Keep these."""

    def forget(self, fingerprint: str, texts: Callable[[Rows], Iterable[str]]) -> None:
        """Forget those of texts that no row has any more, where they may be most of many.

        Args:
            texts: what is encoded of rows.
        """


class CachedForm(NamedTuple):
    """How a cache keeps what one model makes of texts.

    Attributes:
        cache: None keeps nothing.
        fingerprint: of the model.
    """

    cache: EncodingCache | None
    fingerprint: str


def encode_once(
    texts: Sequence[str],
    encode: Callable[[list[str]], Iterable[Sequence[T]]],
    form: CachedForm,
    *,
    read: Callable[[bytes], T | None],
    write: Callable[[T], bytes],
    progress: Callable[[int, int], None] | None = None,
) -> list[T]:
    """Return what a model makes of each text; each distinct text is encoded once.

    Batches that are done stay in the cache if a later one fails, so that a second attempt goes on where the first one
    stopped. The cache is used from the calling thread only.

    Args:
        encode: yields the encodings of texts batch by batch, in order.
        read: returns None for bytes that cannot be of this model.
        progress: called after each batch with the texts that are done, and all.
    """
    names = list(map(text_hash, texts))
    distinct = dict(zip(names, texts, strict=True))
    encodings: dict[str, T] = {}
    if form.cache is not None:
        for group in batches_of(distinct, _TOGETHER):
            for name, raw in form.cache.get(form.fingerprint, group).items():
                if (encoding := read(raw)) is not None:
                    encodings[name] = encoding
    missing = iter([name for name in distinct if name not in encodings])
    texts_to_encode = [text for name, text in distinct.items() if name not in encodings]
    for batch in encode(texts_to_encode) if texts_to_encode else ():
        new_encodings = dict(zip(islice(missing, len(batch)), batch, strict=True))
        encodings |= new_encodings
        if form.cache is not None:
            form.cache.put(
                form.fingerprint, {name: write(encoding) for name, encoding in new_encodings.items()}
            )
        if progress is not None:
            progress(len(encodings), len(distinct))
    return [encodings[name] for name in names]


def batches_of(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield values in lists of this length; the last one may be shorter."""
    unread_values = iter(values)
    while batch := list(islice(unread_values, size)):
        yield batch
