"""Searches one view of an index: passages for a request, the nearest vectors, counts by metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sleuth import filters
from sleuth.arguments import MOST_K, check_count, check_query
from sleuth.errors import ArgumentError, RetrievalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.matching_lines import DocumentLines
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.selection import Count, Facet, MetadataKey
    from sleuth.engine.spelling import Correction
    from sleuth.engine.suggesting import Suggestion
    from sleuth.engine.view import IndexView
    from sleuth.filters import FilterForm
    from sleuth.types import Ranking


class IndexSearch:
    """Searches what one view of an index shows; `Engine` has these calls."""

    def __init__(self, view: IndexView) -> None:
        self._view = view

    def answer(self, request: SearchRequest) -> Ranking:
        """Return the best passages for a request, without hooks."""
        if request.sources is not None and set(request.sources) != {"docs"}:
            raise ArgumentError(
                f"sources must be docs for an engine, got {request.sources!r}; open_sources opens others"
            )
        return self._view.backend.ask(partial(self._retrieve, request))

    @cached_property
    def _retrieve(self) -> Callable[[SearchRequest], Ranking]:
        from sleuth.engine.retrieval import retrieve  # not for a program that only indexes

        return partial(retrieve, self._view)

    def correct(self, question: str, sources: Sequence[str] | None = None) -> Correction:
        """Return a question with words that cannot be right in their nearest spelling.

        It stays as it is if shards are missing.
        """
        from sleuth.engine.pinned import Pinned
        from sleuth.engine.spelling import Correction, corrected

        backend = self._view.backend
        with self._view.store.reader() as snapshot:
            try:
                return corrected(question, Pinned.of(backend, snapshot), backend.embedder)
            except RetrievalError:
                return Correction(question)

    def nearest(
        self,
        vector: Sequence[float] | NDArray[np.floating[Any]],
        k: int = 10,
        *,
        filter: FilterForm = None,
        exact: bool = False,
    ) -> Ranking:
        """Return the best `k` passages by the cosine of their vectors with a given one, as a vector store answers.

        Args:
            vector: shape (dimension,), made with the embedder of the index.
            exact: as in `retrieve`.

        Raises:
            ArgumentError: an index without vectors, an invalid vector, or a k that is negative or not an int.
            FilterError: a filter that cannot be read; says where.
            EmbeddingError: a vector of another length.
        """
        import numpy as np

        from sleuth.engine.search import vector_leg
        from sleuth.types import Ranking

        try:
            query = np.asarray(vector, np.float32)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"vector must be numbers, got {vector!r}") from error
        k = check_count(k, most=MOST_K)
        tree = filters.as_filter(filter)
        with self._view.store.reader() as snapshot:
            searchers = self._view.backend.searchers_of(snapshot)
            vector_leg(searchers.legs)
            if not k:
                return Ranking(())
            hits = searchers.nearest(query, k, tree, snapshot=snapshot, exact=exact)
            return Ranking(snapshot.items(hits.keys.tolist(), hits.scores.tolist()))

    def count(self, filter: FilterForm = None, *, query: str | None = None) -> Count:
        """Count the documents and passages that match a filter; all of them without one.

        Args:
            query: counts only passages that hold a word of it; None counts all.
        """
        if query is not None:
            check_query(query)
        tree = filters.as_filter(filter)
        with self._view.store.reader() as snapshot:
            return self._view.backend.searchers_of(snapshot).select(snapshot, tree, query=query).count()

    def grep(
        self,
        pattern: str,
        *,
        fixed: bool = False,
        ignore_case: bool = False,
        filter: FilterForm = None,
        limit: int = 100,
        offset: int = 0,
    ) -> DocumentLines:
        """Find all lines of documents that match a pattern, and return `limit` of them from `offset` on.

        The stored texts are read, not the files. Blank space between two passages is not stored.

        Args:
            pattern: a regular expression of RE2, whose time grows with the text alone.
            fixed: take the pattern as plain text.
            ignore_case: upper and lower case are the same.
            filter: which passages are searched.

        Raises:
            ArgumentError: a pattern that is not one of RE2, or a limit or an offset below 0.
            MissingPackageError: a regular expression, and google-re2 is not installed.
        """
        from sleuth.code.search import compile_pattern
        from sleuth.engine.matching_lines import grep

        compiled = compile_pattern(pattern, fixed=fixed, ignore_case=ignore_case)
        limit, offset = check_count(limit, "limit"), check_count(offset, "offset")
        return grep(self._view, compiled, filters.as_filter(filter), limit=limit, offset=offset)

    def facets(
        self,
        keys: str | Sequence[str],
        *,
        query: str | None = None,
        filter: FilterForm = None,
        limit: int = 10,
    ) -> dict[str, list[Facet]]:
        """Count, for each value of metadata keys, the documents that have it.

        Args:
            keys: metadata keys, as filters write them.
            query: counts only documents with a passage that holds a word of it; None counts all.
            filter: counts only documents with a passage that matches.
            limit: values per key, the most frequent first.

        Returns:
            Values by key, in the order of `keys`; a key that no document has gives an empty list.
        """
        from sleuth.engine.selection import check_keys

        names, limit = check_keys(keys), check_count(limit, "limit")
        if query is not None:
            check_query(query)
        tree = filters.as_filter(filter)
        with self._view.store.reader() as snapshot:
            selection = self._view.backend.searchers_of(snapshot).select(snapshot, tree, query=query)
            return {name: selection.facets(name, limit) for name in names}

    def suggest(self, query: str, k: int = 8) -> list[Suggestion]:
        """Return completions of what somebody types: words of passages, titles and headings.

        With a scope they come from its passages alone. Words are completed by how many passages hold them.

        Args:
            query: what is typed; its last word is completed. More than 200 characters have no completion.
            k: completions at most.

        Raises:
            ArgumentError: a query that is not a string, or a k that is negative or not an int.
        """
        from sleuth.engine.suggesting import suggest

        return suggest(self._view, check_query(query), check_count(k))

    def metadata_keys(self, filter: FilterForm = None) -> list[MetadataKey]:
        """Return the metadata keys of the documents that match a filter, by name, with the types of their values."""
        tree = filters.as_filter(filter)
        with self._view.store.reader() as snapshot:
            return self._view.backend.searchers_of(snapshot).metadata_keys(snapshot, tree)
