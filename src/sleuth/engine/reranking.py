"""Reranking by models: an encoder, whose vectors of passages are kept, or a cross-encoder, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sleuth.compose.arrange import NotedItems
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.extensions import extension, extensions
from sleuth.text.detection import language_of_query
from sleuth.text.languages import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from sleuth.compose import CrossEncoderReranker
    from sleuth.engine.index import Backend
    from sleuth.engine.request import SearchRequest
    from sleuth.protocols import Embedder, Reranker
    from sleuth.remote import Deadline
    from sleuth.store.store import Store
    from sleuth.types import RetrievedItem

RERANKED = 100
"""Passages that a reranker is given."""


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


@dataclass(frozen=True, slots=True)
class Reranking:
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
        reranker = None if value == "" else value
        is_english = False
        if isinstance(reranker, str):
            model, is_english = _model_named(reranker)
            reranker = _reranker_of(model, None if backend is None else backend.store)
        return cls(reranker, is_default, is_english, deadline, request.explain)

    @property
    def depth(self) -> int:
        """How many passages the reranker takes."""
        if self.reranker is None:
            return 0
        from sleuth.engine.encoder import EncoderReranker

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
        from sleuth.compose import CrossEncoderReranker
        from sleuth.compose.rerank import reranked
        from sleuth.engine.encoder import EncoderReranker

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


def are_english(query: str, items: Sequence[RetrievedItem]) -> bool:
    """Return whether neither a query nor most of its passages are known to be in another language."""
    codes = LANGUAGES.keys() - {ENGLISH}
    foreign_count = 0
    for item in items:
        foreign_count += str(item.metadata.get("language")) in codes
    return language_of_query(tuple(query.casefold().split())).code not in codes and 2 * foreign_count <= len(
        items
    )


def _model_named(name: str) -> RerankModel:
    """Return the model "PLUGIN:NAME", or that of the plugin for ONNX with a bare name."""
    kind, _, model = name.rpartition(":")
    plugin = extension("rerankers", kind or "onnx")
    if plugin is None:
        names = ", ".join(extensions("rerankers")) or "none"
        raise ArgumentError(f"rerank must name a model of a plugin (installed: {names}), got {name!r}")
    models: RerankModels = plugin.load()
    return models.open(model)


def _reranker_of(model: Embedder | CrossEncoderReranker, store: Store | None) -> Reranker:
    """Return the reranker of a model; the store keeps the vectors of an encoder."""
    from sleuth.compose import CrossEncoderReranker
    from sleuth.dense import DenseLeg
    from sleuth.engine.encoder import EncoderReranker, QueryCache

    if isinstance(model, CrossEncoderReranker):
        return model
    return EncoderReranker(model, QueryCache(store, DenseLeg(model).texts))
