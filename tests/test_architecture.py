"""Imports between packages, and the cost of importing."""

from __future__ import annotations

import ast
import re
import runpy
import tomllib
from collections.abc import Container, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands import python

SRC = Path(__file__).parents[1] / "src" / "sleuth"

BASE = {
    "arguments", "extensions", "vectors", "errors", "types", "results", "protocols", "lazy", "logs",
    "platform",
}  # fmt: skip
GROUND = BASE | {"filters", "settings", "text", "store", "files"}
FAMILIES = {"columns", "lexical", "dense", "code", "web", "knowledge_base", "vector_store", "llm"}
INTERNAL = {"store", "columns", "lexical", "dense"}
ENGINE = GROUND | FAMILIES | {"compose", "answer", "ingest", "hooks", "manager", "remote"}

ALLOWED: dict[str, set[str]] = {
    **{room: set() for room in ("errors", "logs", "platform", "__init__")},
    "lazy": {"errors"},
    "arguments": {"errors"},
    "vectors": {"errors", "protocols"},
    "extensions": {"logs"},
    "types": {"errors", "arguments"},
    "results": {"errors", "types"},
    "protocols": {"types", "filters"},
    "filters": {"errors", "arguments"},
    **dict.fromkeys(("settings", "remote", "files", "hooks"), BASE),
    "text": BASE | {"files"},
    "store": BASE | {"filters", "settings", "text"},
    **{family: GROUND | {"compose", "remote"} for family in FAMILIES},
    **dict.fromkeys(("compose", "answer"), BASE | {"filters", "text", "remote"}),
    "ingest": GROUND - {"filters"},
    "manager": BASE | {"hooks", "remote"},
    "engine": ENGINE,
    "cluster": GROUND | {"engine", "ingest", "lexical", "dense", "remote"},
    "surfaces": ENGINE - INTERNAL | {"engine", "cluster"},
    "testing": BASE | {"filters", "knowledge_base", "engine", "ingest"},
    "__main__": {"surfaces"},
}
ALLOWED["plugins"] = ALLOWED.keys() - {"__main__"}  # their public names alone: test_plugins.py
"""For each room, the rooms that it may import from."""


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
    """Yield all imports of a file, including those within functions and those of modules that a string names."""
    return tuple(_import_statements(ast.parse(path.read_text("utf8")), for_types=False))


def _import_statements(node: ast.AST, *, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield Import(child.module or "", tuple(alias.name for alias in child.names), for_types)
        elif isinstance(child, ast.Import):
            yield Import("", tuple(alias.name for alias in child.names), for_types)
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _import_statements(child, for_types=True)
        else:
            if isinstance(child, ast.Call):
                yield from _imports_by_name(child)
            yield from _import_statements(child, for_types=for_types)


def _imports_by_name(call: ast.Call) -> Iterator[Import]:
    """Yield what a call imports; where a part of the name is chosen at run time, all modules that begin alike."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "import_module":
        return
    for argument in call.args:
        parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        start = getattr(parts[0], "value", "")
        if isinstance(start, str) and start.startswith("sleuth."):
            others = (other for other in map(module_name, modules()) if other.startswith(start))
            yield Import("", tuple(others) if len(parts) > 1 else (start,), for_types=False)


def imports(path: Path) -> set[str]:
    """Return the packages of sleuth that a module imports, also for type checking."""
    names: set[str] = set()
    for statement in import_statements(path):
        inside = statement.module in ("", "sleuth")
        prefix = "sleuth." if statement.module == "sleuth" else ""
        names |= {prefix + name for name in statement.names} if inside else {statement.module}
    return {name.split(".")[1] for name in names if name.startswith("sleuth.")}


def test_each_room_has_a_rule() -> None:
    """Each package and each module directly in `sleuth` has a rule, and no rule is for one that is gone."""
    assert {unit(path) for path in modules()} == ALLOWED.keys()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SRC)))
def test_imports_follow_the_layers(path: Path) -> None:
    """A module imports only from the packages below its own."""
    room = unit(path)
    assert imports(path) - {room, "lazy"} <= ALLOWED[room]


def test_the_map_shows_each_folder() -> None:
    """ARCHITECTURE.md lists each package and each folder of a package that it shows in parts, and no others."""
    tree = (SRC.parents[1] / "ARCHITECTURE.md").read_text("utf8").partition("```\n")[2].partition("```")[0]
    entries: set[str] = set()
    room = ""
    for line in tree.partition("\ntests/")[0].splitlines()[1:]:
        name = line.split()[0].rstrip("/")
        if line.startswith("    "):
            entries.add(f"{room}/{name}")
        elif "/" in line.split()[0]:
            room = name
            entries.add(name)
    entries |= {"types"} if any("types/" in line.split() for line in tree.splitlines()) else set()
    packages = {str(path.parent.relative_to(SRC)) for path in SRC.glob("*/__init__.py")}
    folders = {str(path.parent.relative_to(SRC)) for path in SRC.glob("*/*/__init__.py")}
    folders = {folder for folder in folders if not folder.startswith("plugins/")}  # each has a README
    assert entries == packages - {"surfaces"} | folders


def test_no_import_cycles_between_rooms() -> None:
    """There is no import cycle between packages."""
    graph: dict[str, set[str]] = {}
    for path in modules():
        graph.setdefault(unit(path), set()).update(imports(path) - {unit(path)})
    TopologicalSorter(graph).prepare()  # a CycleError names the rooms


def module_name(path: Path) -> str:
    parts = ["sleuth", *path.relative_to(SRC).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def exported() -> dict[str, dict[str, str]]:
    """Return the module that defines each name, by package and name."""
    export = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
    return {
        module_name(path): {name: home for home, name in export.findall(path.read_text("utf8"))}
        for path in SRC.rglob("__init__.pyi")
    }


def modules_imported(
    path: Path, names: Container[str], homes: Mapping[str, Mapping[str, str]], *, for_types: bool = False
) -> set[str]:
    """Return the modules that a module imports, including within functions; a name of a package counts
    as the module that its stub names.

    Args:
        for_types: also those that only type checkers import.
    """
    modules: set[str] = set()
    for statement in import_statements(path):
        if statement.for_types and not for_types:
            continue
        if not statement.module:
            modules |= set(statement.names)
        elif statement.module.split(".")[0] == "sleuth":
            for name in statement.names:
                whole = f"{statement.module}.{name}"
                home = homes.get(statement.module, {}).get(name, statement.module)
                modules.add(whole if whole in names else home)
    return modules


PAIRS = {"dense", "lexical", "plugins"}
"""Rooms in which a leg opens its searcher, and the searcher has the type of its leg."""


def test_modules_form_an_order() -> None:
    """There is no import cycle between modules, including imports within functions, by name and for type checking."""
    paths = {module_name(path): path for path in modules()}
    homes = exported()
    graph = {
        name: modules_imported(path, paths, homes, for_types=unit(path) not in PAIRS) & paths.keys() - {name}
        for name, path in paths.items()
    }
    TopologicalSorter(graph).prepare()  # as above


def test_imports_by_name_are_seen(tmp_path: Path) -> None:
    """A module that is named by a string counts as imported; where a part is chosen later, all that begin alike."""
    path = tmp_path / "loading.py"
    path.write_text(
        "import_module('sleuth.cluster.engine')\nimportlib.import_module(f'sleuth.answer.{name}')\n"
    )
    whole, several = import_statements(path)
    assert whole.names == ("sleuth.cluster.engine",)
    assert "sleuth.answer.quotes" in several.names
    assert all(name.startswith("sleuth.answer.") for name in several.names)
    assert imports(path) == {"cluster", "answer"}


def test_exported_names_are_defined_where_stubs_say() -> None:
    """Each name of a package comes from one of its own modules."""
    for package, names in exported().items():
        room = ".".join(package.split(".")[:2])
        for name, home in names.items():
            assert home.startswith(room), f"{package}.{name}"
            assert hasattr(import_module(package), name), f"{package}.{name}"


FOLDERS: dict[str, dict[str, set[str]]] = {
    "store": {
        "disk": set(),
        "legs": {"disk", "record"},
        "record": {"disk", "legs", "passages"},
        "passages": {"disk", "legs", "record"},
        "catalogue": {"disk", "legs", "record", "passages"},
        "reading": {"legs", "record", "catalogue"},
        "writing": {"legs", "record", "passages", "catalogue"},
        "health": {"disk", "legs", "record", "passages", "catalogue", "writing"},
        "": {"disk", "legs", "record", "catalogue", "reading", "writing", "health"},
    },
    "code": {
        "parsing": set(), "repository": {"parsing"}, "snapshots": {"parsing", "repository"},
        "graph": {"parsing", "snapshots"}, "search": {"parsing", "repository", "snapshots", "graph"},
        "language": {"parsing", "snapshots", "graph"}, "": set(),
    },
    "ingest": {"extraction": set(), "loaders": {"extraction", ""}, "": {"extraction", "loaders"}},
    "cluster": {"storage": {"shards", ""}, "shards": {"storage", ""}, "": {"shards", "storage"}},
    "surfaces": {
        "": set(), "http": {""}, "page": {"http", ""}, "mcp": {"http", ""},
        "cli": {"http", "page", "mcp", ""},
    },
}  # fmt: skip
"""For each room with folders, the folders of the room that each may import from; "" is the room's own modules.

Where two folders may import from each other, `test_modules_form_an_order` still holds for their modules.
"""


def folder_of(module: str) -> str:
    """Return the folder of its room that a module is in; "" for the room's own modules."""
    parts = module.split(".")
    in_folder = len(parts) > 3 or SRC.joinpath(*parts[1:]).is_dir()
    return parts[2] if in_folder and len(parts) > 2 else ""


def test_each_folder_has_a_rule() -> None:
    """Each folder of a room has a rule, and no rule is for one that is gone."""
    folders: dict[str, set[str]] = {}
    for path in SRC.glob("*/*/__init__.py"):
        if path.parts[-3] != "plugins":  # see test_plugins.py
            folders.setdefault(path.parts[-3], {""}).add(path.parts[-2])
    assert {room: set(rules) for room, rules in FOLDERS.items()} == folders


@pytest.mark.parametrize("room", FOLDERS)
def test_folders_of_a_room_are_layers(room: str) -> None:
    """A folder imports only from the folders of its room below it, also inside functions and for types."""
    homes, names = exported(), {module_name(path) for path in modules()}
    for path in (SRC / room).rglob("*.py"):
        folder = folder_of(module_name(path))
        below = {
            folder_of(name)
            for name in modules_imported(path, names, homes, for_types=True)
            if name in names and name.startswith(f"sleuth.{room}.")
        }
        assert below <= FOLDERS[room][folder] | {folder}, path


MODULES_FOR_ALL = {"sleuth.testing", "sleuth.surfaces.cli", "sleuth.plugins.frameworks", "sleuth.plugins"}
"""Packages whose modules are imported by name: one for each server, suite, command or framework."""


def names_exported(module: str) -> set[str]:
    """Return the names of a module that one of the packages above it exports; `sleuth` itself repeats some."""
    above = list(accumulate(module.split(".")[:-1], "{}.{}".format))[1:]
    return {name for package in above for name, home in exported().get(package, {}).items() if home == module}


def module_paths(path: Path) -> list[str]:
    """Return the modules below a package from which a file outside of it imports names.

    Names that no package exports are not public; other rooms, tests and benchmarks import them from their modules.
    """
    own = f"sleuth.{unit(path)}." if path.is_relative_to(SRC) else "-"
    return [
        module
        for module, names, _ in import_statements(path)
        if module.startswith("sleuth.")
        and module.count(".") > 1
        and not SRC.joinpath(*module.split(".")[1:], "__init__.py").exists()
        and not module.startswith(own)
        and module.rpartition(".")[0] not in MODULES_FOR_ALL
        and not names_exported(module).isdisjoint(names)
    ]


@pytest.mark.parametrize("folder", ["src/sleuth", "tests", "benchmarks", "examples"])
def test_names_are_imported_from_packages(folder: str) -> None:
    """Files outside of a package import the names that it exports from the package itself."""
    root = SRC.parents[1]
    places = {str(path.relative_to(root)): module_paths(path) for path in (root / folder).rglob("*.py")}
    assert {path: names for path, names in places.items() if names} == {}


HEAVY = {"numpy", "pydantic", "typer", "rich", "sqlite3", "Stemmer", "yaml", "tokenizers"}


LATE = {"importlib.metadata", "sleuth.engine.legs", "sleuth.filters.tree", "sleuth.store.store"}
"""What only an open index needs."""
SEARCH = """
import tempfile; from sleuth import Document, Engine; from sleuth.llm import OpenAIGenerator
engine = Engine.open(tempfile.mkdtemp(), create=True); engine.add([Document('tide', id='1')])
assert {'pydantic', 'importlib.metadata'}.isdisjoint(sys.modules); assert engine.retrieve('tide')
engine.close(); OpenAIGenerator('m', api_key='')
"""


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [("import sleuth", HEAVY), ("from sleuth import Engine", HEAVY | LATE), (SEARCH, {"httpx", "httpcore"})],
    ids=["sleuth", "engine", "search"],
)
def test_nothing_is_loaded_before_it_is_needed(statement: str, heavy: set[str]) -> None:
    """Imports load no other package, adding loads no pydantic; a search and a client of a model load no httpx."""
    loading = python(f"import sys\n{statement}\nprint(*sys.modules)")
    assert loading.returncode == 0, loading.stderr
    assert heavy.isdisjoint(loading.stdout.split())


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
    allowed = {
        "remote", "web", "knowledge_base", "vector_store", "llm", "cluster", "surfaces", "testing", "plugins",
    }  # fmt: skip
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


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yield each node of the code of each module."""
    return ((path, node) for path in modules() for node in ast.walk(ast.parse(path.read_text("utf8"))))


TWICE = {
    "Retriever": "the protocol, and the class of the vector store that its specification names",
    "SleuthRetriever": "one for each framework, by whose names its users look for it",
    "SleuthVectorStore": "one for each framework, and the one that Sleuth's own retriever takes",
}
"""Class names that two modules may define, with the reason."""


def test_a_class_name_means_one_thing() -> None:
    """No two modules define classes with the same name, except for listed reasons."""
    homes: dict[str, list[str]] = {}
    for path, node in nodes():
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
        for path, node in nodes()
        if isinstance(node, ast.Subscript) and is_field_by_number(node) and unit(path) != "testing"
    }
    assert lines == set()


def test_functions_are_short() -> None:
    """No function has more than 100 lines, and one that has many tells one story."""
    lengths = {
        f"{path.relative_to(SRC)} {node.name}": node.end_lineno - node.lineno + 1
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }
    assert {name: length for name, length in lengths.items() if length > 100} == {}


def test_files_are_short() -> None:
    """No file of the package has more than 500 lines."""
    lengths = {
        str(path.relative_to(SRC)): path.read_text("utf8").count("\n")
        for pattern in ("*.py", "*.pyi", "*.pyx", "*.h")
        for path in SRC.rglob(pattern)
    }
    assert {name: length for name, length in lengths.items() if length > 500} == {}
