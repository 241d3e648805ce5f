from sleuth.compose.boost import BoostedRetriever as BoostedRetriever
from sleuth.compose.boost import boost_items as boost_items
from sleuth.compose.dedupe import DedupedRetriever as DedupedRetriever
from sleuth.compose.dedupe import deduplicate as deduplicate
from sleuth.compose.diversify import DiversifiedRetriever as DiversifiedRetriever
from sleuth.compose.diversify import mmr as mmr
from sleuth.compose.fuse import Fused as Fused
from sleuth.compose.fuse import fuse_hits as fuse_hits
from sleuth.compose.fused import FusedRetriever as FusedRetriever
from sleuth.compose.rerank import CrossEncoderReranker as CrossEncoderReranker
from sleuth.compose.rerank import RerankedRetriever as RerankedRetriever
from sleuth.compose.slices import run_slices as run_slices

__all__: list[str]
