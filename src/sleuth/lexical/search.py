"""Searches the words of an index, and explains scores."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError
from sleuth.lexical import blockmax, scoring
from sleuth.lexical.edits import terms_like
from sleuth.lexical.fields import FieldLengths, analyzer_of, lengths_by_field, row_lengths
from sleuth.lexical.postings import FieldPostings, is_dense
from sleuth.lexical.query_terms import QueryTerms, Terms
from sleuth.lexical.terms import FieldIndex, Found, weigh
from sleuth.store import Corpus, Hits, LegRequest, SegmentView, best_hits, unpack
from sleuth.store.legs.searching import Tally, TermSearcher, greatest, locate, rows_allowed
from sleuth.text.analyzers import Analyzer, get_analyzer
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.lexical.leg import LexicalLeg
    from sleuth.lexical.postings import FieldPostings
    from sleuth.lexical.terms import Weighed


class TermCount(NamedTuple):
    """How often a row holds a term.

    Attributes:
        segment: index of the segment of the row.
        row: its ordinal there.
        tf: 1 and more.
    """

    segment: int
    row: int
    tf: int


class SegmentRows:
    """The rows of one version of an index. Immutable; safe to share between threads.

    Args:
        segments: in order of key.
    """

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        self._segments = segments
        self._lives = [view.live for view in segments]
        by_size = sorted(range(len(segments)), key=lambda i: -len(segments[i]))
        self._parts: list[blockmax.Segment] = [(i, segments[i].keys, segments[i].tie_ranks) for i in by_size]

    def search(self, terms: list[Weighed], request: LegRequest) -> Hits:
        """Return the `request.k` best rows among those that are live and allowed.

        Args:
            terms: heaviest first.

        Raises:
            ArgumentError: the bitmaps of the request do not fit the segments.
        """
        masks = self._lives
        if request.allowed is not None:
            if len(request.allowed) != len(masks):
                raise ArgumentError(
                    f"allowed must hold one bitmap per segment, {len(masks)}, got {len(request.allowed)}"
                )
            masks = list(map(rows_allowed, self._segments, request.allowed))
        hits = blockmax.search(terms, self._parts, request.k, masks)
        return best_hits(*hits, request.k, request.ids, ordered=request.ordered)

    def scores(self, terms: list[Weighed], keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of the given rows, shape (len(keys),); 0 where no term matches."""
        out = np.zeros(len(keys), np.float32)
        for i, view in enumerate(self._segments):
            places, ordinals = locate(view, keys)
            if len(places):
                out[places] = blockmax.score(terms, i, ordinals)
        return out

    def terms_in_row(
        self, terms: list[Weighed], key: int, postings: Sequence[Mapping[str, FieldPostings]]
    ) -> Iterator[tuple[Weighed, TermCount]]:
        """Yield each of the terms that the row with this key holds, with how often.

        Args:
            key: of a row. At most one segment holds it.
            postings: of each segment, by field.
        """
        for i, view in enumerate(self._segments):
            _, ordinals = locate(view, np.array([key], np.int64))
            for row in ordinals.tolist():
                for term in terms:
                    _, field, *_, occurrences = term
                    number = occurrences.numbers[i]
                    tf = postings[i][field].count(number, row) if number >= 0 else 0
                    if tf:
                        yield term, TermCount(i, row, tf)


_MOST_EXAMINED: Final = 1_000
"""Terms of a segment that are looked at for one word: those of the most rows, deleted ones included."""


class _Segment:
    """One segment with its postings by field, and what is known of its live rows.

    A field that it does not hold, since none of its rows has that language, has no postings here.
    """

    def __init__(self, view: SegmentView, leg: LexicalLeg, earlier: _Segment | None) -> None:
        """Read a segment; the postings of `earlier` are reused, which is the same segment with other rows live."""
        self.view = view
        self.n = len(view)
        names = leg.field_names([view])
        self.lengths_with_deleted = {
            name: FieldLengths(view.meta[name]["total"], view.meta[name]["filled"]) for name in names
        }
        self.postings: dict[str, FieldPostings] = (
            earlier.postings if earlier else {name: leg.postings_of(view, name) for name in names}
        )
        self.live_lengths = dict(self.lengths_with_deleted)
        if view.live is not None:  # less those of the dead rows, which are few
            dead = np.flatnonzero(~unpack(view.live, self.n))
            for family in leg.families([view]):
                lengths, languages = row_lengths(view, family)
                for name, (total, filled) in lengths_by_field(family, lengths[dead], languages[dead]).items():
                    facts = self.lengths_with_deleted[name]
                    self.live_lengths[name] = FieldLengths(facts.total - total, facts.filled - filled)


class LexicalSearcher(TermSearcher[str | Terms]):
    """Searches one version of an index by BM25. Immutable; safe to share between threads.

    Statistics are taken over the live rows of all segments, so scores do not depend on how rows lie in segments, on
    the order in which they came, or on rows that were deleted. Equal rows get bit-equal scores.
    """

    def __init__(
        self,
        leg: LexicalLeg,
        segments: Sequence[SegmentView],
        *,
        previous: LexicalSearcher | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        """Create a searcher of these segments.

        Args:
            leg: the leg that built them.
            segments: in order of key.
            previous: the searcher of the version before; what did not change is taken from it.
            corpus: what these segments are a part of; None where they are all of it.
        """
        self.leg = leg
        self._corpus = corpus
        names: tuple[str, ...] = tuple(leg.field_names(segments, corpus.totals if corpus else ()))
        segments_before = {segment.view.name: segment for segment in previous._segments} if previous else {}
        self._names: tuple[str, ...] = names
        self._segments: list[_Segment] = []
        for view in segments:
            earlier = segments_before.get(view.name)
            is_unchanged = earlier is not None and earlier.view.live is view.live
            self._segments.append(earlier if is_unchanged and earlier else _Segment(view, leg, earlier))
        self.statistics = self.lengths()
        if corpus:
            self.statistics |= {name: FieldLengths(**totals) for name, totals in corpus.totals.items()}
        self._analyzers = {
            name: get_analyzer(analyzer_of(name) or leg.fields[name].analyzer) for name in names
        }
        self.analyzer = self._analyzers[names[0]]
        most_rows = max(map(attrgetter("filled"), self.statistics.values()), default=0)
        self._greatest_idf = scoring.bm25_idf(0, most_rows)
        self._norms = {name: self.statistics[name].bm25_norm(leg.k1, leg.b) for name in names}
        self._indexes = {name: self._build_field_index(name) for name in names}
        self._query_terms = QueryTerms(self._analyzers, self._indexes)
        self._rows = SegmentRows(segments)
        by_segment = [segment.postings for segment in self._segments]
        self._owners = [name for name in names for postings in by_segment if name in postings]
        self._postings = [postings[name] for name in names for postings in by_segment if name in postings]

    def lengths(self) -> dict[str, FieldLengths]:
        """Return the lengths of the live rows of these segments, by field."""
        lengths = dict.fromkeys(self._names, FieldLengths(0, 0))
        for segment in self._segments:
            for name, lengths_of_segment in segment.live_lengths.items():
                total, filled = lengths[name]
                lengths[name] = FieldLengths(
                    total + lengths_of_segment.total, filled + lengths_of_segment.filled
                )
        return lengths

    def ask(self, query: str) -> str | Terms:
        """Return a query as it is, or without segments, for searchers elsewhere, its terms by field."""
        return query if self._segments else self.analyse(query)

    def pool(self, query: str | Terms, request: LegRequest) -> Hits:
        """Return the best rows that hold a term of the query; scores are above 0.

        Args:
            query: text, analysed per field; or terms that are weighed already. A word that occurs twice counts twice.

        Raises:
            ArgumentError: a field or a weight that terms cannot have, or bitmaps that do not fit the segments.
        """
        return self._rows.search(weigh(self._look_up_terms(query)), request)

    def analyse(self, query: str) -> dict[str, dict[str, float]]:
        """Return what each token of a query counts, by field, whether the index holds it or not."""
        return self._query_terms.analyse(query)

    def totals(self) -> Tally:
        """Return the lengths of the live rows of these segments, by field."""
        return {name: lengths._asdict() for name, lengths in self.lengths().items()}

    def groups(self) -> Collection[str]:
        """Return the names of the fields."""
        return self._names

    def names(self, query: str | Terms) -> Mapping[str, Collection[str]]:
        """Return the tokens of a query by field."""
        return self.analyse(query) if isinstance(query, str) else query

    def counts(self, names: Mapping[str, Collection[str]]) -> Tally:
        """Return how many live rows hold each token, by field."""
        return {
            name: {token: self._indexes[name].find(token).df for token in tokens}
            for name, tokens in names.items()
            if name in self._indexes
        }

    def present(self, query: str | Terms) -> str | Terms:
        """Return the terms of a query that some row of the corpus holds."""
        if isinstance(query, str) or self._corpus is None:
            return query
        weights_by_field: dict[str, dict[str, float]] = {}
        for name, terms in query.items():
            counts = self._corpus.counts[name]
            for token, times in terms.items():
                if counts.get(token):
                    weights_by_field.setdefault(name, {})[token] = times
        return weights_by_field

    def word(self, token: str, group: str = "") -> Terms:
        """Return the query that finds the rows whose text holds a token."""
        return {group or next(iter(self.leg.fields)): {token: 1.0}}

    def widened(self, query: str, weights: Mapping[str, Mapping[str, float]]) -> Terms:
        """Return a query with further tokens, by field; its own tokens count as they did."""
        terms = {name: dict(tokens) for name, tokens in weights.items()}
        if self._segments:
            for term, times in self._query_terms.counts(query).items():
                terms.setdefault(term.field, {})[term.token] = times
            return terms
        for name, times_of in self.analyse(query).items():
            terms.setdefault(name, {}).update(times_of)
        return terms

    def analyzer_of(self, group: str) -> Analyzer:
        """Return what cuts the texts of a field into tokens."""
        return self._analyzers[group]

    def like(self, word: str, edits: int, most: int) -> Tally:
        """Return the tokens that are like a word, by field, with the live rows that hold each."""
        counts_by_field: dict[str, dict[str, int]] = {}
        for place, numbers in terms_like(self._postings, word, edits):
            postings, counts = self._postings[place], counts_by_field.setdefault(self._owners[place], {})
            rows = dict(zip(numbers, map(postings.rows, numbers), strict=True))
            for number in heapq.nlargest(_MOST_EXAMINED, rows, rows.__getitem__):
                token = postings.term(number)
                counts[token] = counts.get(token, 0) + rows[number]
        return {
            name: _most_frequent(self._indexes[name], counts, most)
            for name, counts in counts_by_field.items()
        }

    def held(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens that the text of a row holds."""
        text = self._indexes[self._names[0]]
        return [token for token in tokens if text.held(token) is not None]

    def unheld(self, text: str) -> list[str]:
        """Return the words of a text that no row holds, whatever its language, in order, without compounds."""
        return self._query_terms.unheld(text)

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return BM25's idf of each term, in the field where most rows hold it; that of no rows for unknown terms."""
        worth = dict.fromkeys(terms, self._greatest_idf)
        for index in self._indexes.values():
            for term in worth:
                if (entry := index.held(term)) is not None:
                    worth[term] = min(worth[term], entry.bm25)
        return worth

    def explain(self, query: str | Terms, key: int) -> Explanation:
        """Why the row has its score: a part per term that it holds; the parts sum to the score."""
        terms = weigh(self._look_up_terms(query))
        postings = [segment.postings for segment in self._segments]
        parts = [
            self._explain_term(term, self._segments[count.segment], count)
            for term, count in self._rows.terms_in_row(terms, key, postings)
        ]
        score = self._rows.scores(terms, np.array([key], np.int64))[0]
        formula = scoring.formula(self.leg.k1, self.leg.b)
        return Explanation(
            "lexical", float(score), formula, {"terms": len(terms), "matched": len(parts)}, tuple(parts)
        )

    def _explain_term(self, term: Weighed, segment: _Segment, count: TermCount) -> Explanation:
        minus_weight, field, token, _, occurrences = term
        tf = count.tf
        length = int(segment.postings[field].arrays["lengths"][count.row])
        c0, c1 = self._norms[field]
        norm = c0 + c1 * length
        score = -minus_weight * tf / (tf + norm)
        facts: dict[str, float | int | str] = {
            "field": field,
            "tf": tf,
            "df": occurrences.df,
            "n": self.statistics[field].filled,
            "idf": occurrences.bm25,
            "weight": -minus_weight / occurrences.bm25,
            "doc_len": length,
            "avg_doc_len": self.statistics[field].average,
            "length_norm": norm,
        }
        return Explanation(f"{field}:{token}", score, scoring.TERM_FORMULA, facts)

    def _look_up_terms(self, query: str | Terms) -> dict[Found, float]:
        """Look up the terms of a query, and return how much each counts.

        A str is analysed, and terms that no live row holds are dropped. A mapping (field -> token -> weight) is checked
        and kept whole.
        """
        if isinstance(query, str):
            return self._query_terms.counts(query)
        check_kind(query, Mapping, "query", "a str or terms by field")
        counts: dict[Found, float] = {}
        for name, times_of in query.items():
            if name not in self._names:
                raise ArgumentError(f"query must name fields among {', '.join(self._names)}, got {name!r}")
            for token, times in times_of.items():
                if not 0 < times < math.inf:
                    raise ArgumentError(f"query[{name!r}][{token!r}] must be a number above 0, got {times!r}")
                counts[self._indexes[name].find(token)] = times
        return counts

    def _build_field_index(self, name: str) -> FieldIndex:
        """Return the index that finds the terms of one field in all segments.

        A segment without the field gets empty postings.
        """
        average = self.statistics[name].average
        no_lengths, no_postings = FieldLengths(0, 0), self.leg.no_postings
        lengths_at_build = [segment.lengths_with_deleted.get(name, no_lengths) for segment in self._segments]
        c0, c1 = self._norms[name]
        has_one_field = len(self.leg.fields) == 1
        return FieldIndex(
            name=name,
            postings=[segment.postings.get(name, no_postings) for segment in self._segments],
            lives=[segment.view.live for segment in self._segments],
            n=self.statistics[name].filled,
            c0=c0,
            c1=c1,
            # How much greater an impact can be than when the segment was built: a longer average forgives length.
            drifts=[
                max(1.0, average / lengths.average) if lengths.total else 1.0 for lengths in lengths_at_build
            ],
            # True where the segment cannot have a dense term: the leg has one field, and too few rows fill it.
            sparse=[
                has_one_field and not (lengths.filled and is_dense(lengths.filled, segment.n))
                for lengths, segment in zip(lengths_at_build, self._segments, strict=True)
            ],
            frequencies=self._corpus.counts.setdefault(name, {}) if self._corpus else None,
        )


def _most_frequent(index: FieldIndex, counts: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the terms that most live rows hold, with how many do, the most frequent first, ties by term.

    Args:
        index: counts live rows, which may be few of all.
        counts: terms with their rows, deleted ones included, of all segments.
    """
    live: dict[str, int] = {}
    least_rows = 0
    for place, (term, rows) in enumerate(greatest(counts, _MOST_EXAMINED).items()):
        if len(live) >= most and place % most == 0:
            least_rows = sorted(live.values(), reverse=True)[most - 1]
        if len(live) >= most and rows < least_rows:
            break
        if (entry := index.held(term)) is not None:
            live[term] = entry.df
    return greatest(live, most)
