from sleuth.plugins.importers.chroma import read_chroma as read_chroma
from sleuth.plugins.importers.elasticsearch import read_elasticsearch as read_elasticsearch
from sleuth.plugins.importers.faiss import read_faiss as read_faiss
from sleuth.plugins.importers.importing import aimport_vectors as aimport_vectors
from sleuth.plugins.importers.importing import import_vectors as import_vectors
from sleuth.plugins.importers.lancedb import read_lancedb as read_lancedb
from sleuth.plugins.importers.qdrant import read_qdrant as read_qdrant
from sleuth.plugins.importers.vectors import read_vectors as read_vectors

__all__: list[str]
