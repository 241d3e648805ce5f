"""How words are mostly written, by sources that are not the test collections."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from benchmarks.packages import unpacked
from sleuth.dense import load_model

WORD = re.compile(r"[^\W\d_]+")
WITHIN = re.compile(r"(?:(?<=[a-z] )|(?<=, ))[^\W\d_]+")
"""A word after another that ends in a small letter or a comma: not the first of a sentence."""


def mostly(words: Iterable[str]) -> dict[str, str]:
    """Return how each word is mostly written, by the word in small letters."""
    counts: dict[str, Counter[str]] = {}
    for word in words:
        counts.setdefault(word.lower(), Counter())[word] += 1
    return {word: forms.most_common(1)[0][0] for word, forms in counts.items()}


@cache
def dictionaries() -> dict[str, str]:
    """Return how WordNet and the Collaborative International Dictionary of English write words within sentences."""
    texts = [
        gzip.decompress(next(unpacked(f"deb:dict-{name}").rglob(f"{name}.dict.dz")).read_bytes())
        for name in ("wn", "gcide")
    ]
    plain = (re.sub(r"\s+", " ", text.decode("utf-8", "replace")) for text in texts)
    return mostly(word for text in plain for word in WITHIN.findall(text))


@cache
def frequencies() -> dict[str, str]:
    """Return the form of each word that is the most probable one in spaCy's table of English word probabilities."""
    path = next(unpacked("wheel:spacy-lookups-data").rglob("en_lexeme_prob.json.gz"))
    probabilities: dict[str, float] = json.loads(gzip.decompress(path.read_bytes()))
    forms = sorted((word for word in probabilities if WORD.fullmatch(word)), key=probabilities.__getitem__)
    return {word.lower(): word for word in forms}


@cache
def shortest(word: str) -> str:
    """Return a word in the case in which it has the fewest tokens; in small letters where that is no more."""
    return min((word, word.capitalize(), word.upper()), key=count_tokens)


@cache
def capital(word: str) -> str:
    """Return a word with a capital where that has fewer tokens, else in small letters."""
    return min((word, word.capitalize()), key=count_tokens)


def count_tokens(form: str) -> int:
    """Return how many tokens a word has after a blank."""
    return len(load_model().vocabulary.encode(f" {form}".encode()))
