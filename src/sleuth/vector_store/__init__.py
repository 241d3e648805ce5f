"""What does a vector store hold that lies close to a question?"""

from sleuth.vector_store.chroma import ChromaStore, read_chroma
from sleuth.vector_store.ranking import VectorStoreRetriever
from sleuth.vector_store.retriever import Retriever
from sleuth.vector_store.sleuth import SleuthVectorStore

__all__ = ["ChromaStore", "Retriever", "SleuthVectorStore", "VectorStoreRetriever", "read_chroma"]
