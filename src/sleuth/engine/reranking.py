"""Reranking by models: an encoder, whose vectors of passages are kept, or a cross-encoder, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sleuth.compose import CrossEncoderReranker
from sleuth.compose.arrange import NotedItems
from sleuth.compose.items import best_first, rescored
from sleuth.compose.rerank import reranked
from sleuth.dense import DenseLeg
from sleuth.dense.embedding import embed_texts
from sleuth.engine.embedders import RecordCache
from sleuth.errors import ArgumentError, EmbeddingError, StoreError
from sleuth.extensions import extension, extensions
from sleuth.remote import Deadline
from sleuth.store.legs.recent import RecentValues
from sleuth.store.store import Store
from sleuth.text.detection import language_of_query
from sleuth.text.languages import ENGLISH, LANGUAGES
from sleuth.vectors import embedded_text, unit, unit_query

if TYPE_CHECKING:
    from sleuth.engine.index import Backend
    from sleuth.engine.request import SearchRequest
    from sleuth.protocols import Embedder, Reranker
    from sleuth.store import EncodingCache, Rows
    from sleuth.types import RetrievedItem

RERANKED = 100
"""Passages that a reranker is given."""
FIRST = 20
"""Passages that an encoder compares with a query."""
WEIGHT = 2.0
"""Of the similarity, beside the score that a passage had (docs/measured/neural.md)."""
TOGETHER = 4
"""Passages that are embedded before the clock is looked at."""
_FOREIGN: Final = LANGUAGES.keys() - {ENGLISH}
IN_MEMORY = 5_000
"""Vectors that a process keeps: 8 MB at 384 dimensions."""


class RerankModel(NamedTuple):
    """A model that reranks.

    Attributes:
        model: an encoder, whose vectors of passages are kept, or a cross-encoder.
        is_english: whether it knows English alone.
    """

    model: Embedder | CrossEncoderReranker
    is_english: bool = False


class RerankModels(Protocol):
    """The models of a plugin that can rerank."""

    def default(self) -> str:
        """Return the name of an encoder that is here and reranks unless a request says otherwise; "" for none."""

    def open(self, name: str) -> RerankModel:
        """Return a model.

        Raises:
            MissingPackageError: what loads it is not installed.
            EmbeddingError: it is not here; gives the command that gets it.
        """


class Reranking(NamedTuple):
    """How the passages of one request are reranked.

    Attributes:
        reranker: None leaves them as they are.
        is_default: whether the request leaves it to the index: a model that fails is a note then, and no error.
        is_english: whether the model knows English alone.
        deadline: of the request.
        explain: whether passages keep explanations.
    """

    reranker: Reranker | None
    is_default: bool = False
    is_english: bool = False
    deadline: Deadline | None = None
    explain: bool = True

    @classmethod
    def of(cls, request: SearchRequest, deadline: Deadline | None, backend: Backend | None) -> Reranking:
        """Return how a request is reranked.

        Args:
            backend: of the index, which keeps the vectors of an encoder; None for sources without one.

        Raises:
            MissingPackageError: a name, without the extra that loads it.
            EmbeddingError: a name that no installed model has.
        """
        value = request.rerank
        is_default = value is None
        is_plain = request.legs is None and request.fusion is None and request.sort is None
        if value is None and backend is not None and is_plain:
            value = backend.default_reranker
        if value is None or value == "":
            return NOT_RERANKED
        reranker = value
        is_english = False
        if isinstance(reranker, str):
            kind, _, name = reranker.rpartition(":")
            plugin = extension("rerankers", kind or "onnx")
            if plugin is None:
                names = ", ".join(extensions("rerankers")) or "none"
                raise ArgumentError(
                    f"rerank must name a model of a plugin (installed: {names}), got {reranker!r}"
                )
            models: RerankModels = plugin.load()
            model, is_english = models.open(name)
            if isinstance(model, CrossEncoderReranker):
                reranker = model
            else:
                store = None if backend is None else backend.store
                reranker = EncoderReranker(model, QueryCache(store, DenseLeg(model).texts))
        return cls(reranker, is_default, is_english, deadline, request.explain)

    @property
    def depth(self) -> int:
        """How many passages the reranker takes."""
        if self.reranker is None:
            return 0
        return self.reranker.first if isinstance(self.reranker, EncoderReranker) else RERANKED

    def apply(self, query: str, items: Sequence[RetrievedItem], *, is_english: bool) -> NotedItems:
        """Return passages in the order of the reranker, with its scores; a note says where a deadline left some out.

        Args:
            is_english: whether query and best passages are English, for a model that knows nothing else.

        Raises:
            EmbeddingError: the model fails, and the request names it.
        """
        reranker = self.reranker
        first = items[: self.depth]  # no more, so that their order does not depend on how many are asked for
        if reranker is None or (self.is_default and self.is_english and not is_english):
            return NotedItems(items)
        if self.deadline is not None and isinstance(reranker, EncoderReranker | CrossEncoderReranker):
            seconds = self.deadline.remaining()
            if not seconds:
                return NotedItems(items, ["the deadline left no time to rerank"])
            reranker = replace(reranker, seconds=min(seconds, reranker.seconds or seconds))
        try:
            taken = items if isinstance(reranker, EncoderReranker) else first
            answer = reranked(reranker, query, taken, explain=self.explain)
        except EmbeddingError as error:
            if not self.is_default:
                raise
            return NotedItems(items, [f"not reranked: {error}"])
        compared, count = sum(item.score is not None for item in answer), len(answer)
        answer += [item.model_copy(update={"score": None}) for item in items[len(taken) :]]
        if not 0 < compared < count:
            return NotedItems(answer)
        part = f"{compared:,} of {count:,} passages"
        note = f"{part} were reranked before the deadline; the others follow, without scores"
        return NotedItems(answer, [note])


NOT_RERANKED: Final = Reranking(None)


def are_english(query: str, items: Sequence[RetrievedItem]) -> bool:
    """Return whether neither a query nor most of its passages are known to be in another language."""
    foreign_items = [item for item in items if str(item.metadata.get("language")) in _FOREIGN]
    language = language_of_query(tuple(query.casefold().split())).code
    return language not in _FOREIGN and 2 * len(foreign_items) <= len(items)


@dataclass(frozen=True)
class EncoderReranker:
    """A `Reranker` by an encoder: it compares the first passages with the query, and fuses that with their scores.

    The score of a passage is (s + weight * c) / (1 + weight). s is its former score and c the cosine of its vector and
    the query's, both stretched so that the lowest of the compared passages has 0 and the highest 1. Those after the
    compared ones have a c of 0: they stay behind them, in their order.

    Attributes:
        embedder: see `sleuth.protocols.Embedder`.
        cache: where vectors of passages are looked up and kept; None embeds them for each query.
        first: passages that are compared, 1 or more.
        weight: of the similarity, 0 or more.
        seconds: after these no more passages are embedded, once a few are; None embeds all. Passages that would have
            been compared, and those after them, have no score then.
    """

    embedder: Embedder
    cache: EncodingCache | None = None
    first: int = FIRST
    weight: float = WEIGHT
    seconds: float | None = None

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        """Return all items, best first, ties by id.

        Raises:
            EmbeddingError: the embedder fails.
        """
        if not items:
            return []
        vectors = self._vectors([text_of(item) for item in items[: self.first]])
        n = len(vectors)
        cosines = np.zeros(len(items))
        cosines[:n] = unit(vectors) @ unit_query(self.embedder, query)
        values = [item.score for item in items if item.score is not None]
        # Else evenly down by place.
        values = values if len(values) == len(items) else list(range(len(items), 0, -1))
        closeness, former = _shares(cosines, n), _shares(np.array(values, np.float64), n)
        closeness[n:] = 0
        scores = (former + self.weight * closeness) / (1 + self.weight)
        end = n if n < min(self.first, len(items)) else len(items)
        scored = [
            rescored(item, score, "rerank", FORMULA, cosine=cosine, weight=self.weight)
            for item, score, cosine in zip(items[:end], scores.tolist(), cosines.tolist(), strict=False)
        ]
        return [*best_first(scored), *(item.model_copy(update={"score": None}) for item in items[end:])]

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of as many texts as there is time for, shape (n, dimension)."""
        deadline = Deadline(self.seconds)
        step = len(texts) if self.seconds is None else TOGETHER
        vectors = []
        for start in range(0, len(texts), step):
            if start and deadline.passed():
                break
            batch = texts[start : start + step]
            vectors.append(embed_texts(self.embedder, batch, cache=self.cache, threads=1))
        return np.concatenate(vectors)


FORMULA = "(former score + weight * cosine) / (1 + weight), each from its least to its greatest value"


def _shares(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return values stretched so that the lowest of the first n is 0 and the highest 1."""
    low, high = values[:n].min(), values[:n].max()
    shares: NDArray[np.float64] = (values - low) / (high - low if high > low else 1.0)
    return shares


def text_of(item: RetrievedItem) -> str:
    """Return what is embedded of a passage: the same text as in a dense leg, so that both share vectors."""
    return embedded_text({**item.metadata, "text": item.text})


class QueryCache:
    """An `EncodingCache` for vectors that queries need: in memory, and in the record of an index.

    Nothing waits for the record: where another process writes to it, or nobody may, memory alone has the vectors.
    Safe to share between threads.
    """

    _memory = RecentValues[tuple[str, str], bytes](IN_MEMORY)

    def __init__(self, store: Store | None, texts: Callable[[Rows], Iterable[str]]) -> None:
        """Create a cache over the record of a store; None for memory alone, which all caches share.

        Args:
            texts: what is embedded of rows: vectors of others are forgotten when they are most of many.
        """
        self._record = RecordCache(store, timeout=0) if isinstance(store, Store) else None
        self._texts = texts

    def get(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the cached vectors, by text hash; hashes without one are left out.

        Looks in memory, then in the record of the index.

        Args:
            fingerprint: of the embedder.
        """
        vectors = {text_hash: self._memory.get((fingerprint, text_hash)) or b"" for text_hash in hashes}
        missing = [text_hash for text_hash, vector in vectors.items() if not vector]
        if missing and self._record is not None:
            recorded_vectors = self._record.get(fingerprint, missing)
            self._remember(fingerprint, recorded_vectors)
            vectors |= recorded_vectors
        return {text_hash: vector for text_hash, vector in vectors.items() if vector}

    def put(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Cache vectors by text hash, in memory and in the record of the index, and drop surplus old ones there.

        If the record cannot be written, because another process writes to it or nobody may, only memory has them.

        Args:
            fingerprint: of the embedder.
        """
        self._remember(fingerprint, vectors)
        if self._record is not None:
            try:
                self._record.put(fingerprint, vectors)
                self._record.forget(fingerprint, self._texts)
            except StoreError:
                return

    def forget(self, fingerprint: str, texts: Callable[[Rows], Iterable[str]]) -> None:
        """Do nothing: `put` forgets."""

    def _remember(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        for text_hash, vector in vectors.items():
            self._memory.put((fingerprint, text_hash), vector)
