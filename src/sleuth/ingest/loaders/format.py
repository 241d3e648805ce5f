"""A file format that a program or a package adds, with its loader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sleuth.errors import ArgumentError

Loader: TypeAlias = Callable[[Any, Any], Iterable[Any]]
"""Takes a `FileBytes` and its `ReadOptions`; yields `Document`s with their own `title` and other metadata.

`load` adds the metadata that all files have.

Raises LoadError if the file cannot be read, MissingPackageError if a package is missing. A row that cannot be read is
yielded as `Skipped`."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format and its loader.

    Attributes:
        kind: what its documents have as metadata `type`; that of a built-in format replaces its loader.
        load: reads a file of this kind.
        extensions: such as ".tex"; they take precedence over built-in ones.
        sniff: returns from the first 8 KiB whether a file without a known extension is of this kind.
    """

    kind: str
    load: Loader
    extensions: Sequence[str] = ()
    sniff: Callable[[bytes], bool] | None = None

    def __post_init__(self) -> None:
        for extension in self.extensions:
            if not extension.startswith("."):
                raise ArgumentError(f"extensions must start with a dot, got {extension!r}")
        object.__setattr__(self, "extensions", tuple(extension.lower() for extension in self.extensions))

    def has_extension(self, name: str) -> bool:
        """Return whether a file name ends in one of the extensions."""
        return os.path.splitext(name)[1].lower() in self.extensions  # noqa: PTH122  # called for every file
