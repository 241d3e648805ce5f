"""Names of files in an index: relative to the folder that holds the index, so that both can be moved together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


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


@dataclass(frozen=True, slots=True)
class FileNames:
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
