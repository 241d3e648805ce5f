"""How well do descriptions of changes, issues and questions find their files? `make bench-code` prints the table.

python -m benchmarks.code_quality --work /tmp/code            every collection, ours and the peers
python -m benchmarks.code_quality --work /tmp/code --peers      bm25s, word matching and semble beside ours, and hybrid
python -m benchmarks.code_quality --work /tmp/code --fit      learn the weights again, with cross-validation
python -m benchmarks.code_quality --work /tmp/code --without    what MRR loses without each signal

All gold files within the first k (Acc@k), any of them (Hit@k), and the reciprocal rank of the first (MRR).
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.code_collections import COMMITS, Given, Task, beir, swebench, swebench_blobs
from benchmarks.code_peers import semble_places
from sleuth.code import CodeStorage, Snapshot
from sleuth.code.search import ranking
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

Floats = NDArray[np.float32]
SETS = (*(f"commit_{name}" for name in COMMITS), "cosqa", "swebench_dev")
KEPT = 150
EVERY = 8
"""A peer that indexes every tree from scratch gets every n-th issue of `swebench_dev`; this is n."""


class Case:
    """One task: signals of the candidates, which of them are gold, and how many gold files are no candidates."""

    __slots__ = ("gold", "id", "missing", "peer", "values")

    def __init__(
        self, id: str, values: Floats, gold: NDArray[np.bool_], missing: int, peer: list[int]
    ) -> None:
        self.id = id
        self.values = values
        self.gold = gold
        self.missing = missing
        self.peer = peer


def collect(name: str, work: Path) -> list[Case]:
    """Signals of every task of a collection; kept in `work`, since they cost minutes."""
    signals_file = work / f"signals_{name}.pkl"
    if signals_file.exists():
        cases_of_file: list[Case] = pickle.loads(signals_file.read_bytes())  # noqa: S301 - our own file
        return cases_of_file
    cases = _swebench_cases(work) if name == "swebench_dev" else _commit_cases(name, work)
    signals_file.write_bytes(pickle.dumps(cases, 5))
    return cases


def _commit_cases(name: str, work: Path) -> list[Case]:
    files, tasks = beir(name, suffix=".py" if name == "cosqa" else "")
    with open_code(work / name, create=True) as storage:
        report = index_source(storage, Given(Path("/collections") / name, files))
        snapshot = _open(storage, report.repository, report.snapshot)
        return [case(snapshot, task) for task in tasks]


def _swebench_cases(work: Path) -> list[Case]:
    cases = []
    for repository, tasks in swebench().items():
        began = time.perf_counter()
        texts = swebench_blobs({blob for _, tree in tasks for _, blob in tree})
        with open_code(work / repository.replace("/", "_"), create=True) as storage:
            for task, tree in tasks:
                source = Given(
                    Path("/collections") / repository, [(path, texts[blob]) for path, blob in tree]
                )
                report = index_source(storage, source)
                cases.append(case(_open(storage, report.repository, report.snapshot), task))
        print(
            f"{repository}: {len(tasks)} tasks, {time.perf_counter() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    return cases


def _open(storage: CodeStorage, repository: str, snapshot: str) -> Snapshot:
    record = storage.repository(repository)
    return Snapshot(storage, record, storage.snapshot(record, snapshot))


def case(snapshot: Snapshot, task: Task) -> Case:
    """The candidates of a task: the best by each signal and by all together, and the gold files.

    Signals that weigh more or less for a short query are scaled so that the weights of all queries fit them.
    """
    query = read_query(task.text)
    ranking_of_files = rank_files(snapshot, query)
    weights = ranking.weights_for(query)
    signals = ranking_of_files.signals.values
    values = np.stack(
        [signals[name] * np.float32(weights[name] / weight) for name, weight in ranking.WEIGHTS.items()]
    )
    candidates = set(np.argsort(-ranking_of_files.scores, kind="stable")[:KEPT].tolist())
    for row in values:
        candidates |= set(np.argsort(-row, kind="stable")[: KEPT // 3].tolist())
    gold = [snapshot.by_path[path] for path in task.gold if path in snapshot.by_path]
    order = np.array(sorted(candidates | set(gold)))
    return Case(task.id, values[:, order], np.isin(order, gold), len(task.gold) - len(gold), [])


def ranks(case: Case, weights: Floats) -> NDArray[np.int64]:
    """Places of the gold files, from 0."""
    order = np.argsort(-(weights @ case.values), kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places[case.gold]


def measures(ranks: list[tuple[NDArray[np.int64], int]]) -> list[float]:
    """Acc@1, 3, 5, 10 and MRR."""
    worst = np.array([r.max() if len(r) and not missing else 10**6 for r, missing in ranks])
    best = np.array([r.min() if len(r) else 10**6 for r, _ in ranks])
    return [*(float((worst < k).mean()) for k in (1, 3, 5, 10)), float((1 / (1 + best)).mean())]


def evaluate(cases: list[Case], weights: Floats) -> list[float]:
    """The measures of one set of weights."""
    return measures([(ranks(case, weights), case.missing) for case in cases])


def fit(collections: dict[str, list[Case]], l2: float = 2e-4) -> Floats:
    """Weights, 0 and more, that give gold files the most of a softmax over candidates; collections count equally."""
    from scipy.optimize import minimize

    rows = [
        (c.values.astype(np.float64), c.gold / c.gold.sum(), 1 / len(cases) / len(collections))
        for cases in collections.values()
        for c in cases
        if c.gold.any()
    ]

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = l2 * float(w @ w), 2 * l2 * w
        for values, target, share in rows:
            scores = w @ values
            high = scores.max()
            weights = np.exp(scores - high)
            z = weights.sum()
            total += share * (np.log(z) + high - scores @ target)
            slope = slope + share * (values @ (weights / z - target))
        return total, slope

    start = np.ones(len(ranking.WEIGHTS))
    optimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start))
    return np.asarray(optimum.x, np.float32)


def peer_rows(name: str, work: Path) -> None:
    """bm25s with code tokens over whole files, matching words as ripgrep would, ours with a vector leg, and semble."""
    import bm25s

    from benchmarks.code_speed import code_tokens
    from sleuth.code import CodeRetriever
    from sleuth.engine.codebase import default_embedder

    files, tasks = beir(name, suffix=".py" if name == "cosqa" else "")
    tokens = [code_tokens(f"{path} {text}") for path, text in files]
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    sets = [Counter(words) for words in tokens]
    place = {path: i for i, (path, _) in enumerate(files)}
    ranks_by_peer: dict[str, list[tuple[NDArray[np.int64], int]]] = {"bm25s": [], "words": [], "hybrid": []}
    with open_code(work / name) as storage:
        repository = storage.repositories()[0]
        retriever = CodeRetriever(storage, default_embedder())
        for task in tasks:
            gold = np.array([place[path] for path in task.gold])
            query_tokens = code_tokens(task.text)
            scores = index.get_scores(query_tokens)
            words = set(query_tokens)
            hits = [
                len(words & counts.keys()) + min(0.9, sum(counts[w] for w in words) / 1e4) for counts in sets
            ]
            ranks_by_peer["bm25s"].append((_places(scores)[gold], 0))
            ranks_by_peer["words"].append((_places(np.array(hits))[gold], 0))
            hybrid = [
                hit.file_path for hit in retriever.retrieve(task.text, repository.id, limit=60, explain=False)
            ]
            order = list(dict.fromkeys(hybrid))
            ranks = [order.index(path) if path in order else 10**6 for path in task.gold]
            ranks_by_peer["hybrid"].append((np.array(ranks), 0))
    show(f"{name}, bm25s", measures(ranks_by_peer["bm25s"]))
    show(f"{name}, words matched", measures(ranks_by_peer["words"]))
    show(f"{name}, ours, hybrid", measures(ranks_by_peer["hybrid"]))
    for peer, places in semble_places(files, tasks, work / "semble" / name).items():
        show(f"{name}, {peer}", measures(places))


def swebench_peer_rows(cases: list[Case], weights: Floats, work: Path) -> None:
    """Print rows of semble, which indexes every tree from scratch, and of our ranking over every eighth issue."""
    ids: set[str] = set()
    ranks: dict[str, list[tuple[NDArray[np.int64], int]]] = {}
    for repository, tasks in swebench().items():
        sample = tasks[::EVERY]
        texts = swebench_blobs({blob for _, tree in sample for _, blob in tree})
        for task, tree in sample:
            files = [(path, texts[blob]) for path, blob in tree]
            ids.add(task.id)
            home = work / "semble" / repository.replace("/", "_")
            for peer, places in semble_places(files, [task], home).items():
                ranks.setdefault(peer, []).extend(places)
    show(f"swebench_dev, {len(ids)} issues", evaluate([case for case in cases if case.id in ids], weights))
    for peer, places in ranks.items():
        show(f"the same, {peer}", measures(places))


def _places(scores: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    places = np.empty(len(scores), np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return places


def show(label: str, values: list[float]) -> None:
    """A row of the table."""
    print(f"| {label} | " + " | ".join(f"{v:.3f}" for v in values) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder for indexes and signals")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--without", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    collections = {name: collect(name, options.work) for name in options.sets}
    current = np.array([ranking.WEIGHTS[name] for name in ranking.WEIGHTS], np.float32)
    print("| collection | Acc@1 | @3 | @5 | @10 | MRR |\n|---|---|---|---|---|---|")
    for name, cases in collections.items():
        show(name, evaluate(cases, current))
        try:
            if options.peers and name == "swebench_dev":
                swebench_peer_rows(cases, current, options.work)
            elif options.peers:
                peer_rows(name, options.work)
        except ImportError as error:
            print(f"a peer is left out: {error}", file=sys.stderr)
    single = [c for c in collections.get("swebench_dev", []) if c.gold.sum() + c.missing == 1]
    if single:
        show("swebench_dev, one gold file", evaluate(single, current))
    if options.without:
        print(f"| without | {' | '.join(collections)} | mean |\n{'|---' * (len(collections) + 2)}|")
        for place, name in enumerate(ranking.WEIGHTS):
            lesser = np.where(np.arange(len(current)) == place, np.float32(0), current)
            losses = [
                evaluate(some, current)[-1] - evaluate(some, lesser)[-1] for some in collections.values()
            ]
            show(name, [*losses, float(np.mean(losses))])
    if options.fit:
        learned = fit(collections)
        print({name: round(float(w), 2) for name, w in zip(ranking.WEIGHTS, learned, strict=True)})
        for name, cases in collections.items():
            show(f"{name}, learned", evaluate(cases, learned))
            others = {n: c for n, c in collections.items() if n != name}
            if others:
                show(f"{name}, learned on the others", evaluate(cases, fit(others)))


if __name__ == "__main__":
    main()
