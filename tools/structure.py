"""Count the structure of the source: lines, import loops, names of legs, options of doors, calls of requests.

    python tools/structure.py                 # this checkout
    python tools/structure.py OTHER_CHECKOUT  # another one; run it with that checkout's Python
    python tools/structure.py --since COMMIT  # only by how many lines each folder has grown since a commit

The table is in docs/measured/structure.md.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".h"}
LEG_HOMES = {"lexical": ("lexical",), "dense": ("dense",)}
TOPICS = ("tokens", "segments", "filters", "queries", "snapshots", "passages")


def lines_by_folder(package: Path) -> Counter[str]:
    """Return the lines of source of each folder directly under the package; "." for its own modules."""
    lines: Counter[str] = Counter()
    for path in package.rglob("*"):
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
            parts = path.relative_to(package).parts
            lines[parts[0] if len(parts) > 1 else "."] += len(path.read_text("utf8").splitlines())
    return lines


def lines_added(checkout: Path, commit: str, *options: str) -> Counter[str]:
    """Return by how many lines each folder has grown since a commit, in the files that options of `git diff` choose."""
    places = [f":(glob)src/sleuth/**/*{suffix}" for suffix in sorted(SUFFIXES)]
    command = ["git", "-C", str(checkout), "diff", "--numstat", *options, commit, "--", *places]
    lines: Counter[str] = Counter()
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        added, deleted, path = line.split("\t")
        parts = path.split("/")[2:]
        lines[parts[0] if len(parts) > 1 else "."] += int(added) - int(deleted)
    return lines


def print_growth(checkout: Path, commit: str) -> None:
    """Print by how many lines each folder has grown since a commit: by files that are new, and by the others."""
    new = lines_added(checkout, commit, "-M", "--diff-filter=A")
    others = lines_added(checkout, commit, "--no-renames")
    others.subtract(new)
    print("| folder | lines of new files | others |\n|---|---|---|")
    for folder in sorted(others):
        print(f"| {folder} | {new[folder]:,} | {others[folder]:+,} |")
    print(f"| all | {sum(new.values()):,} | {sum(others.values()):+,} |")


def module_name(path: Path, package: Path) -> str:
    parts = ("sleuth", *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, also by `import_module`; not those for types only."""
    for_types: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for_types.update(child for statement in node.body for child in ast.walk(statement))
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module"
        ):
            yield from (
                arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            )


def import_graph(package: Path) -> dict[str, set[str]]:
    """Map each module to the modules that it imports. A lazy package counts as what its stub names."""
    paths = {module_name(path, package): path for path in package.rglob("*.py")}
    stubs = {module_name(path, package): path for path in package.rglob("__init__.pyi")}
    homes: dict[str, str] = {}
    for name, stub in stubs.items():
        for node in ast.parse(stub.read_text("utf8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                homes.update({f"{name}.{alias.asname or alias.name}": node.module for alias in node.names})
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        modules = {homes.get(target, target) for target in imports_of(path)}
        graph[name] = {
            module for module in modules if module in paths and module not in stubs and module != name
        }
    return graph


def loops(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            place = stack.index(node)
            component, stack[place:] = stack[place:], []
            if len(component) > 1:
                components.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return components


def leg_names(package: Path) -> dict[str, int]:
    """Count the lines of each file outside the folder of a leg that hold its name as a string."""
    counts: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        for line in path.read_text("utf8").splitlines():
            code = line.split("#")[0]
            if any(
                re.search(rf"""["']{leg}["']""", code) and relative.parts[0] not in homes
                for leg, homes in LEG_HOMES.items()
            ):
                counts[str(relative)] += 1
    return dict(counts)


def options_of_doors() -> dict[str, set[str]]:
    """Return the options of a search at each door, besides the query and the number of hits."""
    import inspect

    from sleuth import Engine
    from sleuth.engine import SearchRequest
    from sleuth.surfaces.cli.search import search
    from sleuth.surfaces.http.search import SearchBody
    from sleuth.surfaces.mcp.tools import TOOLS
    from sleuth.surfaces.page.state import OPTIONS

    fields = set(SearchRequest.properties()) - {"query", "k"}
    schema = next(tool for tool in TOOLS if tool.name == "search")
    return {
        "Python": fields & set(inspect.signature(Engine.retrieve).parameters),
        "command line": fields & set(inspect.signature(search).parameters),
        "HTTP": fields & set(SearchBody.properties()),
        "MCP": fields & set(schema.properties),
        "page": {*OPTIONS, "filter", "sources", "explain"},
    }


def wait_for_merges() -> None:
    """Wait for the threads that merge segments after a commit."""
    for thread in threading.enumerate():
        if thread.name == "sleuth-merge":
            thread.join()


class Journey:
    """Counts the functions of the package that a call enters, how often the folder changes on entry, and their files.

    What a call leaves to threads of the package, such as merges, is waited for and counted too.
    """

    def __init__(self, package: Path) -> None:
        self.prefix = f"{package}/"
        self.calls = 0
        self.changes = 0
        self.files: set[str] = set()

    def _room(self, frame: FrameType | None) -> str | None:
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self.prefix):
                parts = name.removeprefix(self.prefix).split("/")
                return "/".join(parts[:-1]) or "."
            frame = frame.f_back
        return None

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self.prefix):
            self.calls += 1
            self.files.add(frame.f_code.co_filename)
            caller = self._room(frame.f_back)
            self.changes += caller is not None and caller != self._room(frame)

    def run(self, request: Callable[[], object]) -> str:
        wait_for_merges()
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            request()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        wait_for_merges()
        return f"{self.calls:,} calls, {self.changes:,} changes of folder, {len(self.files)} files"


def search_on_loop(engine: Any) -> Callable[[], object]:
    """Return what sends POST /v1/search to a server, in an event loop; its threads run already at the second call."""
    import asyncio

    from sleuth.surfaces.http import ServerSettings, create_app

    app, loop, numbers = (
        create_app(engine, ServerSettings(threads=1)),
        asyncio.new_event_loop(),
        itertools.count(),
    )
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]

    async def ask() -> None:
        body = f'{{"query": "which segments have the tokens of queries {next(numbers)}"}}'.encode()
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/search",
            "headers": headers,
            "query_string": b"",
        }
        messages: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            messages.append(message)

        await app(scope, receive, send)
        assert messages[0]["status"] == 200, messages

    return lambda: loop.run_until_complete(ask())


def new_file_indexed(engine: Any, folder: Path) -> Callable[[], object]:
    """Return what indexes a new file, after one like it was indexed: what is made once is there then."""
    first, second = folder / "first.md", folder / "second.md"
    for path in (first, second):
        path.write_text("# New\n\nA new file about tokens.\n")
    engine.index([first])
    return lambda: engine.index([second])


def journeys(package: Path) -> Iterator[tuple[str, str]]:
    """Yield the calls of requests to small indexes of 600 passages, each after the same request was made once."""
    from sleuth import Document, Engine
    from sleuth.cluster import ShardedEngine

    documents = [
        Document(
            f"Note {i}: {TOPICS[i % 6]} in part {i % 11} of the {TOPICS[i % 5]} change with {TOPICS[i % 4]}.",
            {"source": f"notes/{i}.md", "year": 2000 + i % 20},
        )
        for i in range(600)
    ]
    query = "which segments have the tokens of queries"
    with tempfile.TemporaryDirectory() as folder:
        with Engine.open(f"{folder}/one", create=True) as engine:
            engine.add(documents)
            requests: dict[str, Callable[[], object]] = {
                "hybrid query": lambda: engine.retrieve(query),
                "query by words": lambda: engine.retrieve(query, legs=["lexical"]),
                "execute_search": lambda: engine.manager.execute_search(query),
                "POST /v1/search, on the event loop": search_on_loop(engine),
            }
            for name, request in requests.items():
                request()
                request()
                yield name, Journey(package).run(request)
            yield "one new file indexed", Journey(package).run(new_file_indexed(engine, Path(folder)))
        with ShardedEngine.open(f"{folder}/shards", create=True, shards=4) as sharded:
            sharded.add(documents)
            sharded.retrieve(query)
            sharded.retrieve(query)
            yield "query over 4 shards", Journey(package).run(lambda: sharded.retrieve(query))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", default=Path(__file__).parents[1], type=Path)
    parser.add_argument("--since", metavar="COMMIT")
    arguments = parser.parse_args()
    if arguments.since:
        print_growth(arguments.checkout, arguments.since)
        return
    package = (arguments.checkout / "src" / "sleuth").resolve()
    sys.path.insert(0, str(package.parent))

    lines = lines_by_folder(package)
    print("| what | count |\n|---|---|")
    print(f"| lines of source | {sum(lines.values()):,} |")
    for folder, count in sorted(lines.items()):
        print(f"| lines in {folder} | {count:,} |")
    components = loops(import_graph(package))
    print(f"| modules in loops of imports | {sum(map(len, components))} in {len(components)} |")
    for component in components:
        print(f"| a loop | {' '.join(component)} |")
    names = leg_names(package)
    print(f"| lines that name a leg outside its folder | {sum(names.values())} in {len(names)} files |")
    for file, lines_of_file in names.items():
        print(f"| lines in {file} | {lines_of_file} |")
    for door, options in options_of_doors().items():
        print(f"| options of a search: {door} | {len(options)} |")
    for name, calls in journeys(package):
        print(f"| {name} | {calls} |")


if __name__ == "__main__":
    main()
