"""Finds the terms of the index that the words of a query stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sleuth.text import Analyzer

_REMEMBERED = 2048
"""Words whose terms are kept; then it starts anew."""


class Term(NamedTuple):
    """A token in a field."""

    field: str
    token: str


class _Splitting(NamedTuple):
    """Fields whose analyzers cut a text into the same runs.

    Attributes:
        fields: their analyzers, by name.
        known: the terms of runs that were asked for, by run.
    """

    fields: dict[str, Analyzer]
    known: dict[str, tuple[Term, ...]]


class QueryTerms:
    """Counts the terms of queries by field, those that some live row holds. Safe to share between threads.

    An index of many languages has a field with an analyzer for each, and a word of a query is a term of few of them:
    the terms of a word are looked up once, and then taken from memory.
    """

    def __init__(self, analyzers: Mapping[str, Analyzer], is_held: Callable[[str, str], bool]) -> None:
        """Create it for the fields of an index.

        Args:
            analyzers: by field.
            is_held: whether some live row holds a token, by field and token.
        """
        self._is_held = is_held
        splittings: dict[str, _Splitting] = {}
        for name, analyzer in analyzers.items():
            splittings.setdefault(analyzer.splitting, _Splitting({}, {})).fields[name] = analyzer
        self._splittings = tuple(splittings.values())

    def counts(self, query: str) -> dict[str, dict[str, float]]:
        """Return how often each term comes, by field and token."""
        counts: dict[str, dict[str, float]] = {}
        for splitting in self._splittings:
            known = splitting.known
            for run in next(iter(splitting.fields.values())).runs(query):
                terms = known.get(run)
                for field, token in self._look_up(run, splitting) if terms is None else terms:
                    times_of = counts.setdefault(field, {})
                    times_of[token] = times_of.get(token, 0.0) + 1.0
        return counts

    def _look_up(self, run: str, splitting: _Splitting) -> tuple[Term, ...]:
        """Return the terms of one run, and remember them."""
        terms = tuple(
            Term(field, token)
            for field, analyzer in splitting.fields.items()
            for token in analyzer.tokens_of(run)
            if self._is_held(field, token)
        )
        if len(splitting.known) >= _REMEMBERED:
            splitting.known.clear()
        splitting.known[run] = terms
        return terms
