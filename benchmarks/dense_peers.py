"""Vector search against its peers: time to build, time to search, recall, memory and size, in one run.

python -m benchmarks.dense_peers [--rows 100000] [--queries 200] [--systems sleuth usearch faiss-flat ...]

Every system runs in a process of its own over the same vectors and queries, with one thread where it can be told;
queries are timed in rounds that visit the systems in turn, so that a noisy minute hurts all of them.
Rows are those of `benchmarks.dense_recall`: passages of the test collections where there are enough, else made.
A system whose package is missing is left out: pip install usearch faiss-cpu lancedb.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dense_recall import Vectors, best_ten, real, synthetic

SYSTEMS = ["sleuth", "usearch", "faiss-flat", "faiss-hnsw", "lancedb"]
ROUND = 20


class System:
    """Builds an index of vectors in `home`, then answers with the ids of the nearest ten by product."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def build(self, rows: Vectors) -> None:
        raise NotImplementedError

    def open(self) -> None:
        raise NotImplementedError

    def search(self, query: Vectors) -> list[int]:
        raise NotImplementedError


class Sleuth(System):
    """One segment: its arrays as files, memory-mapped."""

    def build(self, rows: Vectors) -> None:
        from sleuth.dense import DenseLeg, codes
        from sleuth.dense.wordllama import WordLlamaEmbedder

        pack = DenseLeg(WordLlamaEmbedder()).pack(codes.pack(rows), rows.shape[1])
        for name, values in pack.arrays.items():
            np.save(self.home / f"{name}.npy", values)
        (self.home / "meta.json").write_text(json.dumps(pack.meta))

    def open(self) -> None:
        from sleuth.dense import DenseLeg
        from sleuth.dense.search import DenseSearcher
        from sleuth.dense.wordllama import WordLlamaEmbedder
        from sleuth.store import LegRequest, SegmentView

        arrays = {path.stem: np.load(path, mmap_mode="r") for path in self.home.glob("*.npy")}
        meta = json.loads((self.home / "meta.json").read_text())
        view = SegmentView("s", np.arange(len(arrays["vectors"])), None, None, arrays, meta)
        self.searcher, self.request = DenseSearcher(DenseLeg(WordLlamaEmbedder()), [view]), LegRequest(10)

    def search(self, query: Vectors) -> list[int]:
        keys: list[int] = self.searcher.pool(query, self.request).keys.tolist()
        return keys


class Usearch(System):
    """HNSW with its defaults, half precision."""

    def build(self, rows: Vectors) -> None:
        from usearch.index import Index

        index = Index(ndim=rows.shape[1], metric="ip", dtype="f16")
        index.add(np.arange(len(rows)), rows, threads=1)
        index.save(str(self.home / "index"))

    def open(self) -> None:
        from usearch.index import Index

        self.index: Any = Index.restore(str(self.home / "index"), view=True)

    def search(self, query: Vectors) -> list[int]:
        return [int(key) for key in self.index.search(query, 10, threads=1).keys]


class FaissFlat(System):
    """The exact product, in single precision."""

    def made(self, dimension: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(1)
        return faiss.IndexFlatIP(dimension)

    def build(self, rows: Vectors) -> None:
        import faiss

        index = self.made(rows.shape[1])
        index.add(rows)
        faiss.write_index(index, str(self.home / "index"))

    def open(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.index = faiss.read_index(str(self.home / "index"))

    def search(self, query: Vectors) -> list[int]:
        return [int(key) for key in self.index.search(query[None], 10)[1][0]]


class FaissHnsw(FaissFlat):
    """HNSW of 32 links, efConstruction 40, efSearch 64."""

    def made(self, dimension: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.IndexHNSWFlat(dimension, 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efSearch = 64
        return index


class Lancedb(System):
    """A table with its default vector index (IVF and product quantisation), refined ten-fold."""

    def build(self, rows: Vectors) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import IvfPq

        values = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
        data = pa.table({"id": pa.array(np.arange(len(rows))), "vector": values})
        table = lancedb.connect(str(self.home)).create_table("rows", data)
        table.create_index("vector", config=IvfPq(distance_type="dot"))

    def open(self) -> None:
        import lancedb

        self.table: Any = lancedb.connect(str(self.home)).open_table("rows")

    def search(self, query: Vectors) -> list[int]:
        result = (
            self.table.search(query)
            .distance_type("dot")
            .refine_factor(10)
            .limit(10)
            .select(["id"])
            .to_arrow()
        )
        return [int(key) for key in result["id"].to_pylist()]


MADE: dict[str, type[System]] = dict(
    zip(SYSTEMS, [Sleuth, Usearch, FaissFlat, FaissHnsw, Lancedb], strict=True)
)


def resident() -> int:
    """Bytes of this process that are in memory, mapped files included; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def build(name: str, home: Path) -> None:
    """Builds in a process of its own, so that what it took is given back."""
    own = home / name
    own.mkdir()
    rows = np.load(home / "rows.npy")
    started = time.perf_counter()
    MADE[name](own).build(rows)
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in own.rglob("*") if path.is_file())
    print(json.dumps({"build": seconds, "bytes": size}))


def serve(name: str, home: Path) -> None:
    """Answers rounds of queries, each named by a line of input, with a line of JSON."""
    queries = np.load(home / "queries.npy")
    before = resident()
    system = MADE[name](home / name)
    system.open()
    for line in sys.stdin:
        rankings, times = [], []
        for query in queries[int(line) : int(line) + ROUND]:
            started = time.perf_counter()
            rankings.append(system.search(query))
            times.append(time.perf_counter() - started)
        print(json.dumps({"found": rankings, "times": times, "memory": resident() - before}), flush=True)


def compare(systems: list[str], home: Path) -> None:
    """Prints a Markdown table."""
    rows, queries = np.load(home / "rows.npy"), np.load(home / "queries.npy")
    truth = [best_ten(rows @ query) for query in queries]
    running: dict[str, subprocess.Popen[str]] = {}
    builds: dict[str, dict[str, float]] = {}
    memory: dict[str, float] = {}
    for name in systems:  # one after the other, so that none builds while another does
        command = [sys.executable, "-m", "benchmarks.dense_peers", "--home", str(home)]
        builder = subprocess.run([*command, "--build", name], capture_output=True, text=True, check=False)
        if builder.returncode:
            print(f"{name} is left out: {builder.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        builds[name] = json.loads(builder.stdout)
        running[name] = subprocess.Popen(
            [*command, "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    keys_by_system: dict[str, list[list[int]]] = {name: [] for name in running}
    times: dict[str, list[float]] = {name: [] for name in running}
    for start in range(0, len(queries), ROUND):
        for name, process in running.items():
            assert process.stdin
            assert process.stdout
            print(start, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            keys_by_system[name] += answer["found"]
            times[name] += answer["times"]
            memory[name] = answer["memory"]
    print(f"{len(rows):,} vectors of {rows.shape[1]} dimensions, {len(queries)} queries, top 10\n")
    print("| system | build s | ms, median | ms, 95 % | recall@10 | MB in memory | MB on disk |")
    print("|---|---|---|---|---|---|---|")
    for name, process in running.items():
        assert process.stdin
        process.stdin.close()
        process.wait()
        recall = statistics.fmean(
            len(best & set(keys)) / 10 for best, keys in zip(truth, keys_by_system[name], strict=True)
        )
        print(
            f"| {name} | {builds[name]['build']:.1f} | {np.median(times[name]) * 1e3:.2f} | "
            f"{np.quantile(times[name], 0.95) * 1e3:.2f} | {recall:.4f} | "
            f"{memory[name] / 1e6:.0f} | {builds[name]['bytes'] / 1e6:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--corpus", type=Path, default=Path(".data"))
    parser.add_argument("--build", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--serve", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        return build(options.build, options.home)
    if options.serve:
        return serve(options.serve, options.home)
    home = Path(tempfile.mkdtemp(prefix="dense-peers-"))
    try:
        corpus = real(options.rows, options.queries, options.corpus)
        rows, queries = corpus or synthetic(options.rows, options.queries, "clusters")
        np.save(home / "rows.npy", rows)
        np.save(home / "queries.npy", queries)
        compare(options.systems, home)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
