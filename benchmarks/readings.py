"""Can the embedder read texts of one case so that the default ranking loses nothing?

    python -m benchmarks.readings
    python -m benchmarks.readings --sets cacm --queries 20

Prints nDCG@10 of the default for readings of words: as they are (in small letters where a text is in capitals), in the
case with the fewest tokens, and in the case that the documents use most. Collections are those of
`benchmarks.robustness`.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.quality import DATA, SETS
from benchmarks.robustness import VARIANTS, measure, sample
from sleuth.dense import legible, load_model
from sleuth.evaluate import open_collection
from sleuth.types import Document

Read = Callable[[str], bytes]
WORD = re.compile(r"[^\W\d_]+")
CASES = ("as it is", "documents in capitals", "queries in capitals", "small letters")


class Reading(NamedTuple):
    """How words are read.

    Attributes:
        spelled: a word in small letters, given the words of the documents by how they are mostly written.
        everywhere: whether words of texts in both cases are read so as well.
    """

    spelled: Callable[[str, dict[str, str]], str]
    everywhere: bool = False


@cache
def shortest(word: str) -> str:
    """Return a word in the case in which it has the fewest tokens; in small letters where that is no more."""
    encode = load_model().vocabulary.encode
    return min((word, word.capitalize(), word.upper()), key=lambda form: len(encode(f" {form}".encode())))


READINGS = {
    "now": None,
    "fewest tokens, texts of one case": Reading(lambda word, _: shortest(word)),
    "fewest tokens, all texts": Reading(lambda word, _: shortest(word), everywhere=True),
    "as the documents write it, texts of one case": Reading(lambda word, usual: usual.get(word, word)),
    "as the documents write it, all texts": Reading(
        lambda word, usual: usual.get(word, word), everywhere=True
    ),
}


def reader(reading: Reading, usual: dict[str, str]) -> Read:
    """Return what replaces `legible`."""

    def read(text: str) -> bytes:
        capitals = sum(map(str.isupper, text))
        if not reading.everywhere and 0 < capitals <= 2 * sum(map(str.islower, text)):
            return legible(text)
        small = legible(text).decode("utf-8", "replace").lower()
        return WORD.sub(lambda word: reading.spelled(word[0], usual), small).encode("utf-8", "replace")

    return read


def usual_forms(documents: Sequence[Document]) -> dict[str, str]:
    """Return how each word of documents is mostly written, by the word in small letters."""
    counts: dict[str, Counter[str]] = {}
    for document in documents:
        for word in WORD.findall(document.page_content):
            counts.setdefault(word.lower(), Counter())[word] += 1
    return {word: forms.most_common(1)[0][0] for word, forms in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=80)
    options = parser.parse_args()
    samples = [
        sample(open_collection(DATA / name), options.queries, 2_500)
        for name in options.sets
        if (DATA / name).is_dir()
    ]
    print("| reading | " + " | ".join(CASES) + " |\n|---" + "|---" * len(CASES) + "|")
    for name, reading in READINGS.items():
        row = []
        for case in CASES:
            values = []
            for collection, documents in samples:
                read = legible if reading is None else reader(reading, usual_forms(documents))
                with patch("sleuth.dense.wordllama.legible", read), patch("sleuth.dense.late.legible", read):
                    values.append(measure(collection, documents, VARIANTS[case])[1])
            row.append(statistics.fmean(values))
        print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in row) + " |", flush=True)


if __name__ == "__main__":
    main()
