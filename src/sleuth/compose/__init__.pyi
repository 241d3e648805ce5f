from sleuth.compose.diversify import DiversifiedRetriever as DiversifiedRetriever
from sleuth.compose.fused import FusedRetriever as FusedRetriever
from sleuth.compose.items import BoostedRetriever as BoostedRetriever
from sleuth.compose.items import DedupedRetriever as DedupedRetriever
from sleuth.compose.rerank import CrossEncoderReranker as CrossEncoderReranker
from sleuth.compose.rerank import RerankedRetriever as RerankedRetriever

__all__: list[str]
