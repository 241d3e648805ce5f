from sleuth.dense.embedding import EmbeddingCache as EmbeddingCache
from sleuth.dense.embedding import check_embedder as check_embedder
from sleuth.dense.embedding import embed_texts as embed_texts
from sleuth.dense.late import TokenReranker as TokenReranker
from sleuth.dense.leg import DenseLeg as DenseLeg
from sleuth.dense.leg import dimension_of as dimension_of
from sleuth.dense.packages import Model2VecEmbedder as Model2VecEmbedder
from sleuth.dense.packages import SentenceTransformerEmbedder as SentenceTransformerEmbedder
from sleuth.dense.packages import open_package as open_package
from sleuth.dense.search import DenseSearcher as DenseSearcher
from sleuth.dense.texts import embedded_text as embedded_text
from sleuth.dense.wordllama import WordLlamaEmbedder as WordLlamaEmbedder

__all__: list[str]
