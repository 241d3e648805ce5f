"""Names of files in an index, relative to the folder that holds it, so that both can be moved together; and its roots.

A root is what was indexed by name. It is remembered with its options, so that the next run need not be told again.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError
from sleuth.ingest.options import DEFAULT, ReadOptions

if TYPE_CHECKING:
    from sleuth.store import KnownFile, Writer

Options: TypeAlias = ReadOptions | Mapping[str, Any] | None
"""Those of a run: all of them, changes to those that are remembered, or the remembered ones."""


_escaped = re.compile(rb"\\x([0-9a-f]{2})")


def printable(path: str) -> str:
    r"""Return a path as UTF-8 text: a byte that is not UTF-8 is written as a backslash, an x and two hex digits.

    What already looks like one in such a path begins with ``\x5c``, the backslash, so that the bytes can be told.
    """
    if path.isascii():
        return path
    name = os.fsencode(path)
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.replace(b"\\x", rb"\x5cx").decode("utf-8", "backslashreplace")


def is_address(name: str) -> bool:
    """Return whether a name is that of a source, or of a file of one; no relative path has two slashes in a row."""
    return "://" in name and not name.startswith("/")


def is_below(name: str, root: str) -> bool:
    """Return whether a name is this root or lies below it. Below the root "" are all relative names."""
    if not root:
        return not (name.startswith("/") or is_address(name))
    return name == root or name.startswith(root.rstrip("/") + "/")


def outermost(names: Iterable[str]) -> list[str]:
    """Return those of these names that are not below another, each once."""
    roots: list[str] = []
    for name in sorted(set(names), key=lambda root: root and f"{root.rstrip('/')}/"):
        if not any(is_below(name, outer) for outer in (*roots[:1], *roots[-1:])):  # the first may be ""
            roots.append(name)
    return roots


class FileNames(NamedTuple):
    """Gives files their names in an index.

    A file below the base is named by its path relative to the base, any other file by its absolute path. The base
    itself is named "".

    Attributes:
        base: absolute path of the folder that holds the index folder; "" for an index that lies in no folder of files,
            where all names are absolute.
    """

    base: str = ""

    @classmethod
    def beside(cls, index: str | Path) -> FileNames:
        """Return the names of files in an index folder."""
        base = os.path.dirname(os.path.abspath(index))  # noqa: PTH100, PTH120  # resolve() would follow links
        return cls("" if base == "/" else base)

    def name_of(self, path: str | Path) -> str:
        """Return the name of the file or folder at a path, which is relative to the working folder or absolute.

        An address is its own name and its own path.
        """
        if is_address(str(path)):
            return printable(str(path))
        absolute = self.locate(path)
        if not self.base or not is_below(absolute, self.base):
            return printable(absolute)
        return printable(absolute[len(self.base) + 1 :])

    def path_of(self, name: str) -> str:
        """Return the absolute path of a named file, with bytes that are not UTF-8 as in the name."""
        if name.startswith("/") or not self.base or is_address(name):
            return name
        return f"{printable(self.base)}/{name}".removesuffix("/")

    def locate(self, path: str | Path) -> str:
        """Return the absolute path.

        A path that leads through links into the base is rewritten to begin with the base, so that a file has one name
        whichever way it is reached. A link itself keeps its own name.
        """
        absolute = os.path.abspath(path)  # noqa: PTH100
        if not self.base or is_below(absolute, self.base):
            return absolute
        real, real_base, name = os.path.realpath(absolute), os.path.realpath(self.base), ""
        if os.path.islink(absolute) and real != real_base:  # noqa: PTH114
            # A link keeps its own name: only the folders above it are resolved. A link to the base itself is the base.
            folder, name = os.path.split(absolute)
            real = os.path.realpath(folder)
        if not is_below(real, real_base):
            return absolute
        return os.path.normpath(f"{self.base}{real[len(real_base) :]}/{name}")


def is_gone(path: str) -> bool:
    """Return whether no file has this path, as `printable` wrote it, any more; False if this cannot be determined."""
    name = path.encode()
    return _is_absent(name) and _is_absent(_escaped.sub(lambda match: bytes([int(match[1], 16)]), name))


def _is_absent(name: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False


class Root(NamedTuple):
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


class RootReading(NamedTuple):
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
            readings.append(reading._replace(apart=tuple(deeper)))
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
