"""Walks files and folders, and reports which files may be read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from shutil import copyfile
from typing import Final, NamedTuple, TypeAlias

from sleuth import platform
from sleuth.files import Rules
from sleuth.files.formats import kind_of_name
from sleuth.files.ignore import IGNORE_FILES, MAX_BYTES, VERSION_CONTROL, Ignores, above
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, LeftOut, Skipped
from sleuth.ingest.roots import is_below, printable
from sleuth.ingest.source import Source

_UNBOUNDED: Final = frozenset({"csv", "tsv", "jsonl", "parquet"})
"""Kinds that are read row by row, whatever their size."""

_LAST_MOMENT: Final = (1 << 63) - 1
"""Nanoseconds since 1970 in April 2262, the last that 64 bits hold."""

Found: TypeAlias = FileEntry | Skipped


def bounded_time(nanoseconds: int) -> int:
    """Return a time of change, counted from 1970, that an index can store: one before 1677 or after 2262 becomes the
    nearest that it can.
    """
    return max(~_LAST_MOMENT, min(nanoseconds, _LAST_MOMENT))


@dataclass(frozen=True, slots=True)
class WalkScope:
    """What a walk is about, besides its roots.

    Attributes:
        name_of: gives the absolute path of a file its name.
        anchors: by root, the folder above it that `include` and `exclude` are relative to, if not the root.
        index: the folder of the index itself, which is not walked; "" for none.
        apart: files and folders that are read with other options, and not walked here.
        seen: names of files that were yielded, where a root may be below another: a file is yielded once. None where
            that cannot be.
        only: absolute paths, links resolved; if not None, nothing is looked at but these, what is below them and the
            folders that lead there.
        left_out: counts hidden and ignored names.
    """

    name_of: Callable[[str], str] = printable
    anchors: Mapping[str, str] = field(default_factory=dict)
    index: str | Path = ""
    apart: Collection[str] = ()
    seen: set[str] | None = field(default_factory=set)
    only: Collection[str] | None = None
    left_out: LeftOut = field(default_factory=LeftOut)


class DiskFolders(Source):
    """Files and folders of this machine; their files are read where they lie."""

    name = ""

    def __init__(
        self,
        roots: Sequence[str | os.PathLike[str]],
        options: ReadOptions = DEFAULT,
        scope: WalkScope | None = None,
    ) -> None:
        self.roots, self.options, self.scope = roots, options, scope or WalkScope()

    def list(self, known: Callable[[str], FileEntry | None] = lambda name: None) -> Iterator[Found]:
        """Yield the files under the roots, root by root, each folder in order of name, each file once.

        A root is a file or a folder; a root that is a file is yielded even if it is hidden or ignored. Links are not
        followed, except a root that is a link: a target inside the root is yielded under its own name, and a target
        outside is refused. Unreadable entries are yielded as `Skipped`; ignored and hidden names are counted.
        """
        return _Walk(self.options, self.scope).roots(self.roots)

    def read(self, entry: FileEntry, path: Path) -> None:
        """Copy a file; runs read it where it is."""
        copyfile(entry.file, path)

    def count(self) -> int:
        """Return how many files and skipped names a walk finds."""
        seen = None if self.scope.seen is None else set(self.scope.seen)
        scope = replace(self.scope, seen=seen, left_out=LeftOut())
        return sum(1 for _ in _Walk(self.options, scope).roots(self.roots))


class _Child(NamedTuple):
    """An entry of a folder: its path, its name in the index, and the rules in force in its folder."""

    path: str
    name: str
    status: os.stat_result
    rules: Ignores


class _Walk:
    def __init__(self, options: ReadOptions, scope: WalkScope) -> None:
        self.options = options
        self.name_of = scope.name_of
        self.anchors = scope.anchors
        self.from_anchor = 0
        self.left_out = scope.left_out
        self.index = scope.index and os.path.realpath(scope.index)
        self.apart = frozenset(map(os.path.realpath, scope.apart))
        self.seen = scope.seen
        self.only = None if scope.only is None else frozenset(scope.only)
        self.towards = set(chain.from_iterable(map(_and_above, self.only or ())))
        self.include = Rules.of(options.include) if options.include else None
        self.exclude = Rules.of(options.exclude) if options.exclude else None

    def roots(self, roots: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
        if isinstance(roots, str | os.PathLike):
            roots = [roots]
        for root in roots:
            path = os.path.abspath(os.fspath(root))  # noqa: PTH100  # Path.absolute keeps ".."
            try:
                status = os.stat(path)  # noqa: PTH116  # a root may be a link
            except OSError as error:
                yield failure(self.name_of(path), error)
                continue
            except ValueError as error:  # a NUL in the name
                yield Skipped(self.name_of(path).replace("\0", "\\0"), str(error), "unreadable")
                continue
            if stat.S_ISDIR(status.st_mode):
                rules = (
                    above(os.path.realpath(path))
                    if self.options.gitignore
                    else Ignores(names=IGNORE_FILES[1:])
                )
                yield from self._folders(path, rules)
            else:
                yield from self._file(path, self.name_of(path), status)

    def _folders(self, root: str, rules: Ignores) -> Iterator[Found]:
        """Walk depth first with a stack of iterators, so that deep folders do not exceed the recursion limit."""
        real_root = os.path.realpath(root)
        base = len(root.rstrip("/")) + 1
        self.from_anchor = len(self.anchors.get(root, root).rstrip("/")) + 1
        stack = [self._listing(root, rules, real_root)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
                continue
            if isinstance(item, Skipped):
                yield item
                continue
            path, name, status, inside = item
            if stat.S_ISLNK(status.st_mode):
                yield self._link(path, real_root)
            elif stat.S_ISDIR(status.st_mode):
                # Rules are matched with real paths: git resolves a root that is a link.
                real = f"{real_root.rstrip('/')}/{path[base:]}"
                stack.append(self._listing(path, inside, real))
            elif self.include is None or self.include.chooses(path[self.from_anchor :]):
                yield from self._file(path, name, status)

    def _listing(self, folder: str, rules: Ignores, real: str) -> Iterator[_Child | Skipped]:
        """Yield the entries of a folder, in order.

        The folder is named once: to name a path, links above it may have to be resolved.
        """
        if self.index and is_below(real, self.index):
            return
        try:
            names = sorted(os.listdir(folder), reverse=True)  # noqa: PTH208 - of a million names, half the memory
        except OSError as error:
            yield failure(self.name_of(folder), error)
            return
        rules = rules.for_subfolder(real, {name for name in names if name[0] == "."})
        if rules.truncated:
            reason = f"ignore files of more than {MAX_BYTES:,} bytes are not read to their end"
            yield Skipped(self.name_of(folder), reason, "limits")
        base = self.name_of(folder)
        base = f"{base.rstrip('/')}/" if base else ""
        prefix, real_prefix = f"{folder.rstrip('/')}/", f"{real.rstrip('/')}/"
        while names:
            name = names.pop()
            path, real_path = prefix + name, real_prefix + name
            if name in VERSION_CONTROL or real_path == self.index or real_path in self.apart:
                continue
            only = self.only  # what is looked at, unless it is all
            if only is not None and real_path not in self.towards and only.isdisjoint(_and_above(real_path)):
                continue
            if name[0] == "." and not self.options.hidden:
                self.left_out.hidden += name not in IGNORE_FILES
                continue
            try:
                status = os.lstat(path)
            except OSError as error:
                yield failure(f"{base}{printable(name)}", error)
                continue
            is_folder = stat.S_ISDIR(status.st_mode)
            if rules.rules and rules.ignores(real_path, is_folder=is_folder):
                self.left_out.ignored += 1
            elif self.exclude is None or not self.exclude.verdict(
                path[self.from_anchor :], is_folder=is_folder
            ):
                yield _Child(path, f"{base}{printable(name)}", status, rules)

    def _file(self, path: str, source: str, status: os.stat_result) -> Iterator[Found]:
        if self.seen is not None:
            if source in self.seen:
                return
            self.seen.add(source)
        if not stat.S_ISREG(status.st_mode):
            yield Skipped(source, f"not a file: {platform.kind_of(status.st_mode)}", "special")
        elif status.st_size > self.options.max_bytes and kind_of_name(path) not in _UNBOUNDED:
            reason = f"{status.st_size:,} bytes, over the limit of {self.options.max_bytes:,}"
            yield Skipped(source, reason, "oversized")
        else:
            modified = bounded_time(status.st_mtime_ns)
            yield FileEntry(path, source, status.st_size, modified, str(modified))

    def _link(self, path: str, real_root: str) -> Skipped:
        try:
            target = os.path.realpath(path, strict=True)
        except OSError as error:
            reason = "a link in a loop" if error.errno == errno.ELOOP else "a link to nothing"
            return Skipped(self.name_of(path), reason, "link")
        if target == real_root or target.startswith(real_root.rstrip("/") + "/"):
            reason = f"a link to {printable(target)}, found under its own name"
            return Skipped(self.name_of(path), reason, "link")
        return Skipped(self.name_of(path), f"a link out of the folder, to {printable(target)}", "link")


def _and_above(path: str) -> Iterator[str]:
    """Yield an absolute path and the folders above it."""
    while len(path) > 1:
        yield path
        path = os.path.dirname(path)  # noqa: PTH120


def failure(name: str, error: OSError) -> Skipped:
    """Return an error of the operating system as a `Skipped`."""
    if isinstance(error, PermissionError):
        return Skipped(name, "no permission to read it", "permission")
    if isinstance(error, FileNotFoundError):
        return Skipped(name, "no such file or folder", "vanished")
    return Skipped(name, error.strerror or str(error), "unreadable")
