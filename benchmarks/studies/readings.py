"""What would case add, if the embedder read it? How else could words be read without their case?

    python -m benchmarks.studies.readings
    python -m benchmarks.studies.readings --sets cacm --queries 20
    python -m benchmarks.studies.readings --wide

Prints nDCG@10 of the default for readings of words: in small letters, as now; as they are written, but in small
letters where a text is in capitals; in the case with the fewest tokens; and in the case that the documents or other
sources use most (`benchmarks.studies.word_forms`). Collections are those of `benchmarks.studies.robustness`. With
--wide they are those of `benchmarks.studies.gains`, and it prints the difference to small letters.
"""

from __future__ import annotations

import argparse
import statistics
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from benchmarks.quality import DATA, SETS
from benchmarks.studies.gains import folders, standard_error
from benchmarks.studies.robustness import VARIANTS, measure, sample
from benchmarks.studies.word_forms import WORD, capital, dictionaries, frequencies, mostly, shortest
from sleuth.dense import legible
from sleuth.evaluate import Collection, open_collection
from sleuth.types import Document

Read = Callable[[str], bytes]
Spell = Callable[[str], str]
CASES = ("as it is", "documents in capitals", "queries in capitals", "small letters")


def as_written(text: str) -> bytes:
    """Read a text as it is written; in small letters where it has over twice as many capitals as small letters."""
    text = unicodedata.normalize("NFC", text)
    is_shouted = sum(map(str.isupper, text)) > 2 * sum(map(str.islower, text))
    return (text.lower() if is_shouted else text).encode("utf-8", "replace")


def spelled(spell: Spell) -> Read:
    """Read a text in small letters, in which a function spells each word."""
    return lambda text: WORD.sub(lambda word: spell(word[0]), legible(text).decode()).encode()


def listed(forms: Mapping[str, str]) -> Read:
    """Read words in the forms that a list has for them."""
    return spelled(lambda word: forms.get(word, word))


def of_documents(documents: Sequence[Document]) -> Read:
    """Read words as these documents mostly write them."""
    return listed(mostly(word for document in documents for word in WORD.findall(document.page_content)))


READINGS: dict[str, Callable[[Sequence[Document]], Read]] = {
    "**small letters, as now**": lambda _: legible,
    "as it is written": lambda _: as_written,
    "fewest tokens": lambda _: spelled(shortest),
    "a capital where it saves tokens": lambda _: spelled(capital),
    "as word frequencies write it": lambda _: listed(frequencies()),
    "as dictionaries write it": lambda _: listed(dictionaries()),
    "as the documents write it": of_documents,
}


def ndcg(
    collection: Collection,
    documents: Sequence[Document],
    reading: Callable[[Sequence[Document]], Read],
    case: str,
) -> float:
    """Return nDCG@10 of the default where the embedder reads texts so."""
    texts = reading(documents)
    names: dict[str, Any] = {"legible": texts, "legible_query": lru_cache(maxsize=16)(texts)}
    with patch.multiple("sleuth.dense.wordllama", **names), patch.multiple("sleuth.dense.late", **names):
        return measure(collection, documents, VARIANTS[case])[1]


def print_cases(samples: Sequence[tuple[Collection, list[Document]]]) -> None:
    """Print the mean of each reading for texts in each case."""
    print("| reading | " + " | ".join(CASES) + " |\n|---" + "|---" * len(CASES) + "|")
    for name, reading in READINGS.items():
        row = [statistics.fmean(ndcg(*some, reading, case) for some in samples) for case in CASES]
        print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in row) + " |", flush=True)


def print_differences() -> None:
    """Print differences to small letters, for texts as they are."""
    before: dict[str, float] = {}
    print("| reading | all | judged sets | others | worst |\n|---|---|---|---|---|")
    for name, reading in READINGS.items():
        values = {}
        for folder in folders():
            some = sample(open_collection(folder), 200, 20_000)
            values[folder.name] = ndcg(*some, reading, CASES[0])
        before = before or values
        differences = {key: value - before[key] for key, value in values.items()}
        print(f"| {name} | {cells(differences)} |", flush=True)


def cells(differences: Mapping[str, float]) -> str:
    """Return the means of differences with their standard errors over collections, and the worst."""
    groups = [
        list(differences.values()),
        [value for name, value in differences.items() if name in SETS],
        [value for name, value in differences.items() if name not in SETS],
    ]
    means = [f"{statistics.fmean(group):+.4f} ± {standard_error(group):.4f}" for group in groups if group]
    worst = min(differences, key=differences.__getitem__)
    return " | ".join([*means, f"{worst} {differences[worst]:+.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    if options.wide:
        print_differences()
        return
    print_cases(
        [
            sample(open_collection(DATA / name), options.queries, 2_500)
            for name in options.sets
            if (DATA / name).is_dir()
        ]
    )


if __name__ == "__main__":
    main()
