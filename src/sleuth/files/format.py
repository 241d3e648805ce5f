"""A file format: how files of it are recognised, read and cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from sleuth.errors import ArgumentError, MissingPackageError

Loader: TypeAlias = Callable[[Any, Any], Iterable[Any]]
"""Takes a `FileBytes` and its `ReadOptions`; yields `Document`s with their own `title` and other metadata.

`load` adds the metadata that all files have.

Raises LoadError if the file cannot be read, MissingPackageError if a package is missing. A row that cannot be read is
yielded as `Skipped`."""

Form: TypeAlias = Literal["text", "markdown", "code", "rows", "files"]
"""What a file holds: running text, Markdown (also as a loader writes it), source code, rows that each become a
document, or other files."""


class Package(NamedTuple):
    """An optional package that a loader needs.

    Attributes:
        name: its import name.
        extra: the extra of Sleuth that installs it.
        purpose: begins the message if it is missing.
    """

    name: str
    extra: str
    purpose: str


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format and its loader.

    Attributes:
        kind: what its documents have as metadata `type`; that of a built-in format replaces its loader.
        load: reads a file of this kind, or the name of a function as "module:function". The module is in
            `sleuth.ingest.loaders`, or has its whole name.
        extensions: such as ".tex"; those of a plugin take precedence over built-in ones.
        sniff: returns from the first 8 KiB whether a file without a known extension is of this kind.
        names: complete file names of this kind, such as "Makefile"; they take precedence over extensions.
        interpreters: what a `#!` line holds in files of this kind.
        form: see `Form`.
        extract: the function in `sleuth.ingest.extraction` that reads the file in a process of its own, named in the
            same way; "" for none. It takes all bytes of a file (of a page as UTF-8) and a limit, the most bytes of an
            unpacked archive and the most characters of text; returns an `Extracted`; raises ExtractionError.
        holds_files: whether it holds files of any kind, so that a process reads it whatever its size.
        package: what the loader needs beyond Sleuth's own dependencies.
        has_lines: whether each line of its text is the line of the file with that number, so that an editor can open it
            there; else passages have no lines.
        is_named: returns from the path of a file whether it is of this kind, where no list of names can say it; takes
            precedence over names.
    """

    kind: str
    load: Loader | str
    extensions: Sequence[str] = ()
    sniff: Callable[[bytes], bool] | None = None
    names: Sequence[str] = ()
    interpreters: Sequence[str] = ()
    form: Form = "text"
    extract: str = ""
    holds_files: bool = False
    package: Package | None = None
    has_lines: bool = False
    is_named: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        for extension in self.extensions:
            if not extension.startswith("."):
                raise ArgumentError(f"extensions must start with a dot, got {extension!r}")
        object.__setattr__(self, "extensions", tuple(extension.lower() for extension in self.extensions))
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "interpreters", tuple(self.interpreters))

    def has_name(self, path: str) -> bool:
        """Return whether the name of a file says that it is of this kind."""
        if self.is_named is not None and self.is_named(path):
            return True
        base = path.rpartition("/")[2].lower()
        return base in self.names or os.path.splitext(base)[1] in self.extensions  # noqa: PTH122  # called for every file

    def check_installed(self) -> None:
        """Raise MissingPackageError if the package that the loader needs is not installed."""
        from importlib.util import find_spec

        if self.package is not None and find_spec(self.package.name) is None:
            raise MissingPackageError(*self.package)
