from sleuth.dense.late import TokenReranker as TokenReranker
from sleuth.dense.leg import DenseLeg as DenseLeg
from sleuth.dense.wordllama import CodeEmbedder as CodeEmbedder
from sleuth.dense.wordllama import WordLlamaEmbedder as WordLlamaEmbedder

__all__: list[str]
