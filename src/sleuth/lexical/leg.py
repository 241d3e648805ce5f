"""The lexical leg: turns rows into postings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_weight
from sleuth.errors import ArgumentError
from sleuth.lexical.fields import (
    ROW_LANGUAGES,
    ROW_LENGTHS,
    analyzer_of,
    base_field,
    is_language_field,
    language_fingerprint,
    languages_of,
    lengths_by_field,
    row_lengths,
    separate,
)
from sleuth.lexical.merging import Arrays, merge_field, number_rows
from sleuth.lexical.postings import FieldPostings, PostingsWriter, dictionary, tally
from sleuth.lexical.query_terms import Terms
from sleuth.lexical.scoring import K1, B
from sleuth.lexical.search import LexicalSearcher
from sleuth.logs import logger_of
from sleuth.store import (
    IN_MEMORY,
    Corpus,
    LegContext,
    LegSearcher,
    RankingLeg,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
)
from sleuth.text.analyzers import get_analyzer

logger = logger_of("lexical")

FORMAT = 2
"""Raised when the arrays change."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A namespace of terms.

    Attributes:
        analyzer: name of the analyzer of its texts and of queries against it.
        sources: the row texts that feed it, each with how often a token of it counts, an integer of 1 and more:
            {"title": 3, "text": 1} makes a word of the title worth three of the text, at no cost to queries.
        by_language: whether rows whose metadata `language` has an analyzer feed a field of that language, such as
            "text@de", instead of this one.
    """

    analyzer: str = "english"
    sources: Mapping[str, int] = field(default_factory=lambda: {"text": 1})
    by_language: bool = False

    def __post_init__(self) -> None:
        get_analyzer(self.analyzer)
        if not self.sources:
            raise ArgumentError(f"sources must name at least one text, got {self.sources!r}")
        for name, weight in self.sources.items():
            if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= 1000:
                raise ArgumentError(f"sources[{name!r}] must be an int from 1 to 1000, got {weight!r}")


class LexicalLeg(RankingLeg[str | Terms]):
    """Postings of rows: a leg that ranks by words. Safe to share between threads.

    Attributes:
        name: "lexical" in an index of documents.
        fields: by name; the first one is that of the passage itself.
        k1, b: of BM25; block maxima depend on them, so they are part of the fingerprint.
    """

    name = "lexical"
    meaning = "words"

    def __init__(
        self,
        fields: Mapping[str, FieldSpec] | None = None,
        k1: float = K1,
        b: float = B,
        *,
        name: str = "lexical",
    ) -> None:
        self.name = name
        if not 0 <= b <= 1:
            raise ArgumentError(f"b must be a number from 0 to 1, got {b!r}")
        self.fields = dict(fields) if fields is not None else {"text": FieldSpec()}
        if not self.fields:
            raise ArgumentError(f"fields must hold at least one field, got {fields!r}")
        self.k1 = check_weight(k1, "k1")
        self.b = float(b)

    @classmethod
    def open(cls, context: LegContext) -> LexicalLeg:
        """Return the leg that settings describe.

        It has a field "text", fed by title, heading and text; a title or heading of weight 0 is left out. If
        `settings.tells_languages`, rows of a known language feed a field of that language instead.
        """
        settings = context.settings
        weights = {"title": settings.title_weight, "heading": settings.heading_weight, "text": 1}
        sources = {name: weight for name, weight in weights.items() if weight}
        spec = FieldSpec(settings.analyzer, sources, by_language=settings.tells_languages)
        return cls({"text": spec}, k1=settings.k1, b=settings.b)

    def searcher(
        self,
        segments: Sequence[SegmentView],
        *,
        previous: LegSearcher[str | Terms] | None = None,
        corpus: Corpus | None = None,
    ) -> LexicalSearcher:
        """Open a searcher; see `RankingLeg.searcher`."""
        known_searcher = previous if isinstance(previous, LexicalSearcher) else None
        return LexicalSearcher(self, segments, previous=known_searcher, corpus=corpus)

    def greatest(self, query: str, idf: Callable[[Iterable[str]], Mapping[str, float]]) -> float:
        """Return the sum of the idf of the query's words, which BM25 of a row approaches and never reaches."""
        analyzer = get_analyzer(next(iter(self.fields.values())).analyzer)
        return sum(idf(dict.fromkeys(*analyzer.words_of_each([query]))).values()) or 1.0

    @cached_property
    def fingerprint(self) -> str:
        """Format, analyzers, sources and parameters."""
        parts = [
            f"{name}={get_analyzer(spec.analyzer).fingerprint}"
            f"[{','.join(f'{source}*{weight}' for source, weight in spec.sources.items())}]"
            f"{language_fingerprint() if spec.by_language else ''}"
            for name, spec in sorted(self.fields.items())
        ]
        return f"lexical/{FORMAT} k1={self.k1:g} b={self.b:g} {' '.join(parts)}"

    def builder(self) -> LexicalBuilder:
        """Builds a segment from rows that come in batches."""
        return LexicalBuilder(self)

    def build(self, rows: Rows) -> SegmentData:
        """Postings of these rows."""
        builder = self.builder()
        by_language = any(spec.by_language for spec in self.fields.values())
        builder.add(rows.texts, len(rows.keys), languages_of(rows) if by_language else None)
        return builder.finish()

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Postings of the live rows of these segments, in order. Memory: that of the dictionary, save for scratch."""
        rows, n = number_rows(segments)
        arrays: Arrays = {}
        meta: dict[str, Any] = {"n": n}
        for names in self.families(segments):
            lengths, languages = scratch.growing(np.uint32), scratch.growing(np.uint8)
            for segment, its in zip(segments, rows, strict=True):
                its_lengths, its_languages = row_lengths(segment, names)
                lengths.append(its.values_of(its_lengths))
                languages.append(its.values_of(its_languages))
            all_lengths = lengths.array()
            for name, norm in self._kept(names, all_lengths, languages.array(), arrays, meta):
                parts = [self.postings_of(segment, name) for segment in segments]
                _store_field(name, merge_field(parts, rows, all_lengths, norm, scratch), arrays)
        return SegmentData(arrays, meta)

    def families(self, segments: Iterable[SegmentView | SegmentData]) -> list[list[str]]:
        """Return each of the leg's fields, before those of its languages that segments hold."""
        names = self.field_names(segments)
        return [[name for name in names if base_field(name) == base] for base in self.fields]

    def _kept(
        self,
        names: list[str],
        lengths: NDArray[np.uint32],
        languages: NDArray[np.uint8],
        arrays: Arrays,
        meta: dict[str, Any],
    ) -> Iterator[tuple[str, tuple[float, float]]]:
        """Note the lengths of rows in a segment; yield the fields that rows have, with what impacts are made with.

        Args:
            names: one of `families`.
            lengths, languages: as of `row_lengths`.
        """
        totals = lengths_by_field(names, lengths, languages)
        kept = [name for name in names if name == names[0] or totals[name].filled]
        arrays[f"{names[0]}.{ROW_LENGTHS}"] = lengths
        if len(kept) > 1:
            places = np.array([kept.index(name) if name in kept else 0 for name in names], np.uint8)
            arrays[f"{names[0]}.{ROW_LANGUAGES}"] = places[languages]
        for name in kept:
            meta[name] = totals[name]._asdict()
            yield name, totals[name].bm25_norm(self.k1, self.b)

    def field_names(
        self, segments: Iterable[SegmentView | SegmentData], others: Iterable[str] = ()
    ) -> list[str]:
        """Return the leg's fields, and those of languages that segments hold or that are among others."""
        names = filter(is_language_field, {*others}.union(*(segment.meta for segment in segments)))
        specs = {name: self.fields.get(base_field(name)) for name in names}
        return [*self.fields, *sorted(name for name, spec in specs.items() if spec and spec.by_language)]

    def postings_of(self, segment: SegmentView, name: str) -> FieldPostings:
        """Return the postings of a field of a segment; no postings where it holds no row of that language."""
        if name in segment.meta or name in self.fields:
            return FieldPostings(
                field_arrays(segment.arrays, name), f"segment {segment.name}, field {name!r}"
            )
        return self.no_postings

    @cached_property
    def no_postings(self) -> FieldPostings:
        """The postings of a field that no row of a segment has, where only terms are looked up in it."""
        builder = _FieldBuilder(next(iter(self.fields.values())))
        return FieldPostings(builder.finish(builder.lengths(), (0.0, 0.0)))

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that this leg cannot have made; raises ValueError."""
        from sleuth.lexical.validity import validate_fields

        for names in self.families([data]):
            fields = {name: field_arrays(data.arrays, name) for name in names}
            validate_fields(fields, data.meta, n, full=full)


class LexicalBuilder:
    """Rows in, one segment out. Memory: 5 bytes per posting and the dictionary, then as much again for the result."""

    def __init__(self, leg: LexicalLeg) -> None:
        self._leg = leg
        self._fields = {name: _FieldBuilder(spec) for name, spec in leg.fields.items()}
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(
        self, texts: Mapping[str, Sequence[str]], n: int | None = None, languages: Sequence[str] | None = None
    ) -> None:
        """Appends rows, given column-wise as in `Rows.texts`.

        Args:
            texts: by name; all of one length.
            n: that length, needed where `texts` may be empty.
            languages: code of each row, "" for the analyzer of the field; None if all are "".
        """
        lengths = {len(column) for column in texts.values()} | ({n} if n is not None else set())
        if len(lengths) > 1:
            raise ArgumentError(f"texts must have one length, got {sorted(lengths)}")
        n = lengths.pop() if lengths else 0
        for name, spec in self._leg.fields.items():
            parts = separate(name, spec.sources, texts, languages if spec.by_language else None)
            for field_name in sorted(parts.keys() - self._fields.keys()):
                self._fields[field_name] = _FieldBuilder(spec, analyzer_of(field_name))
                self._fields[field_name].add({}, self._n)
            for field_name, builder in self._fields.items():
                if base_field(field_name) == name:
                    builder.add(parts.get(field_name, {}), n)
        self._n += n

    def finish(self) -> SegmentData:
        """Return the segment. The builder has ended then."""
        logger.debug("laying out the postings of %d passages", self._n)
        arrays: Arrays = {}
        meta: dict[str, Any] = {"n": self._n}
        for base in self._leg.fields:
            names = sorted(name for name in self._fields if base_field(name) == base)
            lengths, languages = np.zeros(self._n, np.uint32), np.zeros(self._n, np.uint8)
            for place, name in enumerate(names):
                lengths_of_field = self._fields[name].lengths()
                lengths += lengths_of_field
                languages[lengths_of_field > 0] = place
            for name, norm in self._leg._kept(names, lengths, languages, arrays, meta):
                _store_field(name, self._fields.pop(name).finish(lengths, norm), arrays)
        return SegmentData(arrays, meta)


@dataclass(slots=True)
class _Batch:
    """Postings by row, compact: counts are bytes where they fit."""

    ends: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8] | NDArray[np.uint32]


class _FieldBuilder:
    def __init__(self, spec: FieldSpec, analyzer: str = "") -> None:
        self._sources = dict(spec.sources)
        self._analyzer = get_analyzer(analyzer or spec.analyzer)
        self._counter = self._analyzer.counter()
        self._batches: list[_Batch] = []
        self._lengths: list[NDArray[np.uint32]] = []

    def add(self, texts: Mapping[str, Sequence[str]], n: int) -> None:
        """Count the tokens of `n` rows, whose texts are given by the name of their source (title, heading, text)."""
        names = [name for name in self._sources if name in texts]
        if not names or not n:
            self._batches.append(_Batch(np.zeros(n, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint8)))
            self._lengths.append(np.zeros(n, np.uint32))
            return
        columns = [texts[name] for name in names]
        ends, terms, counts, lengths = self._counter.count(columns, [self._sources[name] for name in names])
        small = counts.astype(np.uint8) if not len(counts) or int(counts.max()) < 256 else counts
        self._batches.append(_Batch(ends, terms, small))
        self._lengths.append(lengths)

    def lengths(self) -> NDArray[np.uint32]:
        return np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.uint32)

    def finish(self, lengths: NDArray[np.uint32], norm: tuple[float, float]) -> Arrays:
        df = np.zeros(len(self._counter), np.uint32)
        long_counts = np.zeros(len(self._counter), np.uint32)
        for batch in self._batches:
            tally(batch.terms, batch.counts.astype(np.uint32), df, long_counts)
        data, starts = self._counter.dictionary()
        self._analyzer.recycle(self._counter)
        del self._counter
        writer = PostingsWriter(df, long_counts, lengths, *norm)
        first = 0
        self._batches.reverse()
        while self._batches:
            batch = self._batches.pop()
            writer.add_rows(first, batch.ends, batch.terms, batch.counts.astype(np.uint32))
            first += len(batch.ends)
        return writer.finish() | dictionary(data, starts)


def field_arrays(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    """Return a field's own arrays among those of the segment, and the lengths of rows in all fields of its family."""
    prefix, lengths = f"{name}.", f"{base_field(name)}.{ROW_LENGTHS}"
    of_field = {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
    return {**of_field, ROW_LENGTHS: arrays[lengths]} if lengths in arrays else of_field


def _store_field(name: str, field_arrays: Arrays, arrays: Arrays) -> None:
    arrays.update({f"{name}.{key}": array for key, array in field_arrays.items() if key != ROW_LENGTHS})
