"""Full-text search against its peers: build time, size, memory, and time per query, in one run.

    make bench                                           # 300,000 and 1,000,000 passages: docs/measured/speed.md
    python -m benchmarks.lexical_peers --passages 50000  # a quick look

Every system runs in a process of its own over the same passages and the same queries (no stemming, no stop words).
Queries are timed in rounds that visit the systems in turn, so that a noisy minute hurts all of them; figures are
medians. `index` systems give ids and scores; `text` systems give the passage and its metadata too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.passages import CACHE, passages, queries

SYSTEMS = ["sleuth", "tantivy", "bm25s", "lancedb", "sqlite", "sklearn"]
T = TypeVar("T")
ROUND = 20
SLOW = {"sqlite", "sklearn"}


def lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf8") as file:
        for line in file:
            yield line.rstrip("\n")


def folder_bytes(path: Path) -> int:
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


class System:
    """One system: builds a durable index in `home`, then answers queries."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def build(self, source: Path) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {"whole": folder_bytes(self.home)}

    def open(self) -> None: ...

    def index(self, query: str, k: int) -> Any:
        """Ids and scores."""

    def text(self, query: str, k: int) -> Any:
        """Passages with their ids and scores."""


class Sleuth(System):
    def build(self, source: Path) -> None:
        from sleuth import Document, Engine

        settings = {"analyzer": "plain", "embedder": ""}
        with Engine.open(self.home / "index", create=True, settings=settings) as engine:
            engine.add(Document(text, id=str(i)) for i, text in enumerate(lines(source)))

    def sizes(self) -> dict[str, int]:
        return {"whole": folder_bytes(self.home), "search": folder_bytes(self.home / "index" / "segments")}

    def open(self) -> None:
        from sleuth import Engine
        from sleuth.store import LegRequest

        self.engine, self.request = Engine.open(self.home / "index"), LegRequest
        self.searcher = self.engine.searcher("lexical")

    def index(self, query: str, k: int) -> Any:
        return self.searcher.pool(query, self.request(k))

    def text(self, query: str, k: int) -> Any:
        return self.engine.retrieve(query, k)


class Tantivy(System):
    def build(self, source: Path) -> None:
        import tantivy

        for with_text in (False, True):
            schema = tantivy.SchemaBuilder()
            schema.add_integer_field("id", stored=with_text, fast=True)
            schema.add_text_field("text", stored=with_text, tokenizer_name="default")
            folder = self.home / ("stored" if with_text else "bare")
            folder.mkdir(parents=True)
            index = tantivy.Index(schema.build(), path=str(folder))
            started = time.perf_counter()
            writer = index.writer()
            for i, text in enumerate(lines(source)):
                writer.add_document(tantivy.Document(id=i, text=text))
            writer.commit()
            writer.wait_merging_threads()
            self.seconds = time.perf_counter() - started

    def sizes(self) -> dict[str, int]:
        return {"whole": folder_bytes(self.home / "stored"), "search": folder_bytes(self.home / "bare")}

    def open(self) -> None:
        import tantivy

        self.tantivy = tantivy
        self.handle = tantivy.Index.open(str(self.home / "stored"))
        self.handle.reload()
        self.searcher = self.handle.searcher()

    def query(self, query: str) -> Any:
        return self.handle.parse_query(query, ["text"])

    def index(self, query: str, k: int) -> Any:
        return self.searcher.search(self.query(query), k, count=False).hits

    def text(self, query: str, k: int) -> Any:
        return [(s, self.searcher.doc(a).to_dict()) for s, a in self.index(query, k)]


class Bm25s(System):
    def build(self, source: Path) -> None:
        import bm25s

        corpus = list(lines(source))
        tokens = bm25s.tokenize(corpus, stopwords=None, show_progress=False)
        model = bm25s.BM25(backend="numba")
        model.index(tokens, show_progress=False)
        model.save(str(self.home), corpus=corpus)

    def sizes(self) -> dict[str, int]:
        whole = folder_bytes(self.home)
        return {"whole": whole, "search": whole - sum(p.stat().st_size for p in self.home.glob("corpus*"))}

    def open(self) -> None:
        import bm25s

        self.bm25s = bm25s
        self.model = bm25s.BM25.load(str(self.home), load_corpus=False)
        self.model.backend = "numba"
        self.model.activate_numba_scorer()
        self.corpus = [json.loads(line)["text"] for line in lines(self.home / "corpus.jsonl")]

    def index(self, query: str, k: int) -> Any:
        tokens = self.bm25s.tokenize([query], stopwords=None, show_progress=False, return_ids=False)
        return self.model.retrieve(tokens, k=k, show_progress=False, n_threads=0, backend_selection="numba")

    def text(self, query: str, k: int) -> Any:
        result = self.index(query, k)
        return [(s, self.corpus[i]) for i, s in zip(result.documents[0], result.scores[0], strict=True)]


class Lance(System):
    def build(self, source: Path) -> None:
        import lancedb
        import pyarrow as pa

        schema = pa.schema([("id", pa.int64()), ("text", pa.string())])

        def batches() -> Iterator[pa.RecordBatch]:
            block: list[str] = []
            start = 0
            for text in lines(source):
                block.append(text)
                if len(block) == 10_000:
                    yield pa.record_batch(
                        [pa.array(range(start, start + len(block))), pa.array(block)], schema=schema
                    )
                    start, block = start + len(block), []
            if block:
                yield pa.record_batch(
                    [pa.array(range(start, start + len(block))), pa.array(block)], schema=schema
                )

        table = lancedb.connect(self.home).create_table(
            "t", pa.RecordBatchReader.from_batches(schema, batches())
        )
        table.create_fts_index(
            "text",
            use_tantivy=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            with_position=False,
        )

    def open(self) -> None:
        import lancedb

        self.table = lancedb.connect(self.home).open_table("t")

    def index(self, query: str, k: int) -> Any:
        return self.table.search(query, query_type="fts").select(["id", "_score"]).limit(k).to_arrow()

    def text(self, query: str, k: int) -> Any:
        return self.table.search(query, query_type="fts").limit(k).to_list()


class Sqlite(System):
    def build(self, source: Path) -> None:
        import sqlite3

        db = sqlite3.connect(self.home / "fts.sqlite")
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("create virtual table t using fts5(text, tokenize='unicode61')")
        with db:
            db.executemany("insert into t(rowid, text) values (?, ?)", enumerate(lines(source)))
        db.execute("insert into t(t) values ('optimize')")
        db.close()

    def open(self) -> None:
        import sqlite3

        self.db = sqlite3.connect(self.home / "fts.sqlite")

    def match(self, query: str) -> str:
        return " OR ".join(f'"{word}"' for word in query.split())

    def index(self, query: str, k: int) -> Any:
        return self.db.execute(
            "select rowid, rank from t where t match ? order by rank limit ?", (self.match(query), k)
        ).fetchall()

    def text(self, query: str, k: int) -> Any:
        return self.db.execute(
            "select rowid, rank, text from t where t match ? order by rank limit ?", (self.match(query), k)
        ).fetchall()


class Sklearn(System):
    def build(self, source: Path) -> None:
        import joblib
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer()
        matrix = vectorizer.fit_transform(lines(source))
        joblib.dump((vectorizer, matrix), self.home / "tfidf.joblib")

    def open(self) -> None:
        import joblib

        self.vectorizer, self.matrix = joblib.load(self.home / "tfidf.joblib")

    def index(self, query: str, k: int) -> Any:
        import numpy as np

        scores = (self.matrix @ self.vectorizer.transform([query]).T).toarray().ravel()
        best = np.argpartition(-scores, k)[:k]
        best = best[np.argsort(-scores[best], kind="stable")]
        return best, scores[best]


CLASSES: dict[str, type[System]] = {
    "sleuth": Sleuth,
    "tantivy": Tantivy,
    "bm25s": Bm25s,
    "lancedb": Lance,
    "sqlite": Sqlite,
    "sklearn": Sklearn,
}


def serve(name: str, home: Path) -> None:
    """The worker: one JSON request a line on standard input, one JSON answer a line on standard output."""
    system = CLASSES[name](home)

    def timed(call: Callable[[str, int], Any], batch: Iterable[str], k: int) -> list[float]:
        took = []
        for query in batch:
            started = time.perf_counter()
            call(query, k)
            took.append(time.perf_counter() - started)
        return took

    for line in sys.stdin:
        request = json.loads(line)
        answer: Any = None
        if request["do"] == "build":
            started = time.perf_counter()
            system.build(Path(request["source"]))
            seconds = getattr(system, "seconds", time.perf_counter() - started)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            answer = {"seconds": seconds, "peak": peak, **system.sizes()}
        elif request["do"] == "open":
            system.open()
        elif request["do"] == "time":
            call = system.index if request["level"] == "index" else system.text
            answer = timed(call, request["queries"], request["k"])
        elif request["do"] == "threads":
            answer = throughput(partial(system.index, k=request["k"]), request["queries"], request["threads"])
        print(json.dumps(answer), flush=True)


def throughput(call: Callable[[T], Any], batch: list[T], threads: int) -> float:
    """Queries per second with this many threads, each of which takes the next query that nobody has taken."""
    from concurrent.futures import ThreadPoolExecutor

    def work(pending: Iterator[T]) -> None:
        for query in pending:
            call(query)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(call, batch[:threads]))
        started, pending = time.perf_counter(), iter(batch)
        list(pool.map(work, [pending] * threads))
        return len(batch) / (time.perf_counter() - started)


class Worker:
    """A process of a benchmark that serves one system."""

    def __init__(self, name: str, home: Path, module: str = "benchmarks.lexical_peers", *more: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "--serve", name, "--home", str(home), *more],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} died; see its error above")
        return json.loads(line)

    def close(self) -> None:
        self.process.communicate()


def build(name: str, home: Path, *, keep: bool, start: Callable[[], Worker], **asked: Any) -> dict[str, Any]:
    """Build in a process of its own, or take what an earlier run built; what the building cost."""
    figures_file = home / "built.json"
    if not (keep and figures_file.exists()):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        worker = start()
        figures_file.write_text(json.dumps(worker.ask(do="build", **asked)))
        worker.close()
    figures: dict[str, Any] = json.loads(figures_file.read_text())
    print(f"built {name}: {figures}", file=sys.stderr)
    return figures


def time_queries(
    workers: dict[str, Worker], batch: list[str], level: str, k: int
) -> dict[str, dict[str, float]]:
    """Seconds per query by system; the slow ones get ten rounds, the others all queries."""
    took: dict[str, list[float]] = {n: [] for n in workers if not (level == "text" and n == "sklearn")}
    for name in took:
        workers[name].ask(do="time", level=level, k=k, queries=batch[:ROUND])
    for start in range(0, len(batch), ROUND):
        names = [n for n in took if n not in SLOW or start < 10 * ROUND]
        random.Random(start).shuffle(names)
        for name in names:
            part = batch[start : start + (ROUND // 4 if name in SLOW else ROUND)]
            took[name] += workers[name].ask(do="time", level=level, k=k, queries=part)
    return {
        name: {
            "p50": statistics.median(seconds),
            "mean": statistics.fmean(seconds),
            "p99": sorted(seconds)[int(len(seconds) * 0.99)],
        }
        for name, seconds in took.items()
    }


def time_threads(worker: Worker, batch: list[str]) -> dict[str, float]:
    """Queries per second with one thread and with two, the median of turns."""
    rates: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(7):
        for threads, values in rates.items():
            values.append(worker.ask(do="threads", k=10, queries=batch * 3, threads=int(threads)))
    return {threads: statistics.median(values) for threads, values in rates.items()}


def measure(
    n: int, names: list[str], n_queries: int, questions: Path | None, *, keep: bool
) -> dict[str, Any]:
    """Build every system, then time them all in turns.

    Args:
        questions: a file of a JSON object a line, whose "text" is asked; None asks for words of passages.
    """
    source = passages(n)
    batch = queries(source, n_queries)
    if questions is not None:
        texts = [json.loads(line)["text"] for line in questions.read_text("utf8").splitlines()]
        batch = [
            " ".join(re.findall(r"\w+", text)) for text in texts[:n_queries]
        ]  # tantivy reads signs as syntax
    homes = {name: CACHE / f"{name}-{n}" for name in names}
    systems = {
        name: build(name, home, keep=keep, start=partial(Worker, name, home), source=str(source))
        for name, home in homes.items()
    }
    workers = {name: Worker(name, home) for name, home in homes.items()}
    for worker in workers.values():
        worker.ask(do="open")
    for level, k in itertools.product(("index", "text"), (10, 100)):
        for name, figures in time_queries(workers, batch, level, k).items():
            systems[name][f"{level}_{k}"] = figures
    threads = time_threads(workers["sleuth"], batch) if "sleuth" in workers else {}
    for worker in workers.values():
        worker.close()
    megabytes = source.stat().st_size / 1e6
    return {
        "passages": n,
        "megabytes": megabytes,
        "queries": n_queries,
        "kind": "questions" if questions else "queries of 2 to 8 words",
        "systems": systems,
        "threads": threads,
    }


def table(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    systems = results["systems"]
    head = (
        f"{results['passages']:,} passages, {results['megabytes']:.0f} MB, "
        f"{results['queries']} {results['kind']}; times in ms.\n"
    )
    columns = [f"{level}_{k}" for level in ("index", "text") for k in (10, 100)]
    rows = [
        "| system | build s | MB/s | peak MB | search files MB | whole MB | "
        + " | ".join(
            f"{'ids' if c.startswith('index') else 'text'}, top {c.split('_')[1]}: p50 (mean)"
            for c in columns
        )
        + " |"
    ]
    rows.append("|" + "---|" * (6 + len(columns)))
    for name, s in systems.items():
        cells = [
            name,
            f"{s['seconds']:.1f}",
            f"{results['megabytes'] / s['seconds']:.1f}",
            f"{s['peak'] / 1e6:.0f}",
            f"{s['search'] / 1e6:.0f}" if "search" in s else "–",
            f"{s['whole'] / 1e6:.0f}",
        ]
        cells += [f"{s[c]['p50'] * 1e3:.3g} ({s[c]['mean'] * 1e3:.3g})" if c in s else "–" for c in columns]
        rows.append("| " + " | ".join(cells) + " |")
    notes = [""]
    for c in columns:
        peers = {name: s[c]["p50"] for name, s in systems.items() if name != "sleuth" and c in s}
        if peers and c in systems.get("sleuth", {}):
            best = min(peers, key=lambda name: peers[name])
            ratio = peers[best] / systems["sleuth"][c]["p50"]
            level, k = c.split("_")
            notes.append(f"- {level}, top {k}: {ratio:.1f} times as fast as {best}, the fastest peer (p50).")
    one, two = results["threads"]["1"], results["threads"]["2"]
    notes.append(
        f"- two threads answer {two / one:.2f} times the queries of one ({one:.0f} to {two:.0f} a second)."
    )
    return "\n".join([head, *rows, *notes, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=300_000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument(
        "--questions", type=Path, help="queries of a collection, such as .data/xquad_en/queries.jsonl"
    )
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--keep", action="store_true", help="use indexes built by an earlier run")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--out", type=Path, help="write the table there")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.home)
        return
    results = measure(
        options.passages, options.systems, options.queries, options.questions, keep=options.keep
    )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    text = table(results)
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
