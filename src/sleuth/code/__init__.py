"""What is this code tied to? Repositories as snapshots, searched, walked and rendered."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.code.graph.navigate import Navigator as Navigator
    from sleuth.code.graph.repomap import repository_map as repository_map
    from sleuth.code.graph.walker import GraphWalker as GraphWalker
    from sleuth.code.search.context import RetrievedContext as RetrievedContext
    from sleuth.code.search.context import render_context as render_context
    from sleuth.code.search.retriever import CodeRetriever as CodeRetriever
    from sleuth.code.search.retriever import GraphStorage as GraphStorage
    from sleuth.code.search.source import SnapshotRetriever as SnapshotRetriever
    from sleuth.code.search.vectors import EmbeddingProvider as EmbeddingProvider
    from sleuth.code.snapshots.indexing import IndexReport as IndexReport
    from sleuth.code.snapshots.indexing import index_path as index_path
    from sleuth.code.snapshots.snapshot import Snapshot as Snapshot
    from sleuth.code.snapshots.storage import CodeStorage as CodeStorage

_HOMES = {
    "CodeRetriever": "sleuth.code.search.retriever",
    "CodeStorage": "sleuth.code.snapshots.storage",
    "EmbeddingProvider": "sleuth.code.search.vectors",
    "GraphStorage": "sleuth.code.search.retriever",
    "GraphWalker": "sleuth.code.graph.walker",
    "IndexReport": "sleuth.code.snapshots.indexing",
    "Navigator": "sleuth.code.graph.navigate",
    "RetrievedContext": "sleuth.code.search.context",
    "Snapshot": "sleuth.code.snapshots.snapshot",
    "SnapshotRetriever": "sleuth.code.search.source",
    "index_path": "sleuth.code.snapshots.indexing",
    "render_context": "sleuth.code.search.context",
    "repository_map": "sleuth.code.graph.repomap",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
