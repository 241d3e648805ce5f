"""Change the source in small ways, one at a time, and see whether a test fails for each.

    python tools/mutants.py --sample 40               # of each package, chosen by --seed; goes on where it was stopped
    python tools/mutants.py --planted                 # the faults of tools/planted.toml
    python tools/mutants.py --sample 40 --again       # those that survived once more, with five times as many tests

Works in a copy of the tree, `build/mutants`. The tests of the packages run once under coverage, which tells who runs
which line; a mutant is killed by one of the tests of its line that fails or takes too long, the fastest first. Prints a
table and every survivor. Which mutants a seed chooses depends on their text and not on their places, so that most of a
sample, and what is known of it, stays when the source changes.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import signal
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import accumulate, takewhile, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from coverage import Coverage

HOME = Path(__file__).parents[1]
COPY = HOME / "build" / "mutants"
MAPS = HOME / "build" / "mutants-maps"
PACKAGES = ("store", "engine", "compose", "remote", "ingest", "hooks", "lexical", "dense", "filters")
FOLDERS = (*PACKAGES, "web", "llm", "faults")
"""Of tests whose lines are known: those of the packages and of what rests on `remote` and `store`."""
MOST_SECONDS = 1800.0
"""For a run of tests, which the whole suite takes half of on a busy machine."""
CHOSEN_SECONDS = 20.0
"""Of tests for a mutant: hundreds run the lines that every search runs."""
SWAPPED: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "//",
    ast.FloorDiv: "*", ast.And: "or", ast.Or: "and",
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of a file of the source.

    Attributes:
        key: which it is, also after a change of lines above it.
        name: of a planted one; else where it is.
        file: below the root of the repository.
        old, new: texts; `old` comes once, or begins at `start` where that is 0 or more.
        tests: of which one should fail, in the order in which they are run.
        seconds: of CPU that its tests may take: a loop without an end is known by them, on a busy machine too.
    """

    key: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    start: int = -1
    seconds: float = MOST_SECONDS

    def apply(self, text: str) -> str:
        """Return the text of the file with the change."""
        start = text.index(self.old) if self.start < 0 else self.start
        if not text.startswith(self.old, start) or (self.start < 0 and text.count(self.old) != 1):
            raise ValueError(f"{self.name}: {self.file} must hold {self.old!r} once")
        return text[:start] + self.new + text[start + len(self.old) :]


def mutants_of(file: Path, package: str) -> Iterator[Mutant]:
    """Yield every small change of a file."""
    text = file.read_text("utf-8")
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    name = file.relative_to(HOME).as_posix()
    times: Counter[str] = Counter()

    def place(line: int, column: int) -> int:
        start = begins[line - 1]
        return start + len(text[start : begins[line]].encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)

    tests = HOME / "tests" / package
    own = [path.relative_to(HOME).as_posix() for path in sorted(tests.rglob(f"test_*{file.stem[:6]}*.py"))]
    folder = HOME / "tests" / file.parent.relative_to(HOME / "src" / "sleuth")
    own = own or ([folder.relative_to(HOME).as_posix()] if folder.is_dir() else [])
    order = (*([" ".join(own)] if own else []), f"tests/{package}", "tests/engine")

    def change(start: int, end: int, new: str) -> Mutant:
        line = text.count("\n", 0, start)
        key = f"{name} {text[begins[line] : begins[line + 1]].strip()} {text[start:end]} -> {new}"
        times[key] += 1
        return Mutant(f"{key} {times[key]}", f"{name}:{line + 1}", name, text[start:end], new, order, start)

    def operator(first: ast.expr, second: ast.expr, kind: ast.AST) -> Iterator[Mutant]:
        """Yield the change of the operator between two expressions."""
        begin, end = span(first)[1], span(second)[0]
        between = text[begin:end]
        if "#" not in between and type(kind) in SWAPPED:
            brackets = between.count(")"), between.count("(")
            yield change(begin, end, ")" * brackets[0] + f" {SWAPPED[type(kind)]} " + "(" * brackets[1])

    for node in walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for one, other, kind in zip(operands, operands[1:], node.ops, strict=False):
                yield from operator(one, other, kind)
        elif isinstance(node, ast.BinOp):
            yield from operator(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            yield from operator(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield change(
                span(node)[0], span(node.operand)[0], text[span(node)[0] + 3 : span(node.operand)[0]]
            )
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield change(*span(node.test), f"(not ({text[slice(*span(node.test))]}))")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield change(*span(node), str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield change(*span(node), repr(node.value + 1))
        elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
            yield change(*span(node.value), "None")
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and not ast.unparse(node.value).startswith("logger.")
        ):
            yield change(*span(node), "pass")


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that do something: no annotations, decorators, messages of errors or imports for types."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from walk(child)


def sampled(number: int, seed: int, packages: list[str]) -> list[Mutant]:
    """Return so many mutants of each package, of all packages in turn; fewer are the first of more."""
    mutants: list[list[Mutant]] = []
    for package in packages:
        files = sorted((HOME / "src/sleuth" / package).rglob("*.py"))
        every = [
            mutant for file in files if file.name != "__init__.py" for mutant in mutants_of(file, package)
        ]
        every.sort(key=lambda mutant: sha256(f"{seed} {mutant.key}".encode()).digest())
        mutants.append(every[:number])
    return [mutant for turn in zip_longest(*mutants) for mutant in turn if mutant]


def planted() -> list[Mutant]:
    """Return the faults that were planted by hand."""
    with (HOME / "tools/planted.toml").open("rb") as file:
        faults = tomllib.load(file)["fault"]
    return [
        Mutant(
            f"{f['name']} {f['old']} -> {f['new']}",
            f["name"],
            f["file"],
            f["old"],
            f["new"],
            (*f["tests"], "tests/engine"),
        )
        for f in faults
    ]


def outcome(mutant: Mutant) -> str:
    """Return "killed", "too slow" or "survived"."""
    file = COPY / mutant.file
    text = file.read_text("utf-8")
    file.write_text(mutant.apply(text), "utf-8")
    try:
        if file.suffix != ".py":
            compile_kernels()
        outcomes = (run(tests, mutant.seconds) for tests in mutant.tests)
        return next((came for came in outcomes if came != "survived"), "survived")
    finally:
        file.write_text(text, "utf-8")
        if file.suffix != ".py":
            compile_kernels()


def compile_kernels() -> None:
    """Compile in the copy what changed, which takes a second where nothing did."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=COPY, check=True, capture_output=True)


def run(tests: str, seconds: float) -> str:
    """Run tests in the copy, each process for so many seconds of CPU at most, and return the outcome of the mutant."""
    workers = "0" if ".py" in tests else "2"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        workers,
        "-p",
        "no:cacheprovider",
        *tests.split(),
    ]
    try:
        result = subprocess.run(
            command,
            cwd=COPY,
            env=environment(),
            capture_output=True,
            check=False,
            timeout=min(MOST_SECONDS, 6 * seconds),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds) + 5)),
        )
    except subprocess.TimeoutExpired:
        return "too slow"
    if result.returncode == -signal.SIGXCPU:
        return "too slow"
    if result.returncode > 1 and b"error" not in result.stdout.lower():
        raise RuntimeError(result.stdout.decode()[-2000:])
    return "killed" if result.returncode else "survived"


def chosen(mutant: Mutant, most_seconds: float) -> Mutant:
    """Return a mutant with the fastest of the tests that run its line, which take so many seconds.

    Lines outside of functions run once, when a file is imported: there any test of the file may be the one that fails.
    Lines that no test runs may run in a process that it starts: there a test of the name or the package may be the one.
    A test of the file's name counts as a quarter, one of another package four times: they check more and less of it.
    """
    own, package = tuple(mutant.tests[0].split()), f"tests/{mutant.file.split('/')[2]}/"
    lines = tests_by_line()["lines"].get(mutant.file, {})
    seconds: dict[str, float] = tests_by_line()["seconds"]
    first = int(mutant.name.rpartition(":")[2])
    bodies = (
        range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(ast.parse((HOME / mutant.file).read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    numbers: Iterable[int] = range(first, first + mutant.old.count("\n") + 1)
    if not any(first in body for body in bodies):
        numbers = map(int, lines)
    names = {name for line in numbers for name in lines.get(str(line), ())} or {
        name for name in seconds if name.startswith(own)
    }

    def cost(name: str) -> float:
        return seconds[name] * (0.25 if name.startswith(own) else 1 if name.startswith(package) else 4)

    fastest = sorted(names & seconds.keys(), key=cost)
    ends = list(takewhile(most_seconds.__gt__, accumulate(map(seconds.__getitem__, fastest))))
    if not fastest:
        return mutant
    tests = " ".join(fastest[: max(1, len(ends))])
    return mutant._replace(tests=(tests,), seconds=10 + 2 * (ends or [seconds[fastest[0]]])[-1])


@cache
def tests_by_line() -> dict[str, Any]:
    """Return the seconds of passing tests by name, and their names by file and line that they run; measured once."""
    seconds: dict[str, float] = {}
    lines: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for folder in FOLDERS:
        file = MAPS / f"{folder}.json"
        if not file.exists():
            command = [sys.executable, str(Path("tools") / Path(__file__).name), "--map", folder]
            subprocess.run(command, cwd=COPY, env=environment(), check=True)
            MAPS.mkdir(exist_ok=True)
            (COPY / "build" / MAPS.name / file.name).replace(file)
        map_of_tests = json.loads(file.read_text("utf-8"))
        seconds |= map_of_tests["seconds"]
        for source, names_by_line in map_of_tests["lines"].items():
            for line, names in names_by_line.items():
                lines[source][line] += names
    return {"seconds": seconds, "lines": lines}


class Observer:
    """A plugin of pytest that tells coverage which test runs.

    Attributes:
        seconds: by the name of a test with all its parameters.
        failing: names.
    """

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failing: set[str] = set()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin with a test, whose fixtures are run from here on."""
        self._coverage.switch_context(item.nodeid.partition("[")[0])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test."""
        name = report.nodeid.partition("[")[0]
        self.seconds[name] += report.duration
        if report.failed:
            self.failing.add(name)


def observe(folder: str) -> None:
    """Run the tests of a folder in this process, and write its part of what `tests_by_line` returns."""
    coverage = Coverage(data_file=None, source=["src/sleuth"])
    observer = Observer(coverage)
    coverage.start()
    pytest.main(["-n", "0", "-p", "no:cacheprovider", f"tests/{folder}"], [observer])
    coverage.stop()
    data = coverage.get_data()
    lines = {
        Path(file).relative_to(HOME).as_posix(): {
            line: [name for name in names if name] for line, names in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    seconds = {name: spent for name, spent in observer.seconds.items() if name not in observer.failing}
    MAPS.mkdir(parents=True, exist_ok=True)
    (MAPS / f"{folder}.json").write_text(json.dumps({"seconds": seconds, "lines": lines}), "utf-8")


def environment() -> dict[str, str]:
    """Return the environment of tests of the copy."""
    path = os.pathsep.join([str(COPY / "src"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def copy_tree() -> None:
    """Copy what git tracks, and the compiled kernels."""
    COPY.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=HOME, check=True, capture_output=True).stdout
    for kernel in (HOME / "src").rglob("*.so"):
        names += f"{kernel.relative_to(HOME)}\0".encode()
    tar = subprocess.run(
        ["tar", "-c", "--null", "-T", "-"], cwd=HOME, input=names, check=True, capture_output=True
    )
    subprocess.run(["tar", "-x"], cwd=COPY, input=tar.stdout, check=True)


class Record:
    """Outcomes of mutants, kept in a file, so that a run goes on where it was stopped."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        self._known: dict[str, str] = dict(map(json.loads, lines))

    def get(self, mutant: Mutant) -> str:
        """Return the outcome of a mutant; "" where it was not tried."""
        return self._known.get(mutant.key, "")

    def put(self, mutant: Mutant, came: str) -> None:
        """Keep the outcome of a mutant."""
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps([mutant.key, came]) + "\n")


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=0, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=PACKAGES)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--map", choices=FOLDERS, help="only tell which test of a folder runs which line")
    parser.add_argument(
        "--again", action="store_true", help="survivors once more, with five times as many tests"
    )
    arguments = parser.parse_args()
    if arguments.map:
        observe(arguments.map)
        return
    mutants = (
        planted() if arguments.planted else sampled(arguments.sample, arguments.seed, arguments.packages)
    )
    copy_tree()
    record = Record(
        HOME / "build" / ("planted.jsonl" if arguments.planted else f"mutants-{arguments.seed}.jsonl")
    )
    counts: dict[str, Counter[str]] = {}
    for mutant in mutants:
        came = record.get(mutant)
        if not came or (arguments.again and came == "survived"):
            most_seconds = CHOSEN_SECONDS * (5 if came else 1)
            came = outcome(mutant if arguments.planted else chosen(mutant, most_seconds))
            record.put(mutant, came)
        counts.setdefault(mutant.file.split("/")[2], Counter())[came] += 1
        if came != "killed":
            change = f"{mutant.old.strip()[:90]!r} -> {mutant.new.strip()[:90]!r}"
            print(f"{came}: {mutant.name}: {change}", flush=True)
    print("\n| package | mutants | killed | too slow | survived |\n|---|---|---|---|---|")
    for package, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        cells = (count[came] for came in ("killed", "too slow", "survived"))
        print(f"| {package} | {count.total()} | {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
