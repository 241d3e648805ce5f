from sleuth.plugins.embedders.packages import FastEmbedEmbedder as FastEmbedEmbedder
from sleuth.plugins.embedders.packages import Model2VecEmbedder as Model2VecEmbedder
from sleuth.plugins.embedders.packages import SentenceTransformerEmbedder as SentenceTransformerEmbedder

__all__: list[str]
