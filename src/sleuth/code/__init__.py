"""What is this code tied to? Repositories as snapshots, searched, walked and rendered."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.code.context import RetrievedContext as RetrievedContext
    from sleuth.code.context import render_context as render_context
    from sleuth.code.indexing import IndexReport as IndexReport
    from sleuth.code.indexing import index_path as index_path
    from sleuth.code.navigate import Navigator as Navigator
    from sleuth.code.repomap import repository_map as repository_map
    from sleuth.code.retriever import CodeRetriever as CodeRetriever
    from sleuth.code.retriever import GraphStorage as GraphStorage
    from sleuth.code.snapshot import Snapshot as Snapshot
    from sleuth.code.storage import CodeStorage as CodeStorage
    from sleuth.code.vectors import EmbeddingProvider as EmbeddingProvider
    from sleuth.code.walker import GraphWalker as GraphWalker

_HOMES = {
    "CodeRetriever": "sleuth.code.retriever",
    "CodeStorage": "sleuth.code.storage",
    "EmbeddingProvider": "sleuth.code.vectors",
    "GraphStorage": "sleuth.code.retriever",
    "GraphWalker": "sleuth.code.walker",
    "IndexReport": "sleuth.code.indexing",
    "Navigator": "sleuth.code.navigate",
    "RetrievedContext": "sleuth.code.context",
    "Snapshot": "sleuth.code.snapshot",
    "index_path": "sleuth.code.indexing",
    "render_context": "sleuth.code.context",
    "repository_map": "sleuth.code.repomap",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
