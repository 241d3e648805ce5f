"""Can the embedder read texts of one case so that the default ranking loses nothing?

    python -m benchmarks.readings
    python -m benchmarks.readings --sets cacm --queries 20
    python -m benchmarks.readings --wide

Prints nDCG@10 of the default for readings of words: as they are (in small letters where a text is in capitals), in the
case with the fewest tokens, in the case that the documents use most, and in the case that other sources use most
(`benchmarks.word_forms`). Collections are those of `benchmarks.robustness`. With --wide they are those of
`benchmarks.gains`, and what is printed is the difference to texts as they are and are read now.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.gains import folders, standard_error
from benchmarks.quality import DATA, SETS
from benchmarks.robustness import VARIANTS, measure, sample
from benchmarks.word_forms import WORD, capital, dictionaries, frequencies, mostly, shortest
from sleuth.dense import legible
from sleuth.evaluate import Collection, open_collection
from sleuth.types import Document

Read = Callable[[str], bytes]
Spell = Callable[[str], str]
CASES = ("as it is", "documents in capitals", "queries in capitals", "small letters")


class Reading(NamedTuple):
    """How words are read.

    Attributes:
        speller: returns, for the documents of an index, what spells a word that is in small letters.
        everywhere: whether words of texts in both cases are read so as well.
    """

    speller: Callable[[Sequence[Document]], Spell]
    everywhere: bool = False


def always(spell: Spell) -> Callable[[Sequence[Document]], Spell]:
    """Return a speller that does not look at the documents."""
    return lambda _: spell


def of_documents(documents: Sequence[Document]) -> Spell:
    """Return what spells a word as these documents mostly do."""
    usual = mostly(word for document in documents for word in WORD.findall(document.page_content))
    return lambda word: usual.get(word, word)


SPELLERS: dict[str, Callable[[Sequence[Document]], Spell]] = {
    "small letters": always(lambda word: word),
    "fewest tokens": always(shortest),
    "a capital where it saves tokens": always(capital),
    "as word frequencies write it": always(lambda word: frequencies().get(word, word)),
    "as dictionaries write it": always(lambda word: dictionaries().get(word, word)),
    "as the documents write it": of_documents,
}
READINGS = {
    "now": None,
    **{f"{name}, texts of one case": Reading(speller) for name, speller in SPELLERS.items()},
    **{f"{name}, all texts": Reading(speller, everywhere=True) for name, speller in SPELLERS.items()},
}


def reader(reading: Reading, documents: Sequence[Document]) -> Read:
    """Return what replaces `legible`."""
    spell = reading.speller(documents)

    def read(text: str) -> bytes:
        capitals = sum(map(str.isupper, text))
        if not reading.everywhere and 0 < capitals <= 2 * sum(map(str.islower, text)):
            return legible(text)
        small = legible(text).decode("utf-8", "replace").lower()
        return WORD.sub(lambda word: spell(word[0]), small).encode("utf-8", "replace")

    return read


def ndcg(collection: Collection, documents: Sequence[Document], reading: Reading | None, case: str) -> float:
    """Return nDCG@10 of the default where the embedder reads texts so."""
    read = legible if reading is None else reader(reading, documents)
    with patch("sleuth.dense.wordllama.legible", read), patch("sleuth.dense.late.legible", read):
        return measure(collection, documents, VARIANTS[case])[1]


def print_cases(samples: Sequence[tuple[Collection, list[Document]]]) -> None:
    """Print the mean of each reading for texts in each case."""
    print("| reading | " + " | ".join(CASES) + " |\n|---" + "|---" * len(CASES) + "|")
    for name, reading in READINGS.items():
        row = [statistics.fmean(ndcg(*some, reading, case) for some in samples) for case in CASES]
        print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in row) + " |", flush=True)


def print_differences() -> None:
    """Print differences to texts as they are and are read now: of texts in one case, then of readings of all texts."""
    changes: list[tuple[str, Reading | None, str]] = [("now", None, case) for case in CASES]
    changes += [
        (name, reading, CASES[0]) for name, reading in READINGS.items() if reading and reading.everywhere
    ]
    before: dict[str, float] = {}
    print("| reading | text | all | judged sets | others | worst |\n|---|---|---|---|---|---|")
    for name, reading, case in changes:
        values = {}
        for folder in folders():
            some = sample(open_collection(folder), 200, 20_000)
            values[folder.name] = ndcg(*some, reading, case)
        before = before or values
        differences = {key: value - before[key] for key, value in values.items()}
        print(f"| {name} | {case} | {cells(differences)} |", flush=True)


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
