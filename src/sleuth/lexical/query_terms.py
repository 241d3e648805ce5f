"""Finds the terms of the index that the words of a query stand for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from sleuth.lexical.blockmax import terms_of_word
from sleuth.text import MAX_TOKEN, Analyzer, WordRule

_REMEMBERED = 1 << 13
"""Words whose terms are kept; then it starts anew."""


class Term(NamedTuple):
    """A token in a field."""

    field: str
    token: str


class Dictionary(Protocol):
    """The terms of a field."""

    def holds(self, token: str) -> bool:
        """Return whether some live row holds a term."""
        ...


class _Field(NamedTuple):
    """A field, as the words of a query are looked up in it."""

    name: str
    analyzer: Analyzer
    dictionary: Dictionary


class _Rule(NamedTuple):
    """What finds the term of a word in a field."""

    field: str
    word: WordRule
    holds: Callable[[str], bool]


class _Splitting(NamedTuple):
    """Fields whose analyzers cut a text into the same runs.

    Attributes:
        known: the terms of runs that were asked for, by run.
        of_thread: keeps `rules`.
    """

    fields: list[_Field]
    known: dict[str, tuple[Term, ...]]
    of_thread: threading.local

    def rules(self) -> list[_Rule] | None:
        """Return what finds the terms of a word in this thread, by field; None where the case of words matters."""
        try:
            rules: list[_Rule] | None = self.of_thread.rules
        except AttributeError:
            by_field = [(field, field.analyzer.word_rule()) for field in self.fields]
            rules = [_Rule(field.name, rule, field.dictionary.holds) for field, rule in by_field if rule]
            self.of_thread.rules = rules = rules if len(rules) == len(by_field) else None
        return rules


class QueryTerms:
    """Counts the terms of queries by field, those that some live row holds. Safe to share between threads.

    An index of many languages has a field with an analyzer for each, and a word of a query is a term of few of them:
    the terms of a word are looked up once, and then taken from memory.
    """

    def __init__(self, analyzers: Mapping[str, Analyzer], dictionaries: Mapping[str, Dictionary]) -> None:
        """Create it for the fields of an index.

        Args:
            analyzers: by field.
            dictionaries: by field.
        """
        splittings: dict[str, _Splitting] = {}
        for name, analyzer in analyzers.items():
            splitting = splittings.setdefault(analyzer.splitting, _Splitting([], {}, threading.local()))
            splitting.fields.append(_Field(name, analyzer, dictionaries[name]))
        self._splittings = tuple(splittings.values())

    def counts(self, query: str) -> dict[Term, float]:
        """Return how often each term comes."""
        counts: dict[Term, float] = {}
        for splitting in self._splittings:
            known = splitting.known
            for run in splitting.fields[0].analyzer.runs(query):
                terms = known.get(run)
                for term in self._look_up(run, splitting) if terms is None else terms:
                    counts[term] = counts.get(term, 0.0) + 1.0
        return counts

    def _look_up(self, run: str, splitting: _Splitting) -> tuple[Term, ...]:
        """Return the terms of one run, and remember them."""
        rules = splitting.rules() if run.isascii() and run.isalnum() else None
        if rules is not None:
            word = run.lower()
            terms = tuple(map(Term._make, terms_of_word(word, rules) if len(word) <= MAX_TOKEN else ()))
        else:
            terms = tuple(
                Term(name, token)
                for name, analyzer, dictionary in splitting.fields
                for token in analyzer.tokens_of(run)
                if dictionary.holds(token)
            )
        if len(splitting.known) >= _REMEMBERED:
            splitting.known.clear()
        splitting.known[run] = terms
        return terms
