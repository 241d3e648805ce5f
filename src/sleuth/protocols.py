"""The protocols: where another implementation can be put in, each with its contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from sleuth.filters import FilterForm
    from sleuth.types import Chunk, Document, Ranking, RetrievedItem


@runtime_checkable
class Retriever(Protocol):
    """Answers a query with a ranking. Combinations of retrievers are retrievers.

    Contract: at most `k` items, best first, ties by id; a `k` above what there is returns all there is; `k` of 0
    returns none; `k` below 0 or not an int raises ArgumentError; the ranking for k is the head of that for k + 1. Only
    surplus passages of one document (`Engine.retrieve`) wait behind the first ten, again best first.
    The filter is honoured before the cut or refused with FilterError, never dropped. Safe to call from threads.
    """

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the best `k` passages for `query` among those that match `filter`."""


@runtime_checkable
class Embedder(Protocol):
    """Text to vectors.

    Contract: equal texts get equal vectors within one fingerprint; all vectors have one length, finite, float32 or
    convertible; an empty list gives an empty list. Failures raise EmbeddingError.

    An embedder may have more: `batch_size`, the texts that it takes best in one call; `cheap`, True where vectors
    cost so little that commits wait for them and no cache keeps them; `weight`, of its vectors in the default
    fusion, where it was measured; `unrelated`, the cosine that texts without anything in common reach, from which
    `min_score` counts; `has_meaning(query)`, False for gibberish, whose vector `min_score` ignores (the default
    embedder tells where it is left out); `code_weight`, what its ranks count beside those of words in code search,
    0 and more, .25 without it; `knowledge(query)`, how well it knows the words of a query, 0 to 1;
    `salience(words)`, how much each word says in any corpus, above 0; `knows(word)`, whether a word is in its
    vocabulary; `is_mistyped(word)`, whether another letter makes it a word that it knows far better; `read` and
    `token_weight`, where its tokens can be matched with those of a query (`sleuth.dense.embedding.TokenEmbedder`).
    """

    @property
    def fingerprint(self) -> str:
        """Model, dimension, normalisation and prefixes: two embedders are interchangeable if and only if equal."""

    def embed_query(self, text: str) -> Sequence[float] | NDArray[np.floating[Any]]:
        """Return one vector, shape (dimension,)."""

    def embed_documents(
        self, texts: list[str]
    ) -> Sequence[Sequence[float]] | NDArray[np.floating[Any]] | Sequence[NDArray[np.floating[Any]]]:
        """Return one vector per text, shape (len(texts), dimension), in order."""


class CutText(str):
    """A text that a model's limit of tokens ended."""

    __slots__ = ()


@runtime_checkable
class Generator(Protocol):
    """Text in, text out.

    Contract: failures raise GenerationError; a stream that breaks raises after the pieces that arrived. A text that the
    model's limit of tokens ended is a `CutText`, and so is the last piece of such a stream, which may be empty.
    """

    def complete(self, prompt: str) -> str:
        """Return the model's whole answer to `prompt`."""

    def stream(self, prompt: str) -> Iterator[str]:
        """Yield the answer in pieces whose concatenation is what `complete` gives."""


@runtime_checkable
class Reranker(Protocol):
    """Scores passages again, with more care than the first ranking could afford.

    Contract: returns a subset of `items` with new scores, best first, ties by id; never adds an item.
    """

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> Sequence[RetrievedItem]:
        """`items` in a better order."""


@runtime_checkable
class DocumentChunker(Protocol):
    """Cuts documents into the passages that are indexed and found.

    Contract: each chunk is a slice of the document's text, with visible characters; they ascend by start; equal
    documents give equal chunks within one fingerprint. `sleuth.ingest.chunks_at` makes chunks of places.
    """

    @property
    def fingerprint(self) -> str:
        """Name and settings: two chunkers cut alike if and only if equal."""

    def split(self, document: Document) -> Sequence[Chunk]:
        """Return the chunks of `document` in order; none if it is blank."""


class Closing(ABC):
    """A context manager that closes itself at the end of a `with` block, whatever happened in it."""

    @abstractmethod
    def close(self) -> None:
        """End it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
