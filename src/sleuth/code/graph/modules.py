"""Finds the files of a snapshot that an import means."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sleuth.code.graph.rules import rules_class
from sleuth.code.parsing.languages import SCRIPTS
from sleuth.code.snapshots.places import module_steps

if TYPE_CHECKING:
    from sleuth.code.parsing.language import Import
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_SCRIPT = (
    "", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", "/index.ts", "/index.tsx", "/index.js", "/index.jsx",
    ".vue", ".svelte",
)  # fmt: skip
_MOST = 40


def files_of(  # noqa: PLR0911 - one way per language
    snapshot: Snapshot, file: FileRow, imported: Import
) -> tuple[list[int], str]:
    """Return the positions of the files that an import may mean, and the name to look for in them.

    The name is "" for the module as a whole, and "*" for everything that the files define.
    """
    language = file.language
    if language == "python":
        return _python(snapshot, file, imported)
    if language in SCRIPTS:
        return _script(snapshot, file, imported.module), imported.name
    if language == "go":
        return snapshot.shared(GoModules).files(imported.module), ""
    if language == "rust":
        return _rust(snapshot, file, imported)
    if language == "ruby":
        return files_ending(snapshot, file, imported.module.lstrip("./"), (".rb",)), "*"
    if language == "css":
        return files_ending(snapshot, file, imported.module.lstrip("./"), ("", ".css", ".scss")), "*"
    if language in ("c", "cpp", "bash"):
        return files_ending(snapshot, file, imported.module.lstrip("./"), ("",)), "*"
    return rules_class(language).files(snapshot, file, imported)


def package_folder(file: FileRow) -> str:
    """Return what files of a package share: their folder, in layouts of Maven below one named like the language."""
    folder = file.path.rpartition("/")[0]
    return re.split(r"(?:^|/)(?:java|kotlin|scala)/", folder)[-1]


class GoModules:
    """The modules of Go in a snapshot: which folder an import path means."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        folders: dict[str, list[int]] = {}
        for i, file in enumerate(snapshot.files):
            if file.language == "go":
                folders.setdefault(file.path.rpartition("/")[0], []).append(i)
        self._by_folder = folders
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
    steps = module.split(".")
    files = snapshot.modules.get(".".join(steps[-8:]))
    return nearest(snapshot, file, [i for i in files if snapshot.files[i].language == file.language])


def _python(snapshot: Snapshot, file: FileRow, item: Import) -> tuple[list[int], str]:
    module = item.module
    if module.startswith("."):
        up = len(module) - len(module.lstrip("."))
        folder = file.path.split("/")[:-1]
        if up - 1 > len(folder):
            return [], item.name
        base = folder[: len(folder) - up + 1]
        steps = module[up:].split(".") if module[up:] else []
        path = "/".join([*base, *steps])
        inside = _module_file(snapshot, f"{path}/{item.name}" if path else item.name) if item.name else []
        return (inside, "") if inside else (_module_file(snapshot, path), item.name)
    if item.name and (inside := _absolute(snapshot, file, f"{module}.{item.name}")):
        return inside, ""
    return _absolute(snapshot, file, module), item.name


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
    candidates = (f"{path}.py", f"{path}/__init__.py" if path else "__init__.py", f"{path}.pyi")
    return [snapshot.by_path[c] for c in candidates if c in snapshot.by_path][:1]


def _script(snapshot: Snapshot, file: FileRow, module: str) -> list[int]:
    if module.startswith("."):
        base = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), module))
        stems = (base, base.removesuffix(".js"), base.removesuffix(".jsx"))
        names = (stem + ending for stem in stems for ending in _SCRIPT)
        return [snapshot.by_path[name] for name in names if name in snapshot.by_path][:1]
    module_path = module.lstrip("@~").strip("/")
    if "/" not in module_path:
        return []
    for ending in _SCRIPT:
        files = snapshot.endings.get("/".join((module_path + ending).split("/")[-5:]))
        if files:
            return nearest(snapshot, file, files)
    return []


def files_below(snapshot: Snapshot, path: str) -> list[int]:
    """Files right in the folder whose path ends like this one; more steps in common are better."""
    steps = [s for s in path.split("/") if s]
    for size in range(len(steps), 0, -1):
        files = snapshot.in_folder.get("/".join(steps[-size:]))
        if files:
            return files[:_MOST]
    return []


def _rust(snapshot: Snapshot, file: FileRow, item: Import) -> tuple[list[int], str]:
    *folders, name = file.path.removesuffix(".rs").split("/")
    home = folders if name in ("mod", "lib", "main") else [*folders, name]
    root = next(
        (home[:size] for size in range(len(home), -1, -1) if _rust_file(snapshot, home[:size], _ROOTS)), []
    )
    path = [*(step for step in item.module.split("::") if step), item.name]
    up = next((i for i, step in enumerate(path) if step != "super"), len(path))
    if path[0] == "crate":
        bases, path = [root], path[1:]
    elif path[0] == "self" or up:
        bases, path = [home[: len(home) - up]], path[max(up, 1) :]
    else:
        bases = [home, root]
    for base in bases:
        for steps, name in (([*base, *path], ""), ([*base, *path[:-1]], path[-1] if path else "")):
            if files := _rust_file(snapshot, steps, _MODULE_FILES):
                return files, name
    # A module of another crate, or below a folder that is not the crate's.
    outer = [step for step in item.module.split("::") if step not in ("crate", "self", "super", "")]
    for module, name in ((".".join([*outer, item.name]), ""), (".".join(outer), item.name)):
        if module and (files := snapshot.modules.get(module)):
            return nearest(snapshot, file, files), name
    return [], item.name


_ROOTS = ("/lib.rs", "/main.rs")
_MODULE_FILES = (".rs", "/mod.rs", *_ROOTS)


def _rust_file(snapshot: Snapshot, steps: list[str], endings: Sequence[str]) -> list[int]:
    """Return the position of the file of a module."""
    names = ("/".join(steps) + ending for ending in endings)
    return [snapshot.by_path[name.lstrip("/")] for name in names if name.lstrip("/") in snapshot.by_path][:1]


def files_ending(snapshot: Snapshot, file: FileRow, module: str, endings: Sequence[str]) -> list[int]:
    parts = posixpath.normpath(module).split("/")
    while parts and parts[0] == "..":
        parts.pop(0)
    for ending in endings:
        files = snapshot.endings.get("/".join(parts[-5:]) + ending)
        if files:
            return nearest(snapshot, file, files)
    return []
