"""How often is a reference resolved to what it means? Truth: jedi for Python, compilers for other languages.

python -m benchmarks.code_resolution --work /tmp/code PACKAGE_FOLDER ... --typescript FOLDER ... --go FOLDER ...

Each package of Python is copied into a folder of its own, below which `import PACKAGE` means it, to jedi and to us.
Other folders are read as they are: TypeScript by `node` and the package `typescript`, which `npm install typescript`
puts into the working folder; Go by `go`, Java by `java`. Of the references (calls, instantiations, bases) that the
truth has inside the project, recall is the share that we resolve to the same place. Precision is the share of our
targets that agree, where the truth has one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Set
from pathlib import Path
from typing import NamedTuple

from sleuth.code import Snapshot
from sleuth.code.graph.resolve import resolver_of
from sleuth.code.graph.rules import CERTAIN
from sleuth.code.parsing.names import Reference
from sleuth.code.repository.sources import FolderSource
from sleuth.code.snapshots.indexing import index_source
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition
from sleuth.engine import open_code


def laid_out(package: Path, work: Path) -> Path:
    """Return a folder that holds a copy of the package and nothing else."""
    root = work / f"sources_{package.name}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(package, root / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def truth(script: object, line: int, column: int, root: Path) -> tuple[str, int] | str:
    """Where jedi sees the definition: (path, line) inside the project, "outside", or "unknown"."""
    try:
        definitions = script.goto(line, column, follow_imports=True, follow_builtin_imports=False)  # type: ignore[attr-defined]
        if any(name.type == "statement" and name.parent().type == "function" for name in definitions):
            # A local variable is no definition: what it holds is called.
            inferred = script.infer(line, column)  # type: ignore[attr-defined]
            definitions = [name for name in inferred if name.name != "NoneType"]  # which nothing calls
    except Exception:  # noqa: BLE001 - jedi fails in many ways on code that it does not follow
        return "unknown"
    for name in definitions:
        if name.module_path is None:
            return "outside"
        if name.type in ("param", "instance"):
            return "unknown"
        try:
            return str(Path(name.module_path).relative_to(root)), int(name.line or 1)
        except ValueError:
            return "outside"
    return "unknown"


Truth = Callable[[FileRow, Reference, int], tuple[str, int] | str]
"""Returns where a definition is, "outside" or "unknown", for a reference in a column of a file."""


def jedi_truth(root: Path) -> Truth:
    """Return what jedi says of a folder of Python."""
    import jedi

    project = jedi.Project(root)
    scripts: dict[str, object] = {}

    def of(file: FileRow, reference: Reference, column: int) -> tuple[str, int] | str:
        if file.path not in scripts:
            scripts[file.path] = jedi.Script(path=str(root / file.path), project=project)
        return truth(scripts[file.path], reference.line, column, root)

    return of


class Compiler(NamedTuple):
    """A language whose compiler says what names mean; `command` and the path of `program` run it."""

    language: str
    command: tuple[str, ...]
    program: str
    languages: frozenset[str]


COMPILERS = {
    "typescript": Compiler("TypeScript", ("node",), "typescript_truth.mjs", frozenset({"typescript", "tsx"})),
    "go": Compiler("Go", ("go", "run"), "go_truth.go", frozenset({"go"})),
    "java": Compiler("Java", ("java",), "JavaTruth.java", frozenset({"java"})),
}
"""Compilers by the option that takes their folders."""


def compiler_truth(root: Path, compiler: Compiler) -> Truth:
    """Return what a compiler says of a folder, where a line has one use of a name."""
    command = [*compiler.command, str(Path(__file__).with_name(compiler.program)), str(root)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    target_sets: dict[tuple[str, int, str], set[tuple[str, int] | str]] = defaultdict(set)
    for line in output.splitlines():
        path, number, name, target, at = json.loads(line)
        target_sets[path, number, name].add("outside" if target is None else (target, at))

    def of(file: FileRow, reference: Reference, _: int) -> tuple[str, int] | str:
        targets = target_sets.get((file.path, reference.line, reference.name), set())
        return next(iter(targets)) if len(targets) == 1 else "unknown"

    return of


def places(
    snapshot: Snapshot, languages: Set[str], sample: int, seed: int
) -> list[tuple[FileRow, Reference, int]]:
    """Sampled references with their column, those that stand alone on their line by name."""
    candidates = []
    for file in snapshot.files:
        if file.language not in languages:
            continue
        lines = snapshot.source(file).decode("utf-8").split("\n")
        for reference in snapshot.detail(file).references:
            if reference.role in ("call", "instantiation", "inheritance"):
                at = [
                    m.start()
                    for m in re.finditer(rf"\b{re.escape(reference.name)}\b", lines[reference.line - 1])
                ]
                if len(at) == 1:
                    candidates.append((file, reference, at[0]))
    random.Random(seed).shuffle(candidates)
    return candidates[:sample]


def implements(snapshot: Snapshot, definition: Definition, expected: tuple[str, int] | str) -> bool:
    """Return whether a method is that of a type for the method of a base, which compilers name.

    rustc names the method of a trait, mcs the method of a base that an `override` is of; both may be of other projects.
    """
    at = definition.symbol.parent
    symbols = snapshot.detail(definition.file).symbols
    if at < 0:
        return False
    is_override = definition.file.language == "csharp" and "override " in definition.symbol.signature
    if not is_override and symbols[at].kind != "impl":
        return False
    bases = levels(snapshot, Definition(definition.file, at, symbols[at]))
    if is_override and not isinstance(expected, tuple):
        return True
    if not isinstance(expected, tuple):
        return not any(base.symbol.kind == "trait" for base in bases) and " for " in symbols[at].signature
    path, line = expected
    return any(
        path == base.file.path and base.symbol.start <= line <= base.symbol.end
        for base in bases
        if is_override or base.symbol.kind == "trait"
    )


def levels(snapshot: Snapshot, owner: Definition, depth: int = 4) -> list[Definition]:
    """Return the bases of a class, and theirs."""
    bases = resolver_of(snapshot).bases(owner) if depth else []
    return [*bases, *(level for base in bases for level in levels(snapshot, base, depth - 1))]


class Outcome(NamedTuple):
    """What became of references.

    Attributes:
        places: how many the truth has "inside" of the project, "outside" and "unknown".
        resolved, right: by confidence, how many were resolved and how many of these rightly.
        inside: by confidence, how many of those inside were resolved rightly.
    """

    places: Counter[str]
    resolved: Counter[float]
    right: Counter[float]
    inside: Counter[float]

    def shares(self, least: float) -> tuple[float, float]:
        """Return precision and recall of what is resolved with a confidence."""
        resolved, right, inside = (
            sum(count for confidence, count in counts.items() if confidence >= least) for counts in self[1:]
        )
        return right / max(1, resolved), inside / max(1, self.places["inside"])


def judge(root: Path, work: Path, sample: int, truth_of: Truth, languages: Set[str]) -> Outcome:
    """Index a folder and compare its references with the truth."""
    outcome = Outcome(Counter(), Counter(), Counter(), Counter())
    shutil.rmtree(work, ignore_errors=True)
    with open_code(work, create=True) as storage:
        report = index_source(storage, FolderSource(root))  # also where it lies in a repository
        repository = storage.repository(report.repository)
        snapshot = Snapshot(storage, repository, storage.snapshot(repository))
        for file, reference, column in places(snapshot, languages, sample, 7):
            expected = truth_of(file, reference, column)
            ours = resolver_of(snapshot).resolve(file, reference)
            if expected == "unknown":
                outcome.places["unknown"] += 1
                continue
            inside = isinstance(expected, tuple)
            outcome.places["inside" if inside else "outside"] += 1
            if ours is None:
                continue
            symbol = ours.definition.symbol
            same = (
                inside
                and expected[0] == ours.definition.file.path
                and symbol.start <= int(expected[1]) <= symbol.end
            )
            same = same or implements(snapshot, ours.definition, expected)
            outcome.resolved[ours.confidence] += 1
            outcome.right[ours.confidence] += same
            outcome.inside[ours.confidence] += same and inside
    return outcome


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, help="packages of Python")
    for option, compiler in COMPILERS.items():
        parser.add_argument(
            f"--{option}", nargs="*", default=[], type=Path, help=f"folders of {compiler.language}"
        )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=500)
    options = parser.parse_args()
    work = options.work.resolve()
    print("| project | language | references | inside | precision | recall | certain: precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    right: dict[str, Counter[float]] = defaultdict(Counter)
    counts_by_language: dict[str, Counter[float]] = defaultdict(Counter)

    def add(root: Path, name: str, truth_of: Truth, language: str, languages: Set[str]) -> None:
        outcome = judge(root, work / f"resolve_{name}", options.sample, truth_of, languages)
        right[language] += outcome.right
        counts_by_language[language] += outcome.resolved
        shares = (*outcome.shares(0.0), *outcome.shares(CERTAIN))
        inside = outcome.places["inside"]
        total = inside + outcome.places["outside"]
        row = [name, language, str(total), str(inside), *(f"{share:.3f}" for share in shares)]
        print(f"| {' | '.join(row)} |", flush=True)

    for folder in options.folders:
        root = laid_out(folder, work)
        add(root, folder.name, jedi_truth(root), "Python", {"python"})
    for option, compiler in COMPILERS.items():
        for folder in getattr(options, option):
            root = folder.resolve()
            truth_of = compiler_truth(root, compiler)
            add(root, "_".join(root.parts[-3:]), truth_of, compiler.language, compiler.languages)
    print("\n| language | confidence | resolved | right |\n|---|---|---|---|")
    for language, counts in counts_by_language.items():
        for confidence in sorted(counts, reverse=True):
            share = right[language][confidence] / counts[confidence]
            print(f"| {language} | {confidence} | {counts[confidence]} | {share:.3f} |")


if __name__ == "__main__":
    main()
