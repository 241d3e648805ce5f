"""How good are the rankings, on all test collections at once, beside the peers?

    make bench-quality
    python -m benchmarks.quality --sets scifact cranfield --systems lexical hybrid bm25s

Prints nDCG@10 and recall@100 per collection and system, and the paired p of hybrid against lexical. Collections are
folders in BEIR layout under .data/; those that are absent are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sleuth import Engine
from sleuth.evaluate.collections import Collection, open_collection
from sleuth.evaluate.measures import Scores, compare, score
from sleuth.evaluate.runs import Run, make_run
from sleuth.surfaces.cli.eval import Configured

DATA = Path(__file__).parents[1] / ".data"
SETS = [
    "scifact", "nfcorpus_reduced", "cranfield", "cisi", "cacm", "checkthat2020", "climatefever_sents",
    "birco_wtb_dev", "birco_dorismae_dev", "xquad_en", "arxiv_title2abs",
]  # fmt: skip
K = 100


def texts_of(collection: Collection) -> tuple[list[str], list[str]]:
    ids, texts = [], []
    for document in collection.documents():
        ids.append(str(document.id))
        texts.append(f"{document.metadata.get('title', '')} {document.page_content}".strip())
    return ids, texts


def sleuth(legs: list[str] | None, fusion: str | None = None) -> Callable[[Collection], Run]:
    def run(collection: Collection) -> Run:
        home = DATA / "bench" / "quality" / collection.folder.name
        with Engine.open(home, create=True) as engine:
            if not engine.status()["documents"]:
                engine.add(collection.documents())
            return make_run(Configured(engine, legs, fusion), collection.queries, k=K)

    return run


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
    asked = peer.tokenize(
        list(collection.queries.values()), stopwords="en", stemmer=stemmer, show_progress=False
    )
    found = model.retrieve(asked, k=min(K, len(ids)), show_progress=False)
    return {
        query: {ids[i]: float(s) for i, s in zip(row, scores, strict=True) if s > 0}
        for query, row, scores in zip(collection.queries, found.documents, found.scores, strict=True)
    }


def tfidf(collection: Collection) -> Run:
    """scikit-learn's TfidfVectorizer and cosine: what document 001 describes."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    ids, texts = texts_of(collection)
    vectorizer = TfidfVectorizer()
    matrix = vectorizer.fit_transform(texts)
    run: Run = {}
    for query, text in collection.queries.items():
        scores = np.asarray((matrix @ vectorizer.transform([text]).T).todense()).ravel()
        best = np.argsort(-scores, kind="stable")[:K]
        run[query] = {ids[i]: float(scores[i]) for i in best if scores[i] > 0}
    return run


def ensemble(collection: Collection) -> Run:
    """LangChain's EnsembleRetriever (reciprocal ranks, equal weights) over its BM25Retriever and our vectors."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from sleuth.dense.wordllama import WordLlamaEmbedder

    ids, texts = texts_of(collection)
    documents = [Document(text, id=id, metadata={"id": id}) for id, text in zip(ids, texts, strict=True)]

    class Embeddings:
        def embed_documents(self, wanted: list[str]) -> list[list[float]]:
            return [list(map(float, v)) for v in WordLlamaEmbedder().embed_documents(wanted)]

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, WordLlamaEmbedder().embed_query(text)))

    store = InMemoryVectorStore(Embeddings())  # type: ignore[arg-type]
    store.add_documents(documents)
    both = EnsembleRetriever(
        retrievers=[BM25Retriever.from_documents(documents, k=K), store.as_retriever(search_kwargs={"k": K})],
        weights=[0.5, 0.5],
    )
    return {
        query: {str(d.metadata["id"]): -float(place) for place, d in enumerate(both.invoke(text)[:K])}
        for query, text in collection.queries.items()
    }


SYSTEMS: dict[str, Callable[[Collection], Run]] = {
    "lexical": sleuth(["lexical"]),
    "dense": sleuth(["dense"]),
    "hybrid": sleuth(None),
    "rrf": sleuth(None, "rrf"),
    "bm25s": bm25s,
    "tfidf": tfidf,
    "langchain": ensemble,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fresh", action="store_true", help="index again")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(DATA / "bench" / "quality", ignore_errors=True)
    results: dict[str, dict[str, Scores]] = {}
    for name in options.sets:
        if not (DATA / name).is_dir():
            print(f"{name} is not there and left out", file=sys.stderr)
            continue
        collection = open_collection(DATA / name)
        results[name] = {}
        for system in options.systems:
            started = time.perf_counter()
            try:
                run = SYSTEMS[system](collection)
            except ImportError as error:
                print(f"{system} is left out: {error}", file=sys.stderr)
                continue
            results[name][system] = score(run, collection.qrels, ["nDCG@10", "R@100"])
            means = results[name][system].means
            print(f"{name} {system}: {means} in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    for measure in ("nDCG@10", "R@100"):
        print(table(results, measure))
    if options.json:
        told = {name: {s: found.means for s, found in row.items()} for name, row in results.items()}
        options.json.write_text(json.dumps(told, indent=1))


def table(results: dict[str, dict[str, Scores]], measure: str) -> str:
    """One measure as Markdown: a row per collection, a column per system."""
    systems = list(dict.fromkeys(system for row in results.values() for system in row))
    lines = [
        f"| {measure} | " + " | ".join(systems) + " | hybrid − lexical (p) |",
        "|---" * (len(systems) + 2) + "|",
    ]
    for name, row in results.items():
        cells = [f"{row[s].means[measure]:.3f}" if s in row else "–" for s in systems]
        gain = "–"
        if {"lexical", "hybrid"} <= row.keys():
            found = next(c for c in compare(row["lexical"], row["hybrid"]) if c.measure == measure)
            gain = f"{found.second - found.first:+.3f} ({found.p:.3f})"
        lines.append(f"| {name} | " + " | ".join([*cells, gain]) + " |")
    means = {s: [row[s].means[measure] for row in results.values() if s in row] for s in systems}
    cells = [
        f"**{statistics.fmean(seen):.3f}**" if len(seen) == len(results) else "–" for seen in means.values()
    ]
    lines.append("| **mean** | " + " | ".join(cells) + " | |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
