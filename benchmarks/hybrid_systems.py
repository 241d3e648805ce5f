"""The systems that `benchmarks.hybrid_peers` compares, each as its users would set it up.

Chroma ranks by vectors alone, so that words can only be a condition; usearch knows no filter in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lexical_peers import lines
from sleuth.dense.wordllama import WordLlamaEmbedder

K = 10
SHELVES = 10
POOL = 100
"""Hits of each leg that the systems glued by hand fuse."""
RANK_CONSTANT = 60


def shelf_of(row: int) -> int:
    """One of ten, as good as random."""
    return (row * 2654435761 % (1 << 32)) * SHELVES >> 32


def blocks(source: Path, size: int) -> Iterator[tuple[range, list[str]]]:
    """The passages, some at a time, with their numbers."""
    rest, start = lines(source), 0
    while texts := list(islice(rest, size)):
        yield range(start, start + len(texts)), texts
        start += len(texts)


def reciprocal_ranks(rankings: Sequence[Sequence[int]]) -> list[int]:
    """The best ten of several rankings by the sum of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda row: -scores[row])[:K]


class System:
    """One system: builds an index in `home`, then answers queries.

    Attributes:
        slow: timed over fewer queries.
    """

    slow = False

    def __init__(self, home: Path) -> None:
        self.home = home
        self.embedder = WordLlamaEmbedder()

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None: ...

    def open(self, source: Path) -> None: ...

    def search(self, query: str, shelf: int | None) -> Any:
        """Ten passages with text and metadata, of one shelf where it is given."""

    def rows(self, result: Any) -> list[int]:
        """The numbers of the passages found."""
        return [int(row) for row, *_ in result]

    def nearest(self, query: str) -> list[int]:
        """The ten passages whose vectors it finds nearest to the query's; none where it cannot be asked."""
        return []


class Sleuth(System):
    """Default settings; makes its own vectors, which are the same."""

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None:
        from sleuth import Document, Engine

        with Engine.open(self.home / "index", create=True) as engine:
            engine.add(
                Document(text, {"shelf": shelf_of(row)}, id=str(row))
                for row, text in enumerate(lines(source))
            )
            engine.wait()

    def open(self, source: Path) -> None:
        from sleuth import Engine

        self.engine = Engine.open(self.home / "index")

    def search(self, query: str, shelf: int | None) -> Any:
        return self.engine.retrieve(query, K, filter=None if shelf is None else {"shelf": shelf})

    def rows(self, result: Any) -> list[int]:
        return [int(item.id.partition("#")[0]) for item in result]

    def nearest(self, query: str) -> list[int]:
        return self.rows(self.engine.retrieve(query, K, legs=["dense"], per_document=0))


class Lance(System):
    """Its hybrid search, reranker by reciprocal ranks, full-text and vector index (IVF-PQ), with their defaults."""

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import FTS, Bitmap, IvfPq

        width = matrix.shape[1]
        vector = pa.list_(pa.float32(), width)
        schema = pa.schema(
            [("id", pa.int64()), ("shelf", pa.int32()), ("text", pa.string()), ("vector", vector)]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            for rows, texts in blocks(source, 10_000):
                block = pa.array(matrix[rows.start : rows.stop].reshape(-1))
                near = pa.FixedSizeListArray.from_arrays(block, width)
                columns = [pa.array(rows), pa.array(map(shelf_of, rows), pa.int32()), pa.array(texts), near]
                yield pa.record_batch(columns, schema=schema)

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        table = lancedb.connect(self.home).create_table("t", reader)
        table.create_index("text", config=FTS(stem=True, remove_stop_words=True))
        table.create_index("shelf", config=Bitmap())
        table.create_index("vector", config=IvfPq(distance_type="dot"))

    def open(self, source: Path) -> None:
        os.environ.setdefault("LANCEDB_LOG", "error")  # it warns of its own columns with every query
        import lancedb
        from lancedb.rerankers import RRFReranker

        self.table: Any = lancedb.connect(self.home).open_table("t")
        self.reranker = RRFReranker()

    def how(self, search: Any) -> Any:
        """A query of vectors, with how thoroughly they are searched."""
        return search.distance_type("dot").limit(K)

    def search(self, query: str, shelf: int | None) -> Any:
        search = self.table.search(query_type="hybrid").vector(self.embedder.embed_query(query)).text(query)
        search = self.how(search).rerank(self.reranker).select(["id", "shelf", "text"])
        return (search if shelf is None else search.where(f"shelf = {shelf}", prefilter=True)).to_list()

    def rows(self, result: Any) -> list[int]:
        return [row["id"] for row in result]

    def nearest(self, query: str) -> list[int]:
        search = self.table.search(self.embedder.embed_query(query), vector_column_name="vector")
        return self.rows(self.how(search).select(["id"]).to_list())


class LanceRefined(Lance):
    """The same table, searched more thoroughly: 400 partitions, and 100 times as many passages compared exactly."""

    def how(self, search: Any) -> Any:
        return super().how(search).nprobes(400).refine_factor(100)


class LanceExact(Lance):
    """The same table without its vector index: every vector is compared."""

    slow = True

    def how(self, search: Any) -> Any:
        return super().how(search).bypass_vector_index()


class Chroma(System):
    """Vectors (HNSW with its defaults) ranked, words as a condition: that passages hold the query's longest word."""

    slow = True

    def collection(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(self.home), settings)
        return client.get_or_create_collection("passages", configuration={"hnsw": {"space": "cosine"}})

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None:
        collection = self.collection()
        for rows, texts in blocks(source, 5_000):
            collection.add(
                ids=list(map(str, rows)),
                documents=texts,
                metadatas=[{"shelf": shelf_of(row)} for row in rows],
                embeddings=matrix[rows.start : rows.stop],
            )

    def open(self, source: Path) -> None:
        self.opened = self.collection()

    def conditions(self, query: str, shelf: int | None) -> dict[str, Any]:
        return {
            "where": None if shelf is None else {"shelf": shelf},
            "where_document": {"$contains": max(query.split(), key=len)},
        }

    def search(self, query: str, shelf: int | None) -> Any:
        return self.opened.query(
            query_embeddings=[self.embedder.embed_query(query)],
            n_results=K,
            include=["documents", "metadatas", "distances"],
            **self.conditions(query, shelf),
        )

    def rows(self, result: Any) -> list[int]:
        return list(map(int, result["ids"][0]))

    def nearest(self, query: str) -> list[int]:
        return self.rows(self.opened.query(query_embeddings=[self.embedder.embed_query(query)], n_results=K))


class ChromaVectors(Chroma):
    """The same collection asked for vectors alone."""

    slow = False

    def conditions(self, query: str, shelf: int | None) -> dict[str, Any]:
        return {"where": None if shelf is None else {"shelf": shelf}}


class Zvec(System):
    """Its search by several queries: full-text and HNSW index with their defaults, fused by reciprocal ranks."""

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None:
        import zvec

        text = zvec.FieldSchema("text", zvec.DataType.STRING, index_param=zvec.FtsIndexParam())
        shelf = zvec.FieldSchema("shelf", zvec.DataType.INT32, index_param=zvec.InvertIndexParam())
        near = zvec.HnswIndexParam(metric_type=zvec.MetricType.COSINE)
        vector = zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, matrix.shape[1], index_param=near)
        schema = zvec.CollectionSchema("passages", fields=[text, shelf], vectors=[vector])
        collection = zvec.create_and_open(str(self.home / "zvec"), schema)
        for rows, texts in blocks(source, 1_000):
            collection.insert(
                [
                    zvec.Doc(
                        id=str(row),
                        fields={"text": text, "shelf": shelf_of(row)},
                        vectors={"vector": matrix[row].tolist()},
                    )
                    for row, text in zip(rows, texts, strict=True)
                ]
            )
        collection.optimize()
        collection.flush()

    def open(self, source: Path) -> None:
        import zvec

        self.zvec, self.reranker = zvec, zvec.RrfReRanker()
        self.collection = zvec.open(str(self.home / "zvec"))

    def search(self, query: str, shelf: int | None) -> Any:
        near = self.zvec.Query("vector", vector=self.embedder.embed_query(query))
        words = self.zvec.Query("text", fts=self.zvec.Fts(match_string=query))
        options = {"topk": K, "filter": None if shelf is None else f"shelf = {shelf}"}
        fields = ["text", "shelf"]
        return self.collection.query([near, words], reranker=self.reranker, output_fields=fields, **options)

    def rows(self, result: Any) -> list[int]:
        return [int(document.id) for document in result]

    def nearest(self, query: str) -> list[int]:
        near = self.zvec.Query("vector", vector=self.embedder.embed_query(query))
        return self.rows(self.collection.query(near, topk=K))


class Glued(System):
    """tantivy and usearch (HNSW, half precision) with their defaults, each leg's best 100 fused by reciprocal ranks.

    usearch has no filter in Python: it is asked for ten times as many, and those on other shelves are dropped.
    """

    def build(self, source: Path, matrix: NDArray[np.float32]) -> None:
        import tantivy
        from usearch.index import Index

        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True, indexed=True)
        schema.add_integer_field("shelf", stored=True, indexed=True)
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        folder = self.home / "tantivy"
        folder.mkdir()
        writer = tantivy.Index(schema.build(), path=str(folder)).writer()
        for row, text in enumerate(lines(source)):
            writer.add_document(tantivy.Document(id=row, shelf=shelf_of(row), text=text))
        writer.commit()
        writer.wait_merging_threads()
        index = Index(ndim=matrix.shape[1], metric="ip", dtype="f16")
        for start in range(0, len(matrix), 50_000):
            block = np.ascontiguousarray(matrix[start : start + 50_000])
            index.add(np.arange(start, start + len(block)), block)
        index.save(str(self.home / "usearch"))

    def open(self, source: Path) -> None:
        import tantivy
        from usearch.index import Index

        self.tantivy = tantivy
        self.handle = tantivy.Index.open(str(self.home / "tantivy"))
        self.handle.reload()
        self.searcher = self.handle.searcher()
        self.graph: Any = Index.restore(str(self.home / "usearch"), view=True)
        self.shelves = np.array([shelf_of(row) for row in range(len(self.graph))], np.int8)

    def search(self, query: str, shelf: int | None) -> Any:
        condition = self.handle.parse_query(query.lower(), ["text"])  # NOT in capitals is an operator
        vector = self.embedder.embed_query(query)
        if shelf is not None:
            must = self.tantivy.Occur.Must
            term = self.tantivy.Query.term_query(self.handle.schema, "shelf", shelf)
            condition = self.tantivy.Query.boolean_query([(must, condition), (must, term)])
            near = self.graph.search(vector, POOL * SHELVES, threads=1).keys
            near = near[self.shelves[near] == shelf][:POOL]
        else:
            near = self.graph.search(vector, POOL, threads=1).keys
        hits = self.searcher.search(condition, POOL, count=False).hits
        documents = {}
        words = []
        for _, address in hits:
            document = self.searcher.doc(address)
            row = document["id"][0]
            documents[row] = document
            words.append(row)
        best = reciprocal_ranks([words, near.tolist()])
        return [(row, documents[row] if row in documents else self.document(row)) for row in best]

    def nearest(self, query: str) -> list[int]:
        keys: list[int] = (
            self.graph.search(self.embedder.embed_query(query), POOL, threads=1).keys[:K].tolist()
        )
        return keys

    def document(self, row: int) -> Any:
        hits = self.searcher.search(self.tantivy.Query.term_query(self.handle.schema, "id", row), 1).hits
        return self.searcher.doc(hits[0][1])


CLASSES: dict[str, type[System]] = {
    "sleuth": Sleuth,
    "lancedb": Lance,
    "lancedb, refined": LanceRefined,
    "lancedb, exact": LanceExact,
    "chroma": ChromaVectors,
    "chroma, contains": Chroma,
    "zvec": Zvec,
    "tantivy + usearch": Glued,
}
"""By the name in the table."""
SHARED = {"lancedb, refined": "lancedb", "lancedb, exact": "lancedb", "chroma, contains": "chroma"}
"""Systems that ask an index which another has built."""
