"""Words and meaning together against peers: time per query with and without a filter, and what is found, in one run.

    make bench                                                # 100,000 and 1,000,000 passages
    python -m benchmarks.hybrid_peers --passages 100000 --keep  # once more over the indexes of an earlier run

Every system runs in a process of its own over the same passages, the same vectors (WordLlama's, made once) and the same
queries, with its defaults; a query begins as text and ends as ten passages with their text and metadata. A query is some
words of one passage, and `success` is how often that passage is among the ten. The filter names the passage's shelf, one
of ten. Queries are timed in rounds that visit the systems in turn, so that a noisy minute hurts all of them.

Not every peer does all of it, and what stands in for the missing part is said in its class: Chroma ranks by vectors
alone, LangChain's BM25 retriever knows no filter, and neither does usearch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.lexical_peers import Worker, folder_bytes, lines
from benchmarks.passages import CACHE, passages
from sleuth.dense.wordllama import WordLlamaEmbedder

MODULE = "benchmarks.hybrid_peers"
K = 10
SHELVES = 10
ROUND = 20
POOL = 100
"""Hits of each leg that the systems glued by hand fuse."""
RANK_CONSTANT = 60


class Question(NamedTuple):
    """A query made of words of one passage: the passage is what has to be found.

    Attributes:
        row: the passage's number.
        shelf: the passage's, for the filter.
    """

    query: str
    row: int
    shelf: int


def shelf_of(row: int) -> int:
    """One of ten, as good as random."""
    return (row * 2654435761 % (1 << 32)) * SHELVES >> 32


def questions(source: Path, n: int, seed: int = 11) -> list[Question]:
    """n questions of 2 to 8 words out of random passages."""
    rng = random.Random(seed)
    chosen = [(row, text) for row, text in enumerate(lines(source)) if rng.random() < 0.05]
    made: list[Question] = []
    while len(made) < n:
        row, text = rng.choice(chosen)
        words = re.findall(r"[A-Za-z0-9_]{2,}", text)
        if len(words) >= 8:
            made.append(Question(" ".join(rng.sample(words, rng.randint(2, 8))), row, shelf_of(row)))
    return made


def blocks(source: Path, size: int) -> Iterator[tuple[range, list[str]]]:
    """The passages, some at a time, with their numbers."""
    rest, start = lines(source), 0
    while texts := list(islice(rest, size)):
        yield range(start, start + len(texts)), texts
        start += len(texts)


def vectors(source: Path) -> Path:
    """A file of the passages' vectors, shape (n, 256), float32; made once and kept."""
    path = source.with_name(source.stem.replace("passages", "vectors") + ".npy")
    if not path.exists():
        embedder = WordLlamaEmbedder()
        made = [embedder.embed_documents(texts) for _, texts in blocks(source, 10_000)]
        np.save(path, np.concatenate(made))
    return path


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
        filters: whether it can filter at all.
        slow: timed over fewer queries.
        most: passages above which it is left out, and why.
    """

    filters = True
    slow = False
    most: tuple[int, str] | None = None

    def __init__(self, home: Path) -> None:
        self.home = home
        self.embedder = WordLlamaEmbedder()

    def build(self, source: Path, made: NDArray[np.float32]) -> None: ...

    def open(self, source: Path) -> None: ...

    def search(self, query: str, shelf: int | None) -> Any:
        """Ten passages with text and metadata, of one shelf where it is given."""

    def rows(self, found: Any) -> list[int]:
        """The numbers of the passages found."""
        return [int(row) for row, *_ in found]


class Sleuth(System):
    """Default settings; makes its own vectors, which are the same."""

    def build(self, source: Path, made: NDArray[np.float32]) -> None:
        from sleuth import Document, Engine

        with Engine.open(self.home / "index", create=True) as engine:
            engine.add(
                Document(text, {"shelf": shelf_of(row)}, id=str(row))
                for row, text in enumerate(lines(source))
            )

    def open(self, source: Path) -> None:
        from sleuth import Engine

        self.engine = Engine.open(self.home / "index")

    def search(self, query: str, shelf: int | None) -> Any:
        return self.engine.retrieve(query, K, filter=None if shelf is None else {"shelf": shelf})

    def rows(self, found: Any) -> list[int]:
        return [int(item.id.partition("#")[0]) for item in found]


class Lance(System):
    """Its hybrid search and its reranker by reciprocal ranks, full-text and vector index (IVF-PQ) with their defaults."""

    def build(self, source: Path, made: NDArray[np.float32]) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import FTS, Bitmap, IvfPq

        width = made.shape[1]
        vector = pa.list_(pa.float32(), width)
        schema = pa.schema(
            [("id", pa.int64()), ("shelf", pa.int32()), ("text", pa.string()), ("vector", vector)]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            for rows, texts in blocks(source, 10_000):
                block = pa.array(made[rows.start : rows.stop].reshape(-1))
                near = pa.FixedSizeListArray.from_arrays(block, width)
                columns = [pa.array(rows), pa.array(map(shelf_of, rows), pa.int32()), pa.array(texts), near]
                yield pa.record_batch(columns, schema=schema)

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        table = lancedb.connect(self.home).create_table("t", reader)
        table.create_index("text", config=FTS(stem=True, remove_stop_words=True))
        table.create_index("shelf", config=Bitmap())
        table.create_index("vector", config=IvfPq(distance_type="dot"))

    def open(self, source: Path) -> None:
        os.environ.setdefault("LANCE_LOG", "error")  # it warns of its own columns with every query
        import lancedb
        from lancedb.rerankers import RRFReranker

        self.table: Any = lancedb.connect(self.home).open_table("t")
        self.reranker = RRFReranker()

    def asked(self, query: str, shelf: int | None) -> Any:
        asked = self.table.search(query_type="hybrid").vector(self.embedder.embed_query(query)).text(query)
        asked = asked.distance_type("dot").rerank(self.reranker).limit(K)
        asked = asked.select(["id", "shelf", "text"])
        return asked if shelf is None else asked.where(f"shelf = {shelf}", prefilter=True)

    def search(self, query: str, shelf: int | None) -> Any:
        return self.asked(query, shelf).to_list()

    def rows(self, found: Any) -> list[int]:
        return [row["id"] for row in found]


class LanceExact(Lance):
    """The same table without its vector index: every vector is compared."""

    slow = True

    def search(self, query: str, shelf: int | None) -> Any:
        return self.asked(query, shelf).bypass_vector_index().to_list()


class Chroma(System):
    """Vectors (HNSW with its defaults) ranked, and words as a condition: passages hold the longest word of the query."""

    slow = True

    def collection(self) -> Any:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(self.home), settings)
        return client.get_or_create_collection("passages", configuration={"hnsw": {"space": "cosine"}})

    def build(self, source: Path, made: NDArray[np.float32]) -> None:
        collection = self.collection()
        for rows, texts in blocks(source, 5_000):
            collection.add(
                ids=list(map(str, rows)),
                documents=texts,
                metadatas=[{"shelf": shelf_of(row)} for row in rows],
                embeddings=made[rows.start : rows.stop],
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

    def rows(self, found: Any) -> list[int]:
        return list(map(int, found["ids"][0]))


class ChromaVectors(Chroma):
    """The same collection asked for vectors alone."""

    slow = False

    def conditions(self, query: str, shelf: int | None) -> dict[str, Any]:
        return {"where": None if shelf is None else {"shelf": shelf}}


class LangChain(System):
    """EnsembleRetriever over BM25Retriever and FAISS (exact), made anew whenever it is opened."""

    filters = False  # BM25Retriever has none
    slow = True
    most = (200_000, "its BM25 visits every passage in Python for every word: seconds per query")

    def build(self, source: Path, made: NDArray[np.float32]) -> None:
        np.save(self.home / "vectors.npy", made)

    def open(self, source: Path) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever
        from langchain_community.vectorstores import FAISS
        from langchain_core.embeddings import Embeddings

        class Same(Embeddings):
            def __init__(self, embedder: WordLlamaEmbedder) -> None:
                self.embedder = embedder

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                found: list[list[float]] = self.embedder.embed_documents(texts).tolist()
                return found

            def embed_query(self, text: str) -> list[float]:
                found: list[float] = self.embedder.embed_query(text).tolist()
                return found

        texts = list(lines(source))
        facts = [{"row": row, "shelf": shelf_of(row)} for row in range(len(texts))]
        pairs = zip(texts, np.load(self.home / "vectors.npy"), strict=True)
        store = FAISS.from_embeddings(pairs, Same(self.embedder), metadatas=facts)
        words = BM25Retriever.from_texts(texts, metadatas=facts, k=K)
        near = store.as_retriever(search_kwargs={"k": K})
        self.retriever = EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5])

    def search(self, query: str, shelf: int | None) -> Any:
        return self.retriever.invoke(query)[:K]

    def rows(self, found: Any) -> list[int]:
        return [document.metadata["row"] for document in found]


class Glued(System):
    """tantivy and usearch (HNSW, half precision) with their defaults, each leg's best 100 fused by reciprocal ranks.

    usearch has no filter in Python: it is asked for ten times as many, and those on other shelves are dropped.
    """

    def build(self, source: Path, made: NDArray[np.float32]) -> None:
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
        index = Index(ndim=made.shape[1], metric="ip", dtype="f16")
        for start in range(0, len(made), 50_000):
            block = np.ascontiguousarray(made[start : start + 50_000])
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
        parsed = self.handle.parse_query(query, ["text"])
        vector = self.embedder.embed_query(query)
        if shelf is not None:
            must = self.tantivy.Occur.Must
            term = self.tantivy.Query.term_query(self.handle.schema, "shelf", shelf)
            parsed = self.tantivy.Query.boolean_query([(must, parsed), (must, term)])
            near = self.graph.search(vector, POOL * SHELVES, threads=1).keys
            near = near[self.shelves[near] == shelf][:POOL]
        else:
            near = self.graph.search(vector, POOL, threads=1).keys
        hits = self.searcher.search(parsed, POOL, count=False).hits
        documents = {}
        words = []
        for _, address in hits:
            document = self.searcher.doc(address)
            row = document["id"][0]
            documents[row] = document
            words.append(row)
        best = reciprocal_ranks([words, near.tolist()])
        return [(row, documents[row] if row in documents else self.document(row)) for row in best]

    def document(self, row: int) -> Any:
        found = self.searcher.search(self.tantivy.Query.term_query(self.handle.schema, "id", row), 1).hits
        return self.searcher.doc(found[0][1])


CLASSES: dict[str, type[System]] = {
    "sleuth": Sleuth,
    "lancedb": Lance,
    "lancedb, exact": LanceExact,
    "chroma": ChromaVectors,
    "chroma, contains": Chroma,
    "langchain": LangChain,
    "tantivy + usearch": Glued,
}
"""By the name in the table."""
SHARED = {"lancedb, exact": "lancedb", "chroma, contains": "chroma"}
"""Systems that ask an index which another has built."""


def serve(name: str, home: Path, source: Path) -> None:
    """The worker: one JSON request a line on standard input, one JSON answer a line on standard output."""
    system = CLASSES[name](home)
    for line in sys.stdin:
        request = json.loads(line)
        asked = [Question(*question) for question in request.get("questions", [])]
        answer: Any = None
        if request["do"] == "build":
            made = np.load(request["vectors"], mmap_mode="r")
            started = time.perf_counter()
            system.build(source, made)
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            answer = {"seconds": seconds, "peak": peak, "whole": folder_bytes(home)}
        elif request["do"] == "open":
            system.open(source)
        elif request["do"] == "time":
            answer = timed(system, asked, filtered=request["filtered"])
        elif request["do"] == "threads":
            answer = throughput(system, asked, request["threads"])
        print(json.dumps(answer), flush=True)


def timed(system: System, asked: list[Question], *, filtered: bool) -> list[tuple[float, bool]]:
    """For each question the seconds taken, and whether its passage was found."""
    took = []
    for query, row, shelf in asked:
        started = time.perf_counter()
        found = system.search(query, shelf if filtered else None)
        seconds = time.perf_counter() - started
        took.append((seconds, row in system.rows(found)))
    return took


def throughput(system: System, asked: list[Question], threads: int) -> float:
    """Queries per second with this many threads over the same questions, without a filter."""
    with ThreadPoolExecutor(threads) as pool:
        parts = [asked[i::threads] for i in range(threads)]
        started = time.perf_counter()
        list(pool.map(lambda part: [system.search(question.query, None) for question in part], parts))
        return len(asked) / (time.perf_counter() - started)


def start_worker(name: str, home: Path, source: Path) -> Worker:
    return Worker(name, home, MODULE, "--source", str(source))


def build(name: str, source: Path, *, keep: bool) -> tuple[Path, dict[str, Any]]:
    """Where the system's index is, and what it cost; built in a process of its own where it is not there yet."""
    owner = SHARED.get(name, name)
    home = CACHE / f"hybrid-{owner.replace(' + ', '-')}-{source.stem.rpartition('-')[2]}"
    told = home / "built.json"
    if not told.exists() or not (keep or name != "sleuth"):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        worker = start_worker(owner, home, source)
        told.write_text(json.dumps(worker.ask(do="build", vectors=str(vectors(source)))))
        worker.close()
    built: dict[str, Any] = json.loads(told.read_text())
    print(f"built {name}: {built}", file=sys.stderr)
    return home, built


def time_queries(
    workers: dict[str, Worker], asked: list[Question], *, filtered: bool
) -> dict[str, list[tuple[float, bool]]]:
    """Seconds and success by system, in turns; the slow ones answer a quarter of the questions."""
    took: dict[str, list[tuple[float, bool]]] = {
        name: [] for name in workers if CLASSES[name].filters or not filtered
    }
    for name in took:
        workers[name].ask(do="time", filtered=filtered, questions=asked[: ROUND // 4])
    for start in range(0, len(asked), ROUND):
        names = list(took)
        random.Random(start).shuffle(names)
        for name in names:
            part = asked[start : start + (ROUND // 4 if CLASSES[name].slow else ROUND)]
            took[name] += workers[name].ask(do="time", filtered=filtered, questions=part)
    return took


def time_threads(worker: Worker, asked: list[Question]) -> dict[int, float]:
    """Queries per second with one thread and with two, the median of turns."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(7):
        for threads, seen in rates.items():
            seen.append(worker.ask(do="threads", questions=asked, threads=threads))
    return {threads: statistics.median(seen) for threads, seen in rates.items()}


def measure(n: int, names: list[str], n_queries: int, *, keep: bool) -> dict[str, Any]:
    """Build what is not there, then time all in turns."""
    source = passages(n)
    vectors(source)
    asked = questions(source, n_queries)
    left_out = {name: CLASSES[name].most for name in names}
    names = [name for name in names if (most := left_out[name]) is None or n <= most[0]]
    built = {name: build(name, source, keep=keep) for name in names}
    workers = {name: start_worker(name, home, source) for name, (home, _) in built.items()}
    for worker in workers.values():
        worker.ask(do="open")
    systems: dict[str, dict[str, Any]] = {name: dict(figures) for name, (_, figures) in built.items()}
    for filtered in (False, True):
        for name, took in time_queries(workers, asked, filtered=filtered).items():
            seconds = [second for second, _ in took]
            systems[name]["filtered" if filtered else "all"] = {
                "p50": statistics.median(seconds),
                "p95": sorted(seconds)[int(len(seconds) * 0.95)],
                "success": statistics.fmean(found for _, found in took),
            }
    threads = time_threads(workers["sleuth"], asked) if "sleuth" in workers else {}
    for worker in workers.values():
        worker.close()
    reasons = {name: most[1] for name, most in left_out.items() if most is not None and name not in names}
    return {
        "passages": n,
        "queries": n_queries,
        "systems": systems,
        "threads": threads,
        "left_out": reasons,
    }


def table(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    head = (
        f"{results['passages']:,} passages, {results['queries']} queries of 2 to 8 words, ten passages with their text; "
        "times in ms.\n"
    )
    rows = [
        "| system | build s | MB on disk | p50 (95 %) | success@10 | filtered: p50 (95 %) | filtered: success@10 |",
        "|" + "---|" * 7,
    ]
    systems = results["systems"]
    for name, s in systems.items():
        cells = [name, f"{s['seconds']:.0f}", f"{s['whole'] / 1e6:.0f}"]
        for kind in ("all", "filtered"):
            told = s.get(kind)
            cells += (
                [f"{told['p50'] * 1e3:.3g} ({told['p95'] * 1e3:.3g})", f"{told['success']:.3f}"]
                if told
                else ["–", "–"]
            )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([head, *rows, "", *notes(results), ""])


def notes(results: dict[str, Any]) -> list[str]:
    """What the table says of speed, and what is not in it."""
    systems, told = results["systems"], []
    for kind, words in (("all", "without a filter"), ("filtered", "with a filter")):
        peers = {name: s[kind]["p50"] for name, s in systems.items() if name != "sleuth" and kind in s}
        if peers and "sleuth" in systems:
            compared = ", ".join(
                f"{seconds / systems['sleuth'][kind]['p50']:.1f} times ({name})"
                for name, seconds in sorted(peers.items(), key=lambda pair: pair[1])
            )
            told.append(f"- {words}, sleuth is faster by {compared}.")
    if threads := results["threads"]:
        ratio = f"{threads[2] / threads[1]:.2f} times the queries of one"
        told.append(
            f"- two threads answer {ratio} ({threads[1]:.0f} to {threads[2]:.0f} a second, no filter)."
        )
    return told + [f"- {name} is left out: {reason}." for name, reason in results["left_out"].items()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--systems", nargs="+", default=list(CLASSES), choices=list(CLASSES))
    parser.add_argument(
        "--keep", action="store_true", help="use sleuth's index of an earlier run, as the peers' always are"
    )
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--out", type=Path, help="write the tables there")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.home, options.source)
        return
    results = [measure(n, options.systems, options.queries, keep=options.keep) for n in options.passages]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    text = "\n".join(map(table, results))
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
