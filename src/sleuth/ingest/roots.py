"""Remembers what was indexed by name, and with which options, so that the next run need not be told again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError
from sleuth.ingest.names import FileNames, is_address, is_below
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.walking import is_gone

if TYPE_CHECKING:
    from sleuth.store import KnownFile, Writer

Options: TypeAlias = ReadOptions | Mapping[str, Any] | None
"""Those of a run: all of them, changes to those that are remembered, or the remembered ones."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that was indexed by name.

    Attributes:
        name: see `FileNames`; "" for the base of the index.
        options: what it is read with.
        is_gone: whether nothing has this name any more.
    """

    name: str
    options: ReadOptions = DEFAULT
    is_gone: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {"name": self.name, "options": self.options.to_dict(), "gone": self.is_gone}


@dataclass(frozen=True, slots=True)
class RootReading:
    """Part of a run: a root, and what it is read with.

    Attributes:
        name: of the root.
        root: absolute path.
        anchor: absolute path of the remembered root that the options come from.
        apart: absolute paths below the root that have options of their own.
    """

    name: str
    root: str
    anchor: str
    options: ReadOptions
    apart: tuple[str, ...] = ()


def roots_in(rows: Iterable[KnownFile], names: FileNames) -> list[Root]:
    """Return the roots among the rows of an index, in their order.

    Options that a later release wrote are the default ones. A row never names a program to run: the index may come from
    somebody else.
    """
    roots = []
    for row in rows:
        if row.options is not None:
            path = names.path_of(row.name)
            is_missing = not is_address(path) and is_gone(path) and not os.path.isdir(path)  # noqa: PTH112 - many
            try:
                options = replace(ReadOptions(**json.loads(row.options)), ocr=())
            except (ValueError, TypeError, ArgumentError):
                options = DEFAULT
            roots.append(Root(row.name, options, is_gone=is_missing))
    return roots


def covering(name: str, roots: Iterable[Root]) -> Root | None:
    """Return the nearest root at or above a name."""
    above = [root for root in roots if is_below(name, root.name)]
    return max(above, key=lambda root: len(root.name), default=None)


def plan(
    paths: Mapping[str, str], roots: Sequence[Root], options: Options, names: FileNames
) -> list[RootReading]:
    """Return what a run reads, and with which options: those of the call, else those of the nearest root.

    Args:
        paths: names of files and folders, by absolute path.
        roots: those that the index remembers.

    Raises:
        ArgumentError: unknown or invalid options.
    """
    readings = []
    for path, name in paths.items():
        root = covering(name, roots) or Root(name)
        settings = changed(root.options, options)
        if options is not None:
            readings.append(RootReading(name, path, path, settings))
            continue
        inside = {
            inner.name: RootReading(inner.name, place := names.path_of(inner.name), place, inner.options)
            for inner in roots
            if inner.name != name
            and is_below(inner.name, name)
            and inner.options != settings
            and not inner.is_gone
        }
        places = tuple(reading.root for reading in inside.values())
        readings.append(RootReading(name, path, names.path_of(root.name), settings, places))
        for at, reading in inside.items():
            deeper = (below.root for to, below in inside.items() if to != at and is_below(to, at))
            readings.append(replace(reading, apart=tuple(deeper)))
    return readings


def changed(remembered: ReadOptions, options: Options) -> ReadOptions:
    """Return the options of a run.

    Raises:
        ArgumentError: an unknown or invalid option.
    """
    if options is None:
        return remembered
    if isinstance(options, ReadOptions):
        return options
    check_kind(options, Mapping, "options", "ReadOptions, a mapping or None")
    fields = ReadOptions.__dataclass_fields__
    if unknown := [name for name in options if name not in fields]:
        raise ArgumentError(f"options must be among {', '.join(fields)}, got {unknown[0]!r}")
    return replace(remembered, **options)


def remember(writer: Writer, paths: Mapping[str, str], roots: Sequence[Root], options: Options) -> None:
    """Note the roots of a run, and their options if it named some.

    A path below a root with the same options is not noted, nor is a file that is read with the default ones.

    Args:
        paths: names of files, folders and sources, by absolute path or address.
    """
    for path, name in paths.items():
        root = covering(name, roots)
        settings = changed(root.options if root else DEFAULT, options)
        if options is not None:
            for inner in roots:
                if inner.name != name and is_below(inner.name, name):
                    writer.note_file(inner.name, options=None)
        if root is not None and root.options == settings:
            continue
        if root is not None or settings != DEFAULT or is_address(path) or os.path.isdir(path):  # noqa: PTH112
            writer.note_file(name, options=settings.spelling)
