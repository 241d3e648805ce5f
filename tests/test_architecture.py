"""Imports between packages, and the cost of importing."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SRC = Path(__file__).parents[1] / "src" / "sleuth"

BASE = {"arguments", "vectors", "errors", "types", "results", "protocols", "lazy", "logs", "threads"}
GROUND = BASE | {"filters", "settings", "text", "store", "files"}
FAMILIES = {"lexical", "dense", "code", "web", "knowledge_base", "vector_store", "llm"}
COMPOSITION = {"compose", "answer", "evaluate"}
INTERNAL = {"store", "lexical", "dense"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "arguments": {"errors"},
    "vectors": {"errors"},
    "lazy": set(),
    "logs": set(),
    "threads": set(),
    "types": {"errors"},
    "results": {"errors", "types"},
    "protocols": {"types", "filters"},
    "filters": {"errors"},
    "settings": BASE,
    "remote": BASE,
    "text": BASE | {"files"},
    "files": BASE,
    "store": BASE | {"filters"},
    **{family: GROUND | {"compose", "remote"} for family in FAMILIES},
    "compose": BASE | {"filters", "text", "remote"},
    "answer": BASE | {"filters", "text", "remote"},
    "evaluate": BASE | {"filters"},
    "ingest": GROUND - {"filters"},
    "hooks": BASE,
    "manager": BASE | {"hooks", "remote"},
}


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def unit(path: Path) -> str:
    """Return the top-level package of a module."""
    return path.relative_to(SRC).with_suffix("").parts[0]


class Import(NamedTuple):
    """A statement that imports.

    Attributes:
        module: from which names are imported; "" for `import a, b`.
        names: what is imported.
        for_types: whether it is read by type checkers only.
    """

    module: str
    names: tuple[str, ...]
    for_types: bool


@cache
def import_statements(path: Path) -> tuple[Import, ...]:
    """Yield all imports of a file, including those within functions."""
    return tuple(_import_statements(ast.parse(path.read_text("utf8")), for_types=False))


def _import_statements(node: ast.AST, *, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield Import(child.module or "", tuple(alias.name for alias in child.names), for_types)
        elif isinstance(child, ast.Import):
            yield Import("", tuple(alias.name for alias in child.names), for_types)
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _import_statements(child, for_types=True)
        elif not isinstance(child, ast.expr):
            yield from _import_statements(child, for_types=for_types)


def imports(path: Path) -> set[str]:
    """Return the packages of sleuth that a module imports when it runs, without those for type checking only."""
    names: set[str] = set()
    for statement in import_statements(path):
        if not statement.for_types:
            inside = statement.module in ("", "sleuth")
            prefix = "sleuth." if statement.module == "sleuth" else ""
            names |= {prefix + name for name in statement.names} if inside else {statement.module}
    return {name.split(".")[1] for name in names if name.startswith("sleuth.")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SRC)))
def test_imports_follow_the_layers(path: Path) -> None:
    """A module imports only from the packages below its own."""
    room = unit(path)
    if room in ALLOWED:
        assert imports(path) - {room, "lazy"} <= ALLOWED[room]
    if room == "surfaces":
        assert not imports(path) & INTERNAL


def test_no_import_cycles_between_rooms() -> None:
    """There is no import cycle between packages."""
    graph: dict[str, set[str]] = {}
    for path in modules():
        graph.setdefault(unit(path), set()).update(imports(path) - {unit(path)})
    seen: set[str] = set()

    def visit(room: str, trail: tuple[str, ...]) -> None:
        assert room not in trail, " -> ".join((*trail, room))
        if room not in seen:
            for below in sorted(graph.get(room, ())):
                visit(below, (*trail, room))
            seen.add(room)

    for room in sorted(graph):
        if room != "__init__":
            visit(room, ())


def module_name(path: Path) -> str:
    parts = ["sleuth", *path.relative_to(SRC).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exported() -> dict[str, dict[str, str]]:
    """Return the module that defines each name, by package and name."""
    export = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
    return {
        module_name(path): {name: home for home, name in export.findall(path.read_text("utf8"))}
        for path in SRC.rglob("__init__.pyi")
    }


def modules_imported(path: Path, names: Container[str], homes: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Return the modules that a module imports, including within functions; a name of a package counts
    as its module.
    """
    modules: set[str] = set()
    for statement in import_statements(path):
        if statement.for_types:
            continue
        if not statement.module:
            modules |= set(statement.names)
        elif statement.module.split(".")[0] == "sleuth":
            for name in statement.names:
                whole = f"{statement.module}.{name}"
                home = homes.get(statement.module, {}).get(name, statement.module)
                modules.add(whole if whole in names else home)
    return modules


def test_modules_form_an_order() -> None:
    """There is no import cycle between modules, including imports within functions."""
    paths = {module_name(path): path for path in modules()}
    homes = exported()
    graph = {
        name: {other for other in modules_imported(path, paths, homes) if other in paths and other != name}
        for name, path in paths.items()
    }
    while leaves := [name for name, below in graph.items() if not below & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert graph == {}


def test_exported_names_are_defined_where_stubs_say() -> None:
    """Each name of a package comes from one of its own modules."""
    for package, names in exported().items():
        room = ".".join(package.split(".")[:2])
        for name, home in names.items():
            assert home.startswith(room), f"{package}.{name}"
            assert hasattr(import_module(package), name), f"{package}.{name}"


STORE: dict[str, set[str]] = {
    "disk": set(),
    "legs": {"disk"},
    "record": {"disk", "legs"},
    "columns": {"legs", "disk", "record"},
    "catalogue": {"disk", "legs", "record"},
    "reading": {"legs", "record", "catalogue"},
    "writing": {"legs", "record", "catalogue"},
    "health": {"disk", "legs", "record", "catalogue", "writing"},
}


def test_folders_of_the_store_are_layers() -> None:
    """A folder of the store imports only from the folders below it; `Store` alone uses all of them."""
    homes = exported()
    names = {module_name(path) for path in modules()}
    folders = {path.name for path in (SRC / "store").iterdir() if (path / "__init__.py").exists()}
    assert folders == STORE.keys()
    for path in (SRC / "store").rglob("*.py"):
        folder = path.relative_to(SRC / "store").parts[0]
        if folder not in STORE:
            assert path.name in {"__init__.py", "store.py"}
            continue
        below = {
            name.split(".")[2] for name in modules_imported(path, names, homes) if "sleuth.store." in name
        }
        assert below <= STORE[folder] | {folder}, path


CODE: dict[str, set[str]] = {
    "parsing": set(),
    "repository": {"parsing"},
    "snapshots": {"parsing", "repository"},
    "graph": {"parsing", "snapshots"},
    "search": {"parsing", "repository", "snapshots", "graph"},
}


def test_folders_of_code_are_layers() -> None:
    """A folder of the code room imports only from the folders below it, also inside functions and for types."""
    root = SRC / "code"
    assert {path.name for path in root.iterdir() if (path / "__init__.py").exists()} == CODE.keys()
    for folder, below in CODE.items():
        for path in (root / folder).rglob("*.py"):
            names = {name for module, names, _ in import_statements(path) for name in (module, *names)}
            rooms = {name.split(".")[2] for name in names if re.match(r"sleuth\.code\.\w", name)}
            assert rooms <= below | {folder}, path


MODULES_FOR_ALL = {"sleuth.testing", "sleuth.surfaces.cli"}
"""Packages whose modules are imported by name: servers and suites, and one file for each command."""


def module_paths(path: Path) -> list[str]:
    """Return the modules below a package from which a file outside of it imports names."""
    own = f"sleuth.{unit(path)}." if path.is_relative_to(SRC) else "-"
    return [
        module
        for module, _, _ in import_statements(path)
        if module.startswith("sleuth.")
        and module.count(".") > 1
        and not SRC.joinpath(*module.split(".")[1:], "__init__.py").exists()
        and not module.startswith(own)
        and module.rpartition(".")[0] not in MODULES_FOR_ALL
    ]


@pytest.mark.parametrize("folder", ["src/sleuth", "tests", "benchmarks", "examples"])
def test_names_are_imported_from_packages(folder: str) -> None:
    """Files outside of a package import its names from the package that exports them."""
    root = SRC.parents[1]
    places = {str(path.relative_to(root)): module_paths(path) for path in (root / folder).rglob("*.py")}
    assert {path: names for path, names in places.items() if names} == {}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_import_sleuth_is_light() -> None:
    """`import sleuth` loads neither numpy nor any other third-party package."""
    heavy = {"numpy", "pydantic", "typer", "rich", "sqlite3", "Stemmer", "yaml", "tokenizers"}
    assert not loaded_by("import sleuth") & heavy


def test_httpx_is_loaded_by_the_first_request_only() -> None:
    """`import sleuth`, a search, and creating a client of a model do not load httpx."""
    search = (
        "import tempfile; from sleuth import Document, Engine; from sleuth.llm import OpenAIGenerator\n"
        "engine = Engine.open(tempfile.mkdtemp(), create=True); engine.add([Document('tide', id='1')])\n"
        "assert engine.retrieve('tide'); engine.close(); OpenAIGenerator('m')"
    )
    assert not loaded_by(search) & {"httpx", "httpcore"}


def test_public_names_exist_and_are_sorted() -> None:
    """Every exported name resolves, and the list is in order."""
    import sleuth

    assert sleuth.__all__ == sorted(sleuth.__all__)
    for name in sleuth.__all__:
        assert getattr(sleuth, name).__name__ == name


def test_init_modules_hold_names_only() -> None:
    """`__init__` files of packages define no functions or classes except for lazy loading."""
    for path in SRC.rglob("__init__.py"):
        tree = ast.parse(path.read_text("utf8"))
        defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert defined <= {"__getattr__", "__dir__"}, path


def test_only_remote_rooms_open_connections() -> None:
    """Only the packages that use services import sockets and HTTP clients."""
    network = {"socket", "urllib.request", "http.client", "httpx", "requests", "aiohttp", "boto3", "botocore"}
    allowed = {"remote", "web", "knowledge_base", "vector_store", "llm", "cluster", "surfaces", "testing"}
    for path in modules():
        if unit(path) in allowed:
            continue
        for statement in import_statements(path):
            names = {statement.module} if statement.module else set(statement.names)
            assert not names & network, path


def test_kernels_include_nothing_that_a_machine_may_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that C includes by its own path lies in this project, where `setup.py` looks for it."""
    root = SRC.parents[1]
    extensions: list[Any] = []
    monkeypatch.setattr("setuptools.setup", lambda ext_modules, **_: extensions.extend(list(ext_modules)))
    monkeypatch.setattr("Cython.Build.cythonize", lambda modules, **_: modules)
    runpy.run_path(str(root / "setup.py"))
    assert extensions
    include = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
    missing = []
    for kernel in extensions[1:]:  # the first is generated by Cython
        family = (root / kernel.sources[0]).parent
        folders = [root / folder for folder in kernel.include_dirs]
        for path in family.rglob("*.h"):
            missing += [
                f"{kernel.name}: {path.relative_to(SRC)} asks for {name}"
                for name in include.findall(path.read_text("utf8"))
                if not any((folder / name).is_file() for folder in (path.parent, *folders))
            ]
    assert missing == []


def test_a_source_distribution_can_be_built() -> None:
    """A source distribution contains every source of the kernels."""
    patterns = tomllib.loads((SRC.parents[1] / "pyproject.toml").read_text("utf8"))["tool"]["setuptools"][
        "package-data"
    ]["sleuth"]
    for kind in ("pyx", "pxd", "h", "pyi"):
        assert any(SRC.rglob(f"*.{kind}"))
        assert f"**/*.{kind}" in patterns


def imported_modules(path: Path) -> set[Path]:
    """Return the files of sleuth that a module imports: at its top, inside functions, and for type checking."""
    files = set()
    for module, names, _ in import_statements(path):
        if not module.startswith("sleuth."):
            continue
        place = SRC.joinpath(*module.split(".")[1:])
        candidates = [place.with_suffix(".py"), place / "__init__.py"]
        candidates += [place / f"{name}.py" for name in names]
        files |= {candidate for candidate in candidates if candidate.is_file()}
    return files


@pytest.mark.parametrize("folder", ["code", "files", "ingest"])
def test_no_import_cycles_between_modules(folder: str) -> None:
    """The modules of a folder have no import cycle, including imports inside functions and for type checking."""
    graph = {path: imported_modules(path) - {path} for path in (SRC / folder).rglob("*.py")}
    graph = {path: below for path, below in graph.items() if path.name != "__init__.py"}
    while free := [path for path, below in graph.items() if not below & graph.keys()]:
        for path in free:
            del graph[path]
    assert not graph, sorted(str(path.relative_to(SRC)) for path in graph)


TWICE = {
    "Retriever": "the protocol, and the class of the vector store that its specification names",
}
"""Class names that two modules may define, with the reason."""


def test_a_class_name_means_one_thing() -> None:
    """No two modules define classes with the same name, except for listed reasons."""
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module_name(path))
    assert {name: places for name, places in homes.items() if len(places) > 1 and name not in TWICE} == {}


LIBRARIES = {"shape", "parents", "argv", "args", "partition", "rpartition", "splitext", "split"}
"""Attributes and calls whose parts the language and its libraries name by number."""
FIELDS = range(-20, 21)


def is_field_by_number(node: ast.Subscript) -> bool:
    """Return whether a subscript reads a field of a row by its number: `row[9]`, `rows[i][1]`, `hits[0][6]`."""
    number = re.fullmatch(r"-?\d+", ast.unparse(node.slice))
    index = int(number[0]) if number else None
    if index not in FIELDS:
        return False
    whole = node.value
    if isinstance(whole, ast.Subscript) and not isinstance(whole.slice, (ast.Slice, ast.Constant)):
        return True
    called = whole.func if isinstance(whole, ast.Call) else whole
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return index not in {0, -1} and name not in LIBRARIES and not name.endswith("match")


def test_fields_have_names() -> None:
    """No field of a row is read by its number, except groups of a regular expression."""
    lines = {
        f"{path.relative_to(SRC)}:{node.lineno} {ast.unparse(node)}"
        for path in modules()
        if unit(path) != "testing"
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        if isinstance(node, ast.Subscript) and is_field_by_number(node)
    }
    assert lines == set()
