from sleuth.vector_store.chroma import ChromaStore as ChromaStore
from sleuth.vector_store.chroma import fingerprint_of as fingerprint_of
from sleuth.vector_store.chroma import open_client as open_client
from sleuth.vector_store.retriever import Retriever as Retriever
from sleuth.vector_store.retriever import VectorStoreRetriever as VectorStoreRetriever
from sleuth.vector_store.rows import BATCH as BATCH
from sleuth.vector_store.rows import read_rows as read_rows
from sleuth.vector_store.rows import row_document as row_document
from sleuth.vector_store.sleuth import SleuthVectorStore as SleuthVectorStore

__all__: list[str]
