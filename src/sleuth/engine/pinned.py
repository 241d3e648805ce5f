"""Asks the legs of one version of an index, or of all its shards, for the rows of one query, within a deadline."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError, SleuthError, StoreError, UnavailableError
from sleuth.logs import logger_of
from sleuth.remote import check_cancelled
from sleuth.remote.cancellation import Cancellation, context_of
from sleuth.types import PartReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.index import Backend
    from sleuth.engine.search import PoolRequest, Searchers
    from sleuth.remote import Deadline
    from sleuth.store import Hits, IndexSnapshot
    from sleuth.text.analyzers import Analyzer
    from sleuth.types import Explanation

logger = logger_of("engine")

_OF_ALL_LEGS: Final = (StoreError, ArgumentError, UnavailableError)
"""Errors that concern the whole search, whichever leg met them."""


class Pools(NamedTuple):
    """What the legs answered, by leg.

    Attributes:
        queries: what each leg was asked, in its own form.
        hits: best first; absent where a leg failed.
        parts: a report of each leg, but for one that was asked alone and answered.
    """

    queries: Mapping[str, Any]
    hits: Mapping[str, Hits]
    parts: Sequence[PartReport]


class AddedWord(NamedTuple):
    """A term that is searched beside the word of the query, as one of a group of terms.

    Attributes:
        why: what it is beside that word: a synonym, a word that begins with it, or a few edits away.
        share: of the weight of the word, for one word of a phrase.
        label: what a reader calls it.
    """

    group: str
    token: str
    why: str
    share: float
    label: str


class WiderQuery(NamedTuple):
    """A query with more words, in the form of the leg that knows words.

    Attributes:
        leg: that is asked it; "" where no word was added.
        added: by word of the query, the words that a passage may hold in its place.
        notes: for the author of the query.
    """

    leg: str
    form: Any
    added: Mapping[str, Sequence[AddedWord]]
    notes: Sequence[str]

    def marked(self, explanation: Explanation) -> Explanation:
        """Return an explanation whose terms say which word they were added for, and why."""
        origins = {term.token: f"{word} ({term.why})" for word, terms in self.added.items() for term in terms}

        def with_origin(part: Explanation) -> Explanation:
            token, facts = part.name.rpartition(":")[2], part.facts
            if "df" in facts and token in origins:
                facts = {**facts, "added for": origins[token]}
            return replace(part, facts=facts, parts=tuple(map(with_origin, part.parts)))

        return with_origin(explanation)


class Pinned(NamedTuple):
    """One version of an index, or of all its shards, during one query. Keys name rows in it.

    Attributes:
        searchers: of the version.
        snapshot: its rows, as far as a scope shows them.
        analyzer: splits texts into words as the index does.
        asked: the snapshot that legs are asked with: one whose parts have the deadline.
        deadline: legs that have not answered by then are abandoned.
        wider: what the leg for words searches in place of the query; None for the query itself.
    """

    searchers: Searchers
    snapshot: IndexSnapshot
    analyzer: Analyzer
    asked: IndexSnapshot
    deadline: Deadline | None = None
    wider: WiderQuery | None = None

    @classmethod
    def of(cls, backend: Backend, snapshot: IndexSnapshot) -> Pinned:
        """Return the version that a snapshot of the store shows, with its searchers."""
        searchers = backend.searchers_of(snapshot)
        return cls(searchers, snapshot, searchers.words.analyzer, snapshot)

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """Return the best rows of each leg: those of one index are asked one after the other, those of shards at once.

        Raises:
            EmbeddingError: the embedder failed and no other leg was asked for.
        """
        queries: dict[str, Any] = {}
        hits: dict[str, Hits] = {}
        parts: dict[str, PartReport] = {}
        failures: Sequence[PartReport] = ()
        is_alone = len(legs) == 1
        for together in [legs] if self.searchers.asks_together else zip(legs, strict=True):
            if queries:
                check_cancelled()
            started = time.perf_counter()
            forms: dict[str, Any] = {}
            for leg in together:
                try:
                    forms[leg] = self._form(leg, query)
                except Exception as error:  # noqa: BLE001 - reported, or raised again
                    parts[leg] = _failed_leg(leg, error, started, alone=is_alone)
            queries |= forms
            waiting = [forms] if forms else []
            while waiting:
                asked = waiting.pop(0)
                try:
                    answer, failures = self.searchers.gather(asked, request, self.asked)
                except Exception as error:
                    if len(asked) == 1:
                        parts |= {leg: _failed_leg(leg, error, started, alone=is_alone) for leg in asked}
                    elif isinstance(error, _OF_ALL_LEGS):
                        raise
                    else:  # one after the other, to report which one fails
                        waiting = [{leg: form} for leg, form in asked.items()]
                else:
                    hits |= answer
                    if is_alone:
                        continue
                    seconds = time.perf_counter() - started
                    for leg in asked:
                        parts[leg] = PartReport(leg, "ok", seconds, len(answer[leg].keys))
        return Pools(queries, hits, [*filter(None, map(parts.get, legs)), *failures])

    def _form(self, leg: str, query: str) -> Any:
        """Return the query in the form of a leg; where time is limited, another thread asks a slow one.

        Raises:
            TimeoutError: the leg did not make it before the deadline; its connections are closed.
            EmbeddingError: its model does not answer.
        """
        if self.wider is not None and leg == self.wider.leg:
            return self.wider.form
        ask, deadline = self.searchers.by_leg[leg].ask, self.deadline
        if deadline is None:
            return ask(query)
        queries: dict[str, Any] = {}
        if self.searchers.legs[leg].is_slow:
            cancellation = Cancellation()
            context = context_of(cancellation)
            with deadline.cancellation.closing(cancellation.cancel):
                queries, (report,) = run_slices(  # where no time remains, a deadline must still be above 0
                    {leg: lambda: context.run(ask, query)}, deadline=max(deadline.remaining(), 1e-3)
                )
            if report.exception is not None:
                raise report.exception
            if not queries:
                cancellation.cancel()
        else:
            queries[leg] = ask(query)
        deadline.check(late=not queries)
        return queries[leg]

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match the query, as the matcher of a leg says, shape (len(keys),)."""
        return self.searchers.match(leg, query, keys, self.asked)

    def explain(self, leg: str, query: Any, key: int) -> Explanation:
        """Return why a leg gives this row its score."""
        explanation = self.searchers.explain(self.asked, leg, query, key)
        return explanation if self.wider is None else self.wider.marked(explanation)


def _failed_leg(leg: str, error: Exception, started: float, *, alone: bool) -> PartReport:
    """Return the report of a leg that failed or was late; a failure is logged.

    Args:
        started: when the leg was asked, of `time.perf_counter`.
        alone: whether no other leg was asked: then a failure is raised.

    Raises:
        Exception: the error, where it concerns the whole search: an index that cannot be read, shards that do not
            answer, a wrong argument, a cancelled caller.
    """
    check_cancelled()
    seconds = time.perf_counter() - started
    if isinstance(error, TimeoutError):
        return PartReport(leg, "abandoned", seconds, error=str(error))
    if alone or isinstance(error, _OF_ALL_LEGS):
        raise error
    message = str(error) if isinstance(error, SleuthError) else f"{type(error).__name__}: {error}"
    logger.warning("the leg %s failed: %s", leg, message)
    return PartReport(leg, "failed", seconds, error=message, exception=error)
