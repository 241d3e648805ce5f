"""Which passages mean this?"""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.dense.embedding import EmbeddingCache as EmbeddingCache
    from sleuth.dense.embedding import check_embedder as check_embedder
    from sleuth.dense.embedding import embed_texts as embed_texts
    from sleuth.dense.late import TokenReranker as TokenReranker
    from sleuth.dense.leg import DenseLeg as DenseLeg
    from sleuth.dense.packages import Model2VecEmbedder as Model2VecEmbedder
    from sleuth.dense.packages import SentenceTransformerEmbedder as SentenceTransformerEmbedder
    from sleuth.dense.search import DenseSearcher as DenseSearcher
    from sleuth.dense.wordllama import WordLlamaEmbedder as WordLlamaEmbedder

_HOMES = {
    "DenseLeg": "sleuth.dense.leg",
    "DenseSearcher": "sleuth.dense.search",
    "EmbeddingCache": "sleuth.dense.embedding",
    "Model2VecEmbedder": "sleuth.dense.packages",
    "SentenceTransformerEmbedder": "sleuth.dense.packages",
    "TokenReranker": "sleuth.dense.late",
    "WordLlamaEmbedder": "sleuth.dense.wordllama",
    "check_embedder": "sleuth.dense.embedding",
    "embed_texts": "sleuth.dense.embedding",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
