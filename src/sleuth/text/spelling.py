"""Spellings of a word that are one mistake away."""

from __future__ import annotations

from collections.abc import Iterator


def spellings_near(word: str, alphabet: str) -> Iterator[str]:
    """Yield the words one edit away: a letter left out, swapped with the next, replaced or added."""
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1:2] + tail[:1] + tail[2:]
        for letter in alphabet:
            if tail:
                yield head + letter + tail[1:]
            yield head + letter + tail
