from sleuth.code.search.retriever import CodeRetriever as CodeRetriever
from sleuth.code.search.retriever import SnapshotRetriever as SnapshotRetriever
from sleuth.code.snapshots.indexing import aindex_path as aindex_path
from sleuth.code.snapshots.indexing import index_path as index_path
from sleuth.code.snapshots.storage import CodeStorage as CodeStorage
from sleuth.compose.fused import FusedRetriever as FusedRetriever
from sleuth.engine.codebase import default_embedder as default_embedder
from sleuth.engine.codebase import open_code as open_code
from sleuth.engine.engine import Engine as Engine
from sleuth.engine.fusion import Fusion as Fusion
from sleuth.engine.sources import Sources as Sources
from sleuth.engine.sources import aopen_sources as aopen_sources
from sleuth.engine.sources import open_sources as open_sources
from sleuth.errors import ArgumentError as ArgumentError
from sleuth.errors import FilterError as FilterError
from sleuth.errors import RetrievalError as RetrievalError
from sleuth.errors import SleuthError as SleuthError
from sleuth.errors import StoreError as StoreError
from sleuth.knowledge_base.retriever import KnowledgeBaseRetriever as KnowledgeBaseRetriever
from sleuth.types import Chunk as Chunk
from sleuth.types import Document as Document
from sleuth.types import Explanation as Explanation
from sleuth.types import PartReport as PartReport
from sleuth.types import Ranking as Ranking
from sleuth.types import RetrievedItem as RetrievedItem
from sleuth.web.retriever import WebRetriever as WebRetriever

__all__: list[str]
__version__: str
