from sleuth.code.graph.navigate import Navigator as Navigator
from sleuth.code.graph.walker import GraphWalker as GraphWalker
from sleuth.code.search.context import RetrievedContext as RetrievedContext
from sleuth.code.search.context import render_context as render_context
from sleuth.code.search.history import asearch_history as asearch_history
from sleuth.code.search.history import search_history as search_history
from sleuth.code.search.repomap import repository_map as repository_map
from sleuth.code.search.retriever import CodeRetriever as CodeRetriever
from sleuth.code.search.retriever import GraphStorage as GraphStorage
from sleuth.code.search.vectors import EmbeddingProvider as EmbeddingProvider
from sleuth.code.snapshots.indexing import aindex_path as aindex_path
from sleuth.code.snapshots.indexing import index_path as index_path
from sleuth.code.snapshots.snapshot import Snapshot as Snapshot
from sleuth.code.snapshots.storage import CodeStorage as CodeStorage

__all__: list[str]
