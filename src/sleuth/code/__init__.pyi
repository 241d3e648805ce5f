from sleuth.code.graph.navigate import Navigator as Navigator
from sleuth.code.graph.walker import GraphWalker as GraphWalker
from sleuth.code.repository.commits import Commit as Commit
from sleuth.code.repository.history import commits_of as commits_of
from sleuth.code.search.context import RetrievedContext as RetrievedContext
from sleuth.code.search.context import RetrievedContexts as RetrievedContexts
from sleuth.code.search.context import render_context as render_context
from sleuth.code.search.history import CommitHit as CommitHit
from sleuth.code.search.history import asearch_history as asearch_history
from sleuth.code.search.history import search_history as search_history
from sleuth.code.search.repomap import repository_map as repository_map
from sleuth.code.search.request import CodeRequest as CodeRequest
from sleuth.code.search.retriever import CodeRetriever as CodeRetriever
from sleuth.code.search.retriever import GraphStorage as GraphStorage
from sleuth.code.search.source import SnapshotRetriever as SnapshotRetriever
from sleuth.code.search.vectors import EmbeddingProvider as EmbeddingProvider
from sleuth.code.snapshots.diff import changed_files as changed_files
from sleuth.code.snapshots.indexing import aindex_path as aindex_path
from sleuth.code.snapshots.indexing import index_path as index_path
from sleuth.code.snapshots.refreshing import Current as Current
from sleuth.code.snapshots.refreshing import current_snapshot as current_snapshot
from sleuth.code.snapshots.refreshing import refresh_history as refresh_history
from sleuth.code.snapshots.refreshing import snapshot_at as snapshot_at
from sleuth.code.snapshots.report import CodeIndexReport as CodeIndexReport
from sleuth.code.snapshots.snapshot import Snapshot as Snapshot
from sleuth.code.snapshots.storage import CodeStorage as CodeStorage

__all__: list[str]

# Not public: for the other rooms.
from sleuth.code.repository.git import root_of as root_of
from sleuth.code.search.context import piece_id as piece_id
from sleuth.code.search.facets import CodeMatches as CodeMatches
from sleuth.code.search.facets import code_matches as code_matches
from sleuth.code.search.filters import file_metadata as file_metadata
from sleuth.code.snapshots.record import Repository as Repository
from sleuth.code.snapshots.scope import CodeView as CodeView
