"""Embedding models of other packages that can replace the default.

Nothing is downloaded unless the name asks for it: a folder is read from disk, a name is left to the package, which
keeps what it fetched. The code of a model is never run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError, requires


class _PackageEmbedder(ABC):
    """What these embedders share: vectors as float32, and failures that name the model."""

    fingerprint: str
    dimension: int
    _model: Any
    _turn: AbstractContextManager[Any] = nullcontext()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (dimension,)."""
        vector: NDArray[np.float32] = self._vectors([text], is_query=True)[0]
        return vector

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one vector per text, shape (len(texts), dimension)."""
        return self._vectors(texts, is_query=False)

    def _vectors(self, texts: list[str], *, is_query: bool) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        try:
            with self._turn:
                return np.asarray(self._encode(texts, is_query=is_query), np.float32)
        except (RuntimeError, ValueError, OSError) as error:
            raise EmbeddingError(f"{self.fingerprint} failed: {error}", service=self.fingerprint) from error

    @abstractmethod
    def _encode(self, texts: list[str], *, is_query: bool) -> Any:
        """Return what the package makes of texts."""


class SentenceTransformerEmbedder(_PackageEmbedder):
    """Any model of sentence-transformers. Safe to share between threads, which take turns.

    Args:
        model: a name or a folder.
        query_prefix, document_prefix: put before each text, as the model's card asks ("query: ", "passage: ").
        dimension: keeps the first so many values, for models trained to allow it; None keeps all.
        device: "cpu", "cuda", ...; None lets the package choose.

    Raises:
        MissingPackageError: sentence-transformers is not installed.
        EmbeddingError: the model does not load.
    """

    def __init__(
        self,
        model: str,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        dimension: int | None = None,
        device: str | None = None,
    ) -> None:
        with requires("sentence-transformers", "models", f"The embedder {model!r}"):
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]
        self.query_prefix = query_prefix
        self.document_prefix = document_prefix
        self._model = _loaded(
            model, SentenceTransformer, device=device, truncate_dim=dimension, trust_remote_code=False
        )
        self._turn = Lock()
        name = "get_embedding_dimension"
        if not hasattr(self._model, name):  # releases before 6
            name = "get_sentence_embedding_dimension"
        self.dimension = int(getattr(self._model, name)() or 0)
        self.fingerprint = (
            f"sentence-transformers/{model}/{self.dimension}/unit/{query_prefix!r}/{document_prefix!r}"
        )

    def _encode(self, texts: list[str], *, is_query: bool) -> Any:
        prefix = self.query_prefix if is_query else self.document_prefix
        prefixed = [prefix + text for text in texts]
        return self._model.encode(prefixed, show_progress_bar=False, normalize_embeddings=True)


class Model2VecEmbedder(_PackageEmbedder):
    """Static token vectors of model2vec: as fast as the default, from another model. Safe to share between threads.

    Args:
        model: a name or a folder.

    Raises:
        MissingPackageError: model2vec is not installed.
        EmbeddingError: the model does not load.
    """

    def __init__(self, model: str) -> None:
        with requires("model2vec", "models", f"The embedder {model!r}"):
            from model2vec import StaticModel  # type: ignore[import-not-found, unused-ignore]
        self._model = _loaded(model, StaticModel.from_pretrained, force_download=False)
        self.dimension = int(self._model.dim)
        self.fingerprint = f"model2vec/{model}/{self.dimension}"

    def _encode(self, texts: list[str], *, is_query: bool) -> Any:
        return self._model.encode(texts, show_progress_bar=False, use_multiprocessing=False)


class FastEmbedEmbedder(_PackageEmbedder):
    """A model of fastembed, in ONNX. Safe to share between threads, which take turns.

    Args:
        model: a name that fastembed knows, or that `TextEmbedding.add_custom_model` gave it.
        options: of `TextEmbedding`: `specific_model_path` reads a folder, `local_files_only` downloads nothing.

    Raises:
        MissingPackageError: fastembed is not installed.
        EmbeddingError: the model does not load.
    """

    def __init__(self, model: str, **options: Any) -> None:
        # ONNX Runtime sends no events.
        with requires("fastembed", "fastembed", f"The embedder {model!r}", ORT_DISABLE_TELEMETRY="1"):
            from fastembed import TextEmbedding
        self._model = _loaded(model, TextEmbedding, **options)
        self._turn = Lock()
        self.dimension = int(self._model.embedding_size)
        self.fingerprint = f"fastembed/{model}/{self.dimension}"

    def _encode(self, texts: list[str], *, is_query: bool) -> Any:
        return list((self._model.query_embed if is_query else self._model.passage_embed)(texts))


def _loaded(model: str, load: Any, **options: Any) -> Any:
    """Return the model; EmbeddingError, with the package's own message, where it does not load."""
    try:
        return load(model, **options)
    except Exception as error:  # whatever the package, its hub and its file formats raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise EmbeddingError(
            f"the embedder {model!r} does not load ({reason}): name a folder that holds it, or a model of its hub",
            service=model,
        ) from error
