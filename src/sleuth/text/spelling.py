"""Spellings of a word that are one mistake away."""

from __future__ import annotations


def spellings_near(word: str, alphabet: str) -> list[str]:
    """Return the words one edit away: a letter left out, swapped with the next, replaced or added."""
    spellings: list[str] = []
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            spellings.append(head + tail[1:])
        if len(tail) > 1:
            spellings.append(head + tail[1:2] + tail[:1] + tail[2:])
        for letter in alphabet:
            if tail:
                spellings.append(head + letter + tail[1:])
            spellings.append(head + letter + tail)
    return spellings
