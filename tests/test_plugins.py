"""Two rings: the core works without the folder of plugins, and a plugin uses the public names of the core alone."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from sleuth.extensions import CORE, KINDS, own_extensions
from sleuth.plugins.table import TABLE
from tests.commands import python

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sleuth"
PLUGINS = SRC / "plugins"
FOLDERS = sorted(path.parent.name for path in PLUGINS.glob("*/__init__.py"))

FORMATS = {f"{plugin}{module}" for plugin in ("formats", "mail", "office") for module in ("", ".table")}
RANKING = {"table", "neural", "neural.reranking", "neural.folder", "neural.known"} | FORMATS
"""Modules that say which formats there are, and which installed model reranks; they load neither."""


@cache
def public_names(module: str) -> frozenset[str]:
    """Return the names that a plugin may import from a module of Sleuth.

    A package has those in its stub. Modules directly in `sleuth` and in `sleuth.testing`, and that of
    the command line's `app`, have those without an underscore.
    """
    path = SRC.joinpath(*module.split(".")[1:])
    stub = path / "__init__.pyi"
    if stub.exists():
        names = re.findall(r"import (\w+) as \1$", stub.read_text("utf8"), re.MULTILINE)
        return frozenset([*names, *(each.stem for each in SRC.glob("*.py") if path == SRC)])
    is_open = (
        module.count(".") == 1 or module.startswith("sleuth.testing.") or module == "sleuth.surfaces.cli.app"
    )
    return frozenset(name for name in vars(import_module(module)) if is_open and not name.startswith("_"))


def private_imports(path: Path) -> list[str]:
    """Return what a plugin's file imports from the core although it is not public."""
    own = f"sleuth.plugins.{path.relative_to(PLUGINS).parts[0]}"
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names if each.name.startswith("sleuth.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sleuth":
            module = str(node.module)
            if module == own or module.startswith(f"{own}."):
                continue
            names += [f"{module}.{each.name}" for each in node.names if each.name not in public_names(module)]
    return names


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_plugin_imports_public_names(folder: str) -> None:
    """A plugin imports from the core, and from other plugins, what their packages export to everybody."""
    files = {str(path.relative_to(SRC)): private_imports(path) for path in (PLUGINS / folder).rglob("*.py")}
    assert {file: names for file, names in files.items() if names} == {}


def test_the_core_names_no_plugin() -> None:
    """No file of the core has the name of a plugin's module in its code; `extensions` alone knows the folder."""
    names = re.compile(r"""^\s*(?:from|import) sleuth\.plugins|["']sleuth\.plugins\.""", re.MULTILINE)
    core = [path for path in SRC.rglob("*.py") if not path.is_relative_to(PLUGINS)]
    assert [str(path.relative_to(SRC)) for path in core if names.search(path.read_text("utf8"))] == [
        "extensions.py"
    ]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for table in (CORE, TABLE) for kind, row in table.items() for name in row]
)
def test_each_row_of_the_table_loads(kind: str, name: str) -> None:
    """Each row has a kind that is documented, and names something that can be imported."""
    assert kind in KINDS
    assert own_extensions(kind)[name].load() is not None


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_plugin_has_a_page_and_tests(folder: str) -> None:
    """Each plugin has a README of at most ten lines, and a folder of tests."""
    lines = (PLUGINS / folder / "README.md").read_text("utf8").splitlines()
    assert lines[0] == f"# {folder}"
    assert len([line for line in lines if line]) <= 10
    assert list((ROOT / "tests" / "plugins" / folder).glob("test_*.py"))


def test_a_search_imports_no_plugin(tmp_path: Path) -> None:
    """Indexing and searching at a shell import no plugin, except what says which model ranks."""
    (tmp_path / "notes.md").write_text("The tide comes in.")
    code = (
        "import sys; from sleuth.__main__ import main\n"
        "try:\n main()\nexcept SystemExit: pass\n"
        "import json\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('sleuth.plugins.')]))"
    )
    for arguments in (["index", "notes.md"], ["search", "tide"]):
        process = python(code, *arguments, cwd=tmp_path)
        modules = json.loads(process.stdout.splitlines()[-1])
        assert {name.removeprefix("sleuth.plugins.") for name in modules} <= RANKING, process.stdout


def lay_out_core(folder: Path) -> dict[str, str]:
    """Lay out the project without its plugins, and return an environment in which Python imports that."""
    ignored = shutil.ignore_patterns("__pycache__", "plugins")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored, symlinks=True)
    return {**os.environ, "PYTHONPATH": str(folder / "src")}


core_alone = pytest.fixture(
    lambda tmp_path_factory: lay_out_core(tmp_path_factory.mktemp("core")), scope="module"
)


def test_the_core_works_without_plugins(core_alone: dict[str, str], tmp_path: Path) -> None:
    """Without the folder the command line lists its commands, indexes and searches; what a plugin has is unknown."""
    (tmp_path / "notes.md").write_text("The tide comes in.")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sleuth", *arguments],
            cwd=tmp_path, env=core_alone, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run("--help").returncode == 0
    assert run("index", "notes.md").returncode == 0
    assert "The tide comes in." in run("search", "tide").stdout
    unknown = run("index", "notes.md", "--re-embed", "--embedder", "onnx:model")
    assert (unknown.returncode, "embedder must be" in unknown.stderr) == (2, True)


def test_the_core_serves_without_plugins(core_alone: dict[str, str], tmp_path: Path) -> None:
    """Without the folder the server has search, documents, code, answers, status and the page, and no other doors."""
    code = (
        "import json\n"
        "from sleuth import Engine\n"
        "from starlette.testclient import TestClient\n"
        "from sleuth.surfaces.cli.serve import extensions\n"
        "from sleuth.surfaces.http import ServerSettings, create_app\n"
        "with Engine.open('index', create=True) as engine:\n"
        "    app = create_app(engine, ServerSettings(), extensions=extensions())\n"
        "    with TestClient(app, 'http://localhost') as client:\n"
        "        codes = [client.post('/v1/search', json={'query': 'tide'}).status_code, client.get('/').status_code]\n"
        "        print(json.dumps([codes, list(client.get('/openapi.json').json()['paths'])]))"
    )
    process = python(code, cwd=tmp_path, **core_alone)
    codes, paths = json.loads(process.stdout)
    assert codes == [200, 200]
    assert {"/v1/search", "/v1/ask", "/v1/documents", "/v1/code/search", "/v1/status"} <= set(paths)
    assert not {"/v1/files", "/v1/embeddings", "/v2/rerank", "/retrieval", "/v1/web_search"} & set(paths)


@pytest.mark.slow
def test_the_suite_of_the_core_passes_without_plugins(tmp_path: Path) -> None:
    """All tests outside of `tests/plugins` pass without plugins; pages, layers and targets are of both."""
    environment = lay_out_core(tmp_path)
    names = ("plugins", "guides", "readme", "reference", "architecture", "makefile")
    of_both = [f"test_{name}.py" for name in names]
    ignored = shutil.ignore_patterns("__pycache__", "plugins", *of_both, "src", ".*", "build", "site")
    shutil.copytree(ROOT, tmp_path, ignore=ignored, symlinks=True, dirs_exist_ok=True)
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-x", "tests"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-4000:]
