"""Retrievers made of retrievers: fuse, slice, boost, rerank, expand, diversify, deduplicate."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
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

_HOMES = {
    "BoostedRetriever": "sleuth.compose.boost",
    "CrossEncoderReranker": "sleuth.compose.rerank",
    "DedupedRetriever": "sleuth.compose.dedupe",
    "DiversifiedRetriever": "sleuth.compose.diversify",
    "Fused": "sleuth.compose.fuse",
    "FusedRetriever": "sleuth.compose.fused",
    "RerankedRetriever": "sleuth.compose.rerank",
    "boost_items": "sleuth.compose.boost",
    "deduplicate": "sleuth.compose.dedupe",
    "fuse_hits": "sleuth.compose.fuse",
    "mmr": "sleuth.compose.diversify",
    "run_slices": "sleuth.compose.slices",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
