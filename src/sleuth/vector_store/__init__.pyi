from sleuth.vector_store.chroma import ChromaStore as ChromaStore
from sleuth.vector_store.chroma import read_chroma as read_chroma
from sleuth.vector_store.elasticsearch import read_elasticsearch as read_elasticsearch
from sleuth.vector_store.faiss import read_faiss as read_faiss
from sleuth.vector_store.lancedb import read_lancedb as read_lancedb
from sleuth.vector_store.qdrant import read_qdrant as read_qdrant
from sleuth.vector_store.ranking import VectorStoreRetriever as VectorStoreRetriever
from sleuth.vector_store.retriever import Retriever as Retriever
from sleuth.vector_store.rows import read_vectors as read_vectors
from sleuth.vector_store.sleuth import SleuthVectorStore as SleuthVectorStore
from sleuth.vector_store.stored import StoredVector as StoredVector
from sleuth.vector_store.stored import StoredVectors as StoredVectors

__all__: list[str]

# Not public: for the other rooms.
from sleuth.vector_store.chroma import fingerprint_of as fingerprint_of
from sleuth.vector_store.rows import ArrowTable as ArrowTable
from sleuth.vector_store.rows import documents_of as documents_of
