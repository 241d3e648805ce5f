"""How do the peers rank the documents of a collection? One function per peer; see `benchmarks/quality.py`.

Each ranks whole documents, title and text as one, and gives what it returns, in its order. Those that fuse words and
meaning are given the vectors of Sleuth's default embedder: their own models are downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from sleuth.plugins.evaluation import Collection, Run
from sleuth.plugins.evaluation.measures import in_order

K = 100
"""Documents per query."""

Texts = tuple[list[str], list[str]]


@lru_cache(maxsize=1)
def _texts(folder: str) -> Texts:
    from sleuth.plugins.evaluation import open_collection

    ids, texts = [], []
    for document in open_collection(folder).documents():
        ids.append(str(document.id))
        texts.append(f"{document.metadata.get('title', '')} {document.page_content}".strip())
    return ids, texts


def texts_of(collection: Collection) -> Texts:
    """Ids and texts of the documents, each its title and its text."""
    return _texts(str(collection.folder))


def as_run(collection: Collection, answer: Callable[[str], Iterable[str]]) -> Run:
    """The run of a system that gives ids, best first."""
    return {
        query: {id: -float(place) for place, id in enumerate(list(dict.fromkeys(answer(text)))[:K])}
        for query, text in collection.queries.items()
    }


class Exact:
    """Exact search by cosine over the vectors of the default embedder."""

    def __init__(self, texts: list[str]) -> None:
        from sleuth.dense.wordllama import WordLlamaEmbedder

        self.embedder = WordLlamaEmbedder()
        self.vectors = self.embedder.embed_documents(texts)

    def __call__(self, query: str) -> list[tuple[int, float]]:
        """Numbers of the best `K` texts, with their cosines."""
        import numpy as np

        scores = self.vectors @ self.embedder.embed_query(query)
        best = np.argsort(-scores, kind="stable")[:K]
        return [(int(i), float(scores[i])) for i in best]


def bm25s(collection: Collection) -> Run:
    """bm25s with its defaults (Lucene variant, k1 1.5, b .75), English stop words and the Snowball stemmer."""
    import bm25s as peer
    import Stemmer

    ids, texts = texts_of(collection)
    stemmer = Stemmer.Stemmer("english")
    model = peer.BM25()
    model.index(
        peer.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False
    )
    query_tokens = peer.tokenize(
        list(collection.queries.values()), stopwords="en", stemmer=stemmer, show_progress=False
    )
    result = model.retrieve(query_tokens, k=min(K, len(ids)), show_progress=False)
    return {
        query: in_order({ids[i]: float(s) for i, s in zip(row, scores, strict=True) if s > 0})
        for query, row, scores in zip(collection.queries, result.documents, result.scores, strict=True)
    }


def tfidf(collection: Collection) -> Run:
    """scikit-learn's TfidfVectorizer and cosine: what document 001 describes."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    ids, texts = texts_of(collection)
    vectorizer = TfidfVectorizer()
    matrix = vectorizer.fit_transform(texts)

    def answer(query: str) -> list[str]:
        scores = np.asarray((matrix @ vectorizer.transform([query]).T).todense()).ravel()
        return [ids[i] for i in np.argsort(-scores, kind="stable")[:K] if scores[i] > 0]

    return as_run(collection, answer)


def _langchain_bm25(collection: Collection) -> Any:
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document

    ids, texts = texts_of(collection)
    return BM25Retriever.from_documents(
        [Document(text, metadata={"id": id}) for id, text in zip(ids, texts, strict=True)], k=K
    )


def langchain_bm25(collection: Collection) -> Run:
    """LangChain's BM25Retriever with its defaults: rank_bm25's Okapi, text cut at blanks."""
    retriever = _langchain_bm25(collection)
    return as_run(collection, lambda query: [d.metadata["id"] for d in retriever.invoke(query)])


def langchain(collection: Collection) -> Run:
    """LangChain's EnsembleRetriever, reciprocal ranks of equal weight, over its BM25Retriever and exact vectors."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    ids, texts = texts_of(collection)
    search = Exact(texts)

    class Vectors(BaseRetriever):  # type: ignore[misc, unused-ignore]
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(texts[i], metadata={"id": ids[i]}) for i, _ in search(query)]

    both = EnsembleRetriever(
        retrievers=[_langchain_bm25(collection), Vectors()], weights=[0.5, 0.5], id_key="id"
    )
    return as_run(collection, lambda query: [d.metadata["id"] for d in both.invoke(query)])


def llamaindex(collection: Collection) -> Run:
    """LlamaIndex's QueryFusionRetriever, reciprocal ranks, over its BM25Retriever (bm25s) and exact vectors."""
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    ids, texts = texts_of(collection)
    nodes = [TextNode(id_=id, text=text) for id, text in zip(ids, texts, strict=True)]
    search = Exact(texts)

    class Vectors(BaseRetriever):  # type: ignore[misc, unused-ignore]
        def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=nodes[i], score=s) for i, s in search(query.query_str)]

    both = QueryFusionRetriever(
        [BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(K, len(ids))), Vectors()],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=K,
        num_queries=1,
        use_async=False,
    )
    return as_run(collection, lambda query: [hit.node.node_id for hit in both.retrieve(query)])


def chroma(collection: Collection) -> Run:
    """Chroma in memory: vectors alone, by its HNSW graph; it fuses words and meaning in its service only."""
    import chromadb
    from chromadb.config import Settings

    ids, texts = texts_of(collection)
    search = Exact(texts)
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    name = "quality"
    if name in [store.name for store in client.list_collections()]:
        client.delete_collection(name)
    store = client.create_collection(name, metadata={"hnsw:space": "cosine"}, embedding_function=None)
    for at in range(0, len(ids), 5_000):
        store.add(ids=ids[at : at + 5_000], embeddings=search.vectors[at : at + 5_000])

    def answer(query: str) -> list[str]:
        vector = search.embedder.embed_query(query)[None]
        ids_of_hits: list[str] = store.query(query_embeddings=vector, n_results=min(K, len(ids)))["ids"][0]
        return ids_of_hits

    return as_run(collection, answer)


def txtai(collection: Collection) -> Run:
    """txtai, hybrid: its BM25 and an exact scan of vectors, their normalised scores added with equal weights."""
    import numpy as np
    from txtai import Embeddings

    ids, texts = texts_of(collection)
    search = Exact(texts)

    def transform(batch: Any) -> Any:
        batch = list(batch)
        return (
            search.embedder.embed_documents(batch)
            if len(batch) > 1
            else np.stack([search.embedder.embed_query(text) for text in batch])
        )

    index = Embeddings(method="external", transform=transform, hybrid=True, content=False, backend="numpy")
    index.index((i, text, None) for i, text in enumerate(texts))
    return as_run(collection, lambda query: [ids[i] for i, _ in index.search(query, K)])


PEERS: dict[str, Callable[[Collection], Run]] = {
    "bm25s": bm25s,
    "tfidf": tfidf,
    "langchain_bm25": langchain_bm25,
    "langchain": langchain,
    "llamaindex": llamaindex,
    "chroma": chroma,
    "txtai": txtai,
}
