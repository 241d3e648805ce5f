"""Finds the files of a snapshot that an import means."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from sleuth.code.parsing.languages import ways_of
from sleuth.code.parsing.names import grouped
from sleuth.code.snapshots.places import module_steps
from sleuth.extensions import named_object

if TYPE_CHECKING:
    from sleuth.code.parsing.language import Import
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_SCRIPT = (
    "", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", "/index.ts", "/index.tsx", "/index.js", "/index.jsx",
    ".vue", ".svelte",
)  # fmt: skip
_MOST = 40


def files_of(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the positions of the files that an import may mean, and the name to look for in them.

    The name is "" for the module as a whole, and "*" for everything that the files define.
    """
    place = ways_of(file.language).files
    return _finder(place)(snapshot, file, imported) if place else ([], imported.name)


@cache
def _finder(place: str) -> Callable[[Snapshot, FileRow, Import], tuple[list[int], str]]:
    finder: Callable[[Snapshot, FileRow, Import], tuple[list[int], str]] = named_object(place)
    return finder


def included_files(
    snapshot: Snapshot, file: FileRow, imported: Import, endings: Sequence[str] = ("",)
) -> tuple[list[int], str]:
    """Return the files whose path ends like that of an import, as `files_of`: all that they define is brought in."""
    return files_ending(snapshot, file, imported.module.lstrip("./"), endings), "*"


ruby_files = partial(included_files, endings=(".rb",))
css_files = partial(included_files, endings=("", ".css", ".scss"))


def go_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a package, as `files_of`."""
    return snapshot.shared(GoModules).files(imported.module), ""


def package_folder(file: FileRow) -> str:
    """Return what files of a package share: their folder, in layouts of Maven below one named like the language."""
    folder = file.path.rpartition("/")[0]
    return re.split(r"(?:^|/)(?:java|kotlin|scala)/", folder)[-1]


class GoModules:
    """The modules of Go in a snapshot: which folder an import path means."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        positions = (i for i, file in enumerate(snapshot.files) if file.language == "go")
        self._by_folder = grouped(positions, lambda i: snapshot.files[i].path.rpartition("/")[0])
        self._roots: dict[str, str] = {}
        for file in snapshot.files:
            folder, _, name = file.path.rpartition("/")
            match = _GO_MODULE.search(snapshot.source(file)) if name == "go.mod" else None
            if match is not None:
                self._roots[match[1].decode("utf-8", "replace")] = folder

    def files(self, path: str) -> list[int]:
        """Positions of the files of a package; without a `go.mod`, of the folder that ends most like its path."""
        if not self._roots:
            return files_below(self._snapshot, path)
        for root in sorted(self._roots, key=len, reverse=True):
            if path == root or path.startswith(f"{root}/"):
                folder = f"{self._roots[root]}/{path[len(root) + 1 :]}".strip("/")
                return self._by_folder.get(folder, [])[:_MOST]
        return []


_GO_MODULE = re.compile(rb"^\s*module\s+\"?([^\s\"]+)", re.MULTILINE)


def nearest(snapshot: Snapshot, file: FileRow, candidates: Sequence[int]) -> list[int]:
    """Return the candidates that share the longest path with a file: the module next door is meant."""
    if len(candidates) < 2:
        return list(candidates)
    shared = [len(posixpath.commonprefix([snapshot.files[i].path, file.path])) for i in candidates]
    max_length = max(shared)
    return [i for i, n in zip(candidates, shared, strict=True) if n == max_length]


def dotted_files(snapshot: Snapshot, file: FileRow, module: str) -> list[int]:
    """Return the positions of the files of a module `a.b.c` in the language of a file, the nearest ones."""
    steps = module.split(".")
    files = snapshot.modules.get(".".join(steps[-8:]))
    return nearest(snapshot, file, [i for i in files if snapshot.files[i].language == file.language])


def python_files(snapshot: Snapshot, file: FileRow, item: Import) -> tuple[list[int], str]:
    """Return the files and the name, as `files_of`: `from a import b` may mean the module `a.b`, or a name of `a`."""
    module = item.module
    if not module.startswith("."):
        submodule = _absolute(snapshot, file, f"{module}.{item.name}") if item.name else []
        return (submodule, "") if submodule else (_absolute(snapshot, file, module), item.name)
    dots = len(module) - len(module.lstrip("."))
    folders = file.path.split("/")[:-1]
    if dots - 1 > len(folders):
        return [], item.name
    steps = module[dots:].split(".") if module[dots:] else []
    path = "/".join([*folders[: len(folders) - dots + 1], *steps])
    submodule = _module_file(snapshot, f"{path}/{item.name}".lstrip("/")) if item.name else []
    return (submodule, "") if submodule else (_module_file(snapshot, path), item.name)


def _absolute(snapshot: Snapshot, file: FileRow, module: str) -> list[int]:
    """Files of an absolute import: `json` is not `app/json.py` where `app` is a package."""
    steps = len(module.split("."))
    files = []
    for i in snapshot.modules.get(".".join(module.split(".")[-8:])):
        row = snapshot.files[i]
        above = "/".join(module_steps(row.path)[:-steps])
        is_stub = row.path.endswith(".pyi") and row.path[:-1] in snapshot.by_path  # of a module that is here
        is_inside = above and f"{above}/__init__.py" in snapshot.by_path
        if row.language == "python" and not is_stub and not is_inside:
            files.append(i)
    return nearest(snapshot, file, files)


def _module_file(snapshot: Snapshot, path: str) -> list[int]:
    """Return the position of the file of the module at a path without extension; [] where no file is there."""
    candidates = (f"{path}.py", f"{path}/__init__.py" if path else "__init__.py", f"{path}.pyi")
    return [snapshot.by_path[c] for c in candidates if c in snapshot.by_path][:1]


def script_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a module of JavaScript, as `files_of`: `./x` is beside the file, `@/a/b` anywhere."""
    module = imported.module
    if module.startswith("."):
        base = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), module))
        stems = (base, base.removesuffix(".js"), base.removesuffix(".jsx"))
        names = (stem + ending for stem in stems for ending in _SCRIPT)
        return [snapshot.by_path[name] for name in names if name in snapshot.by_path][:1], imported.name
    module_path = module.lstrip("@~").strip("/")
    for ending in _SCRIPT if "/" in module_path else ():
        files = snapshot.endings.get("/".join((module_path + ending).split("/")[-5:]))
        if files:
            return nearest(snapshot, file, files), imported.name
    return [], imported.name


def files_below(snapshot: Snapshot, path: str) -> list[int]:
    """Files right in the folder whose path ends like this one; more steps in common are better."""
    steps = [s for s in path.split("/") if s]
    for size in range(len(steps), 0, -1):
        files = snapshot.in_folder.get("/".join(steps[-size:]))
        if files:
            return files[:_MOST]
    return []


def rust_files(snapshot: Snapshot, file: FileRow, item: Import) -> tuple[list[int], str]:
    """Return the files and the name, as `files_of`: `use a::b` may mean the module `a::b`, or a name in `a`."""
    *folders, stem = file.path.removesuffix(".rs").split("/")
    # The module of the file, as a folder.
    home = folders if stem in ("mod", "lib", "main") else [*folders, stem]
    around = (home[:size] for size in range(len(home), -1, -1))
    root = next((folder for folder in around if _rust_file(snapshot, folder, _ROOTS)), [])
    path = [*(step for step in item.module.split("::") if step), item.name]
    supers = next((i for i, step in enumerate(path) if step != "super"), len(path))
    if path[0] == "crate":
        bases, path = [root], path[1:]
    elif path[0] == "self" or supers:
        bases, path = [home[: len(home) - supers]], path[max(supers, 1) :]
    else:
        bases = [home, root]
    for base in bases:
        if files := _rust_file(snapshot, [*base, *path], _MODULE_FILES):
            return files, ""
        if files := _rust_file(snapshot, [*base, *path[:-1]], _MODULE_FILES):
            return files, path[-1] if path else ""
    # A module of another crate, or below a folder that is not the crate's.
    module = ".".join(step for step in item.module.split("::") if step not in ("crate", "self", "super", ""))
    if files := snapshot.modules.get(f"{module}.{item.name}".lstrip(".")):
        return nearest(snapshot, file, files), ""
    if module and (files := snapshot.modules.get(module)):
        return nearest(snapshot, file, files), item.name
    return [], item.name


_ROOTS = ("/lib.rs", "/main.rs")
_MODULE_FILES = (".rs", "/mod.rs", *_ROOTS)


def _rust_file(snapshot: Snapshot, steps: list[str], endings: Sequence[str]) -> list[int]:
    """Return the position of the file of a module."""
    names = ("/".join(steps) + ending for ending in endings)
    return [snapshot.by_path[name.lstrip("/")] for name in names if name.lstrip("/") in snapshot.by_path][:1]


def files_ending(snapshot: Snapshot, file: FileRow, module: str, endings: Sequence[str]) -> list[int]:
    """Return the positions of the files whose path ends like a module with the first ending that any has."""
    parts = posixpath.normpath(module).split("/")
    while parts and parts[0] == "..":
        parts.pop(0)
    for ending in endings:
        files = snapshot.endings.get("/".join(parts[-5:]) + ending)
        if files:
            return nearest(snapshot, file, files)
    return []
