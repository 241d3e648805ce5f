"""Reads filters: which files, and which chunks of them, may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import nearest_name
from sleuth.code.parsing.chunks import unit_at
from sleuth.code.parsing.labels import CATEGORIES, LABELS, MODULE_LABEL
from sleuth.code.parsing.languages import languages_named
from sleuth.code.snapshots.places import is_below
from sleuth.errors import ArgumentError, FilterError
from sleuth.filters import And, Filter, all_of, matches
from sleuth.filters.tree import keys_in

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Detail
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

KEYS = ("path_prefix", "language", "exclude_language", "category", "exclude_category", "labels")


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """A filter, read.

    Attributes:
        files: which files may answer, shape (n,); None for all. Each has a chunk that may.
        accepts: whether a chunk may answer, by the position of its file and its place there; None for all.
    """

    files: NDArray[np.bool_] | None = None
    accepts: Callable[[int, int], bool] | None = None

    def allows(self, file: int, place: int) -> bool:
        """Return whether this chunk of a file may answer."""
        return self.accepts is None or self.accepts(file, place)


def read_filter(snapshot: Snapshot, conditions: Mapping[str, Any] | None) -> CodeFilter:
    """Read the filters of `CodeRetriever.retrieve`.

    Raises:
        FilterError: an unknown key, or a value that breaks its rule; names the keys or values there are.
    """
    if conditions is None or not conditions:
        return CodeFilter()
    if not isinstance(conditions, Mapping):
        raise FilterError(f"filters must be a dict, got {conditions!r}")
    for key in conditions:
        if key not in KEYS:
            raise _unknown("filters must have keys", KEYS, key)
    tests = [_test(key, _strings(key, value)) for key, value in conditions.items() if key != "labels"]
    files = snapshot.select(lambda row: all(test(row) for test in tests)) if tests else None
    if "labels" not in conditions:
        return CodeFilter(files)
    labels = frozenset(_strings("labels", conditions["labels"]))
    for label in labels - LABELS:
        raise _unknown("labels must be", sorted(LABELS), label)

    def accepts(file: int, place: int) -> bool:
        detail = snapshot.detail(snapshot.files[file])
        symbol = detail.chunks[place].symbol
        return not labels.isdisjoint(detail.symbols[symbol].labels if symbol >= 0 else (MODULE_LABEL,))

    return CodeFilter(_with_chunks(snapshot, files, accepts), accepts)


def read_tree(snapshot: Snapshot, tree: Filter | None) -> CodeFilter:
    """Read a filter tree over the metadata of pieces of code (`file_metadata`, `chunk_metadata`).

    Conditions on files are tested first; only files that pass are opened for the other conditions.
    """
    parts = tree.parts if isinstance(tree, And) else () if tree is None else (tree,)
    of_files = all_of(*(part for part in parts if keys_in(part) <= FILE_KEYS))
    of_chunks = all_of(*(part for part in parts if not keys_in(part) <= FILE_KEYS))
    files = None
    if of_files is not None:
        files = snapshot.select(lambda row: matches(of_files, file_metadata(snapshot, row)))
    if of_chunks is None:
        return CodeFilter(files)

    def accepts(file: int, place: int) -> bool:
        row = snapshot.files[file]
        return matches(of_chunks, file_metadata(snapshot, row) | chunk_metadata(snapshot.detail(row), place))

    return CodeFilter(_with_chunks(snapshot, files, accepts), accepts)


def _with_chunks(
    snapshot: Snapshot, files: NDArray[np.bool_] | None, accepts: Callable[[int, int], bool]
) -> NDArray[np.bool_]:
    """Return which of these files have a chunk that may answer, shape (n,)."""
    return np.fromiter(
        (
            (files is None or bool(files[i])) and any(accepts(i, place) for place in range(row.chunks))
            for i, row in enumerate(snapshot.files)
        ),
        bool,
        len(snapshot.files),
    )


FILE_KEYS = frozenset(
    {"source", "path", "language", "category", "repository", "repository_path", "snapshot", "source_type"}
)
"""Metadata that all pieces of a file have."""


def file_metadata(snapshot: Snapshot, row: FileRow) -> dict[str, Any]:
    """Return what all pieces of a file have in their metadata; its keys are `FILE_KEYS`."""
    repository = snapshot.repository
    return {
        "source": f"{repository.path}/{row.path}",
        "path": row.path,
        "language": row.language,
        "category": row.category,
        "repository": repository.id,
        "repository_path": repository.path,
        "snapshot": snapshot.info.id,
        "source_type": "code",
    }


def chunk_metadata(detail: Detail, place: int) -> dict[str, Any]:
    """Return what the definition of a chunk has in its metadata beside that of its file.

    A piece between definitions has lines only; others have `symbol` (dotted), `name`, `kind` (class, function, ...),
    `labels`, `signature`, and `container` where they stand in another definition.
    """
    chunks = unit_at(detail.chunks, place)
    chunk = detail.chunks[chunks[0]]
    metadata: dict[str, Any] = {"start_line": chunk.start, "end_line": detail.chunks[chunks[-1]].end}
    if chunk.symbol >= 0:
        symbol = detail.symbols[chunk.symbol]
        metadata |= {
            "symbol": symbol.qualified,
            "name": symbol.name,
            "kind": symbol.kind,
            "labels": list(symbol.labels),
            "signature": symbol.signature,
        }
        if container := symbol.qualified.rpartition(".")[0]:
            metadata["container"] = container
    return metadata


def _test(key: str, values: list[str]) -> Callable[[FileRow], bool]:
    """Return a test of files by the values of a key; one of a key such as "exclude_language" refuses them."""
    if key == "path_prefix":
        prefixes = [value.strip("/").removeprefix("./") for value in values]
        return lambda row: any(is_below(row.path, prefix) for prefix in prefixes)
    is_excluding = key.startswith("exclude_")
    if key.endswith("language"):
        try:
            languages = {name for value in values for name in languages_named(value)}
        except ArgumentError as error:
            raise FilterError(str(error), where=key) from None
        return lambda row: (
            languages.isdisjoint((row.language, PurePosixPath(row.path).suffix.lower())) == is_excluding
        )
    for value in values:
        if value not in CATEGORIES:
            raise _unknown(f"{key} must be", CATEGORIES, value)
    return lambda row: (row.category not in values) == is_excluding


def _unknown(rule: str, names: Sequence[str], value: Any) -> FilterError:
    """Return the error for a value that is not among the known names; it gives the nearest one."""
    hint = nearest_name(str(value), names)
    where = str(value) if names is KEYS else rule.partition(" ")[0]
    return FilterError(f"{rule} among {', '.join(names)}, got {value!r}{hint}", where=where)


def _strings(key: str, value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple | set | frozenset) or not all(isinstance(v, str) for v in values):
        raise FilterError(f"{key} must be a str or a list of str, got {value!r}", where=key)
    return list(values)
