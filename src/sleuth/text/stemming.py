"""Snowball stems, and which version of Snowball makes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def snowball() -> str:
    """Return a suffix that differs by Snowball's version: releases stem differently. Empty for 3.1.0."""
    import Stemmer

    version: str = Stemmer.version()
    return "" if version == "3.1.0" else f"+snowball-{version}"


_OTHER_SCRIPTS = frozenset(
    {"arabic", "armenian", "greek", "hindi", "nepali", "persian", "russian", "tamil", "yiddish"}
)
"""Stemmers whose rules are of letters beyond ASCII: a word without such letters is its own stem."""

_stemmers = threading.local()


class _Unstemmed:
    """Words are their own stems: what stands for an algorithm that the installed Snowball lacks."""

    stemWord = str  # noqa: N815 - as of Snowball
    stemWords = list  # noqa: N815


class Stemming:
    """Turns words into Snowball stems, then folds those. There is one stemmer per thread: it keeps state."""

    def __init__(self, algorithm: str, fold: Callable[[str], str] = str) -> None:
        self._algorithm = algorithm
        self.fold = fold

    def __call__(self, tokens: list[str]) -> list[str]:
        stems = list(self._stemmer().stemWords(tokens)) if self._algorithm else tokens
        if self.fold is str:
            return stems
        return [stem if stem.isascii() else self.fold(stem) for stem in stems]

    def stem_ascii(self) -> Callable[[str], str]:
        """Return what stems a word of ASCII letters and digits, for this thread only."""
        keeps_ascii = not self._algorithm or self._algorithm in _OTHER_SCRIPTS
        return str if keeps_ascii else self._stemmer().stemWord

    def _stemmer(self) -> Any:
        """Return this thread's stemmer, made at the first use."""
        stemmer = getattr(_stemmers, self._algorithm, None)
        if stemmer is None:
            import Stemmer

            # 2.2, the oldest that is allowed, has no Czech
            is_known = self._algorithm in Stemmer.algorithms()
            # 0: no cache of its own
            stemmer = Stemmer.Stemmer(self._algorithm, 0) if is_known else _Unstemmed
            setattr(_stemmers, self._algorithm, stemmer)
        return stemmer
