"""Do rankings survive text as it comes: in capitals, without accents, broken at line ends, read by a machine, mistyped?

    python -m benchmarks.studies.robustness
    python -m benchmarks.studies.robustness --sets scifact cranfield --queries 80

Prints nDCG@10 of words and of the default for each variant, the mean over collections, and what each lost against the
text as it is; then the gain of the default over words in each collection and variant. Collections are folders in BEIR
layout under .data/, of which a sample is used.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality import DATA, SETS
from sleuth import Engine
from sleuth.evaluate import Collection, make_run, open_collection, score
from sleuth.surfaces.cli.eval import Configured
from sleuth.types import Document

Change = Callable[[str, random.Random], str]
NOISE = 0.02
"""Share of letters that a machine misreads."""
MISREAD = str.maketrans("l1o0einuhbatfsgrv", "1l0oclunbhoft5qvy")


class Variant(NamedTuple):
    """Changes of documents and of queries, random or fixed; None leaves them as they are."""

    documents: Change | None = None
    queries: Change | None = None
    is_random: bool = False


def shouted(text: str, _: random.Random) -> str:
    """Return a text in capitals."""
    return text.upper()


def lowered(text: str, _: random.Random) -> str:
    """Return a text in small letters."""
    return text.lower()


def unaccented(text: str, _: random.Random) -> str:
    """Return a text without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def broken(text: str, rng: random.Random) -> str:
    """Return a text in lines of 72 characters; a long word at the end of a line is broken by a hyphen."""
    pieces, column = [], 0
    for word in text.split():
        if column + len(word) > 72:
            split = rng.randint(3, len(word) - 3) if len(word) >= 6 and word.isalpha() else 0
            pieces.append(f"{word[:split]}-\n{word[split:]} " if split else f"\n{word} ")
            column = len(word) - split + 1
        else:
            pieces.append(f"{word} ")
            column += len(word) + 1
    return "".join(pieces)


def misread(text: str, rng: random.Random) -> str:
    """Return a text in which letters and digits were misread, every fifth of them lost."""
    return "".join(
        (c.lower().translate(MISREAD) if rng.random() < 0.8 else "")
        if c.isalnum() and rng.random() < NOISE
        else c
        for c in text
    )


def mistyped(text: str, rng: random.Random) -> str:
    """Return a text with a letter swapped, lost or doubled in one of eight words, one at least."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) >= 5 and word.isalpha()]
    for i in rng.sample(long, min(len(long), max(1, len(words) // 8))):
        word, split = words[i], rng.randint(1, len(words[i]) - 2)
        swapped = word[:split] + word[split + 1] + word[split] + word[split + 2 :]
        words[i] = rng.choice(
            [swapped, word[:split] + word[split + 1 :], word[:split] + word[split] + word[split:]]
        )
    return " ".join(words)


VARIANTS = {
    "as it is": Variant(),
    "documents in capitals": Variant(documents=shouted),
    "queries in capitals": Variant(queries=shouted),
    "small letters": Variant(lowered, lowered),
    "no accents": Variant(unaccented, unaccented),
    "broken at line ends": Variant(documents=broken, is_random=True),
    "2 % misread": Variant(documents=misread, is_random=True),
    "queries mistyped": Variant(queries=mistyped, is_random=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--documents", type=int, default=2_500)
    parser.add_argument("--tries", type=int, default=5, help="of changes that are made by chance; their mean")
    options = parser.parse_args()
    samples = [
        sample(open_collection(DATA / name), options.queries, options.documents)
        for name in options.sets
        if (DATA / name).is_dir()
    ]
    print("| text | words | default | loss of words | loss of default |\n|---|---|---|---|---|")
    base: list[float] = []
    gains: dict[str, list[float]] = {}
    for name, variant in VARIANTS.items():
        seeds = range(options.tries if variant.is_random else 1)
        rows = [mean_of([measure(*some, variant, seed) for seed in seeds]) for some in samples]
        gains[name] = [default - words for words, default in rows]
        means = [statistics.fmean(column) for column in zip(*rows, strict=True)]
        base = base or means
        losses = [before - now for before, now in zip(base, means, strict=True)]
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in (*means, *losses)) + " |", flush=True)
    print("\n| gain of the default | " + " | ".join(gains) + " |\n|---" + "|---" * len(gains) + "|")
    for (collection, _), *row in zip(samples, *gains.values(), strict=True):
        print(f"| {collection.folder.name} | " + " | ".join(f"{gain:+.3f}" for gain in row) + " |")


def sample(collection: Collection, queries: int, documents: int) -> tuple[Collection, list[Document]]:
    """Return a collection with some of its queries, and documents that hold all answers to them."""
    rng = random.Random(1)
    ids_of_queries = rng.sample(sorted(collection.queries), min(queries, len(collection.queries)))
    qrels = {query: collection.qrels[query] for query in ids_of_queries}
    judged_ids = {document for judged in qrels.values() for document in judged}
    everything = list(collection.documents())
    rest = [document for document in everything if document.id not in judged_ids]
    extra = rng.sample(rest, min(len(rest), max(0, documents - len(judged_ids))))
    ids = judged_ids | {str(document.id) for document in extra}
    print(f"{collection.name}: {len(ids_of_queries)} queries", file=sys.stderr)
    some = replace(
        collection, queries={query: collection.queries[query] for query in ids_of_queries}, qrels=qrels
    )
    return some, [document for document in everything if document.id in ids]


def mean_of(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of each place."""
    first, second = zip(*pairs, strict=True)
    return statistics.fmean(first), statistics.fmean(second)


def measure(
    collection: Collection, documents: Sequence[Document], variant: Variant, seed: int = 0
) -> tuple[float, float]:
    """Return nDCG@10 of words alone and of the default, for one variant."""
    rng = random.Random(7 + seed)

    def changed(text: str, change: Change | None) -> str:
        return text if change is None else change(text, rng)

    texts = [
        Document(
            changed(document.page_content, variant.documents),
            {key: changed(str(value), variant.documents) for key, value in document.metadata.items()},
            id=document.id,
        )
        for document in documents
    ]
    queries = {name: changed(text, variant.queries) for name, text in collection.queries.items()}
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "index", create=True) as engine:
        engine.add(texts)
        runs = [make_run(Configured(engine, legs, None), queries, k=100) for legs in (["lexical"], None)]
    words, default = (score(run, collection.qrels, ["nDCG@10"]).means["nDCG@10"] for run in runs)
    return words, default


if __name__ == "__main__":
    main()
