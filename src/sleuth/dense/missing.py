"""Stands for the embedder of an index where it cannot be loaded, so that words answer and vectors are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sleuth.dense.embedding import Reading
from sleuth.errors import EmbeddingError


class MissingEmbedder:
    """An embedder that gives no vectors.

    Attributes:
        fingerprint: of the embedder that it stands for.
        missing: the name of the missing part, and what to do.
    """

    def __init__(self, fingerprint: str, missing: str) -> None:
        self.fingerprint, self.missing = fingerprint, missing

    def has_meaning(self, query: str) -> bool:
        """Return False: there are no vectors."""
        return False

    def embed_query(self, text: str) -> NoReturn:
        """Raise EmbeddingError with the name of the missing part."""
        raise EmbeddingError(self.missing, service=self.fingerprint)

    def embed_documents(self, texts: Sequence[str]) -> NoReturn:
        """Raise EmbeddingError with the name of the missing part."""
        raise EmbeddingError(self.missing, service=self.fingerprint)


class MissingTokenEmbedder(MissingEmbedder):
    """Stands for an embedder whose tokens are matched: the segments of its index hold tokens, too."""

    token_weight = 0.0

    def read(self, texts: Sequence[str]) -> Reading:
        """Raise EmbeddingError with the name of the missing part."""
        raise EmbeddingError(self.missing, service=self.fingerprint)
