"""Which files, and which chunks of them, may answer?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.labels import CATEGORIES
from sleuth.code.parsing.languages import languages_named
from sleuth.errors import FilterError

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

KEYS = ("path_prefix", "language", "exclude_language", "category", "exclude_category", "labels")


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """A filter, read.

    Attributes:
        files: which files may answer, shape (n,); None for all.
        labels: of which a chunk's definition must have one; empty for all.
    """

    files: NDArray[np.bool_] | None
    labels: frozenset[str]


def read_filter(snapshot: Snapshot, given: Mapping[str, Any] | None) -> CodeFilter:
    """Read the filters of `CodeRetriever.retrieve`.

    Raises:
        FilterError: an unknown key, or a value that breaks its rule; names the keys or values there are.
    """
    if given is None or not given:
        return CodeFilter(None, frozenset())
    if not isinstance(given, Mapping):
        raise FilterError(f"filters must be a dict, got {given!r}")
    for key in given:
        if key not in KEYS:
            raise FilterError(f"filters must have keys among {', '.join(KEYS)}, got {key!r}", where=str(key))
    tests = [_test(key, _strings(key, value)) for key, value in given.items() if key != "labels"]
    labels = frozenset(_strings("labels", given["labels"])) if "labels" in given else frozenset()
    files = snapshot.select(lambda row: all(test(row) for test in tests)) if tests else None
    if "labels" in given:
        labelled = snapshot.select(
            lambda row: any(not labels.isdisjoint(s.labels) for s in snapshot.detail(row).symbols)
        )
        files = labelled if files is None else files & labelled
        labels = labels or frozenset({""})
    return CodeFilter(files, labels)


def _test(key: str, values: list[str]) -> Callable[[FileRow], bool]:
    if key == "path_prefix":
        prefixes = [value.strip("/").removeprefix("./") for value in values]
        return lambda row: any(is_below(row.path, prefix) for prefix in prefixes)
    if key in ("language", "exclude_language"):
        languages = {name for value in values for name in languages_named(value)}
        if key == "language":
            return lambda row: row.language in languages
        return lambda row: row.language not in languages
    for value in values:
        if value not in CATEGORIES:
            raise FilterError(f"{key} must be among {', '.join(CATEGORIES)}, got {value!r}", where=key)
    chosen = set(values)
    if key == "category":
        return lambda row: row.category in chosen
    return lambda row: row.category not in chosen


def is_below(path: str, prefix: str) -> bool:
    """Whether a path is `prefix` or below it: "src/api" holds "src/api/x.py" and not "src/api_v2/x.py"."""
    return not prefix or prefix in (".", path) or path.startswith(f"{prefix}/")


def _strings(key: str, value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple | set | frozenset) or not all(isinstance(v, str) for v in values):
        raise FilterError(f"{key} must be a str or a list of str, got {value!r}", where=key)
    return list(values)
