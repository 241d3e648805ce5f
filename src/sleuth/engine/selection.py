"""The passages and documents of one version that a filter lets through, counted by their metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import spelling_hint
from sleuth.columns.column import keys_of, kinds_of, naming_damage, read_column, scalar_rows, values_of
from sleuth.errors import ArgumentError
from sleuth.filters import And, Compare, Or, matches
from sleuth.filters.tree import keys_in
from sleuth.remote import check_cancelled
from sleuth.store import unpack
from sleuth.store.disk.scratch import let_go
from sleuth.types import RESERVED, UPLOAD

if TYPE_CHECKING:
    from sleuth.columns.search import ColumnsSearcher
    from sleuth.filters import Filter
    from sleuth.filters.tree import Scalar
    from sleuth.store import IndexSnapshot, SegmentView

KNOWN_KEYS = RESERVED | {"title"} | {f"{UPLOAD}.attributes.{key}" for key in (*RESERVED, "title")}
"""Metadata keys that every index knows, also where no document has them."""
_COMPARED = 1000
"""Values of a key, the most frequent, among which the most alike are looked for."""
_SHOWN = 8
"""Values that a note shows: a line of a terminal."""

_TYPES = ("boolean", "integer", "number", "string", "array", "object")
"""Types of values, in the order in which a key shows them."""


class Count(NamedTuple):
    """How much matches a filter.

    Attributes:
        documents: those with a passage that matches.
        passages: those that match.
    """

    documents: int
    passages: int


class Facet(NamedTuple):
    """One value of a metadata key.

    Attributes:
        documents: how many have it.
    """

    value: Scalar
    documents: int


class MetadataKey(NamedTuple):
    """One metadata key.

    Attributes:
        name: as filters write it; a dot steps into an object.
        types: of its values, as JSON Schema names them: "boolean", "integer", "number", "string", "array", "object". A
            number that is whole is an "integer", however it was written.
        documents: how many have it.
    """

    name: str
    types: tuple[str, ...]
    documents: int


class _Part(NamedTuple):
    """The passages of one segment that are selected.

    Attributes:
        rows: ordinals in the segment, ascending, int64.
        owners: the document of each, as its place in `Selection.documents`.
    """

    view: SegmentView
    rows: NDArray[np.int64]
    owners: NDArray[np.int64]


class Selection:
    """Passages of one version, and the documents that they belong to. A document without text has no passage.

    Args:
        columns: tells what a filter lets through.
        documents: keys of all documents, ascending, shape (documents,).
        filter: which passages are selected; None for all.
        among: keys of passages, of which the others are left out; None for all.
    """

    def __init__(
        self,
        snapshot: IndexSnapshot,
        columns: ColumnsSearcher,
        documents: NDArray[np.int64],
        filter: Filter | None,
        *,
        among: NDArray[np.int64] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._views = views = columns.segments
        self._filter = filter
        self._is_partial = among is not None
        self.documents = documents
        bitmaps = [None] * len(views) if filter is None else columns.bitmap(filter)
        self._parts: list[_Part] = []
        for view, bitmap in zip(views, bitmaps, strict=True):
            check_cancelled()
            mask = np.ones(len(view), np.bool_) if bitmap is None else unpack(bitmap, len(view))
            if view.live is not None:
                mask = mask & unpack(view.live, len(view))
            rows = np.flatnonzero(mask)
            if among is not None:
                rows = rows[np.isin(view.keys[rows], among)]
            owners = np.searchsorted(self.documents, view.keys[rows], side="right") - 1
            self._parts.append(_Part(view, rows, owners))

    def count(self) -> Count:
        """Count what is selected."""
        return Count(len(self.document_keys()), sum(len(part.rows) for part in self._parts))

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of the documents, ascending; documents without passages are judged by their own metadata."""
        is_chosen = np.zeros(len(self.documents), np.bool_)
        for part in self._parts:
            is_chosen[part.owners] = True
        if not self._is_partial:
            passages = [view.keys for view in self._views]
            firsts = np.concatenate([*passages, np.zeros(0, np.int64)])
            empty = np.flatnonzero(~np.isin(self.documents, firsts))
            fits = [
                matches(self._filter, document.metadata)
                for document in self._snapshot.documents_at(self.documents[empty].tolist())
            ]
            is_chosen[empty[np.array(fits, np.bool_)]] = True
        return self.documents[is_chosen]

    def facets(self, key: str, limit: int) -> list[Facet]:
        """Return the values of a metadata key, the most frequent first, equal ones by value."""
        totals: Counter[tuple[type, Scalar]] = Counter()  # True and 1 are two values
        for part in self._parts:
            check_cancelled()
            column = read_column(part.view, key)
            if column is None or not len(part.rows):
                continue
            with naming_damage(part.view.name, key):
                rows, codes = scalar_rows(column, part.rows)
                owners = part.owners[np.searchsorted(part.rows, rows)]
                # Each code with each document that has it, once. Sorting takes a tenth of the time of `np.unique`.
                pairs = np.sort(codes.astype(np.int64) * len(self.documents) + owners)
                by_document = pairs[np.diff(pairs, prepend=-1) > 0] // len(self.documents)
                firsts = np.flatnonzero(np.diff(by_document, prepend=-1))
                documents = np.diff(firsts, append=len(by_document))
                values = values_of(column, by_document[firsts])
            let_go(column.codes)  # searches do not read it
            for value, number in zip(values, documents.tolist(), strict=True):
                totals[type(value), value] += number  # all passages of a document are in one segment
        facets = (Facet(value, documents) for (_, value), documents in totals.items())
        return nsmallest(limit, facets, lambda facet: (-facet.documents, str(facet.value)))

    def metadata_keys(self) -> list[MetadataKey]:
        """Return the metadata keys of the selected documents, by name."""
        kinds: dict[str, set[str]] = {}
        owners: dict[str, NDArray[np.bool_]] = {}
        for part in self._parts:
            check_cancelled()
            for name in keys_of(part.view):
                column = read_column(part.view, name)
                for kind, rows in (kinds_of(column, part.rows) if column else {}).items():
                    kinds.setdefault(name, set()).add(kind)
                    is_owner = owners.setdefault(name, np.zeros(len(self.documents), np.bool_))
                    is_owner[part.owners[np.searchsorted(part.rows, rows)]] = True
        keys = []
        for name in sorted(kinds):
            bare = "object" if any(inner_name.startswith(f"{name}.") for inner_name in kinds) else "array"
            types = ordered_types(bare if kind == "bare" else kind for kind in kinds[name])
            keys.append(MetadataKey(name, types, int(np.count_nonzero(owners[name]))))
        return keys


def ordered_types(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of types in the order in which JSON Schema has them here, each once."""
    return tuple(sorted(set(names), key=_TYPES.index))


def unknown_keys(tree: Filter, names: frozenset[str]) -> list[str]:
    """Say of each key of a filter that no document has it, with the nearest key that one has.

    Args:
        names: the metadata keys of the documents.
    """
    return [
        f"no document has the metadata key {key!r}{spelling_hint(key, KNOWN_KEYS | names)}"
        for key in sorted(keys_in(tree) - KNOWN_KEYS - names)
    ]


def unknown_values(tree: Filter, select: Callable[[Filter | None], Any]) -> list[str]:
    """Say of each value that a filter requires and no document has, which values its key has, the most alike first.

    Args:
        select: returns what a filter lets through, as a `Selection`.
    """
    if isinstance(tree, And | Or):
        return list(dict.fromkeys(note for part in tree.parts for note in unknown_values(part, select)))
    if (
        not isinstance(tree, Compare)
        or tree.operator not in ("eq", "in", "ieq")
        or select(tree).count().documents
    ):
        return []
    values = tree.value if isinstance(tree.value, tuple) else (tree.value,)
    known = [facet.value for facet in select(None).facets(tree.key, _COMPARED)]
    notes = []
    for value in values:
        alike = sorted(known, key=lambda other: -SequenceMatcher(None, str(value), str(other)).ratio())
        shown = ", ".join([*map(repr, alike[:_SHOWN]), *(["..."] if len(alike) > _SHOWN else [])])
        if shown:
            notes.append(f"no document has {value!r} as {tree.key!r}; values are {shown}")
    return notes


def check_keys(names: str | Sequence[str]) -> list[str]:
    """Return metadata keys as a list.

    Raises:
        ArgumentError: not a key or a list of keys.
    """
    keys = [names] if isinstance(names, str) else names
    if not isinstance(keys, Sequence) or not all(isinstance(name, str) and name for name in keys):
        raise ArgumentError(f"keys must be a metadata key or a list of them, got {names!r}")
    return list(dict.fromkeys(keys))
