"""How often is a reference resolved to what it means? Truth: jedi, on real projects in Python.

python -m benchmarks.code_resolution --work /tmp/code PACKAGE_FOLDER ...

Each package is copied into a folder of its own, below which `import PACKAGE` means it, to jedi and to us. Of the
references (calls, instantiations, bases) that jedi finds inside the project, recall is the share that we resolve to the
same place; precision is the share of ours that agree with jedi, where jedi says anything at all.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
from collections import Counter
from pathlib import Path

from sleuth.code import Snapshot
from sleuth.code.graph import resolver_of
from sleuth.code.parsing import Reference
from sleuth.code.repository import FolderSource
from sleuth.code.snapshots import FileRow, index_source
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
        found = script.goto(line, column, follow_imports=True, follow_builtin_imports=False)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - jedi fails in many ways on code that it does not follow
        return "unknown"
    for name in found:
        if name.module_path is None:
            return "outside"
        if name.type in ("param", "instance"):
            return "unknown"
        try:
            return str(Path(name.module_path).relative_to(root)), int(name.line or 1)
        except ValueError:
            return "outside"
    return "unknown"


def places(snapshot: Snapshot, sample: int, seed: int) -> list[tuple[FileRow, Reference, int]]:
    """Sampled references with their column, those that stand alone on their line by name."""
    found = []
    for file in snapshot.files:
        if file.language != "python":
            continue
        lines = snapshot.source(file).decode("utf-8").split("\n")
        for reference in snapshot.detail(file).references:
            if reference.role in ("call", "instantiation", "inheritance"):
                at = [
                    m.start()
                    for m in re.finditer(rf"\b{re.escape(reference.name)}\b", lines[reference.line - 1])
                ]
                if len(at) == 1:
                    found.append((file, reference, at[0]))
    random.Random(seed).shuffle(found)
    return found[:sample]


def judge(root: Path, work: Path, sample: int) -> tuple[Counter[str], Counter[float], Counter[float]]:
    """Counts of outcomes; and by confidence, how many were right and how many there were."""
    import jedi

    outcome: Counter[str] = Counter()
    right: Counter[float] = Counter()
    made: Counter[float] = Counter()
    project = jedi.Project(root)
    shutil.rmtree(work, ignore_errors=True)
    with open_code(work, create=True) as storage:
        report = index_source(storage, FolderSource(root))  # also where it lies in a repository
        repository = storage.repository(report.repository)
        snapshot = Snapshot(storage, repository, storage.snapshot(repository))
        scripts: dict[str, object] = {}
        for file, reference, column in places(snapshot, sample, 7):
            if file.path not in scripts:
                scripts[file.path] = jedi.Script(path=str(root / file.path), project=project)
            expected = truth(scripts[file.path], reference.line, column, root)
            ours = resolver_of(snapshot).resolve(file, reference)
            if expected == "unknown":
                outcome["unknown to jedi"] += 1
                continue
            inside = isinstance(expected, tuple)
            outcome["inside" if inside else "outside"] += 1
            if ours is None:
                continue
            symbol = ours.definition.symbol
            same = (
                inside
                and expected[0] == ours.definition.file.path
                and symbol.start <= int(expected[1]) <= symbol.end
            )
            outcome["resolved"] += 1
            outcome["right"] += same
            made[ours.confidence] += 1
            right[ours.confidence] += same
    return outcome, right, made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=500)
    options = parser.parse_args()
    print("| project | references | inside | precision | recall |\n|---|---|---|---|---|")
    all_right: Counter[float] = Counter()
    all_made: Counter[float] = Counter()
    for folder in options.folders:
        outcome, right, made = judge(
            laid_out(folder, options.work.resolve()),
            options.work / f"resolve_{folder.name}",
            options.sample,
        )
        all_right += right
        all_made += made
        precision = outcome["right"] / max(1, outcome["resolved"])
        recall = outcome["right"] / max(1, outcome["inside"])
        known = outcome["inside"] + outcome["outside"]
        print(
            f"| {folder.name} | {known} | {outcome['inside']} | {precision:.3f} | {recall:.3f} |", flush=True
        )
    print("\n| confidence | resolved | right |\n|---|---|---|")
    for confidence in sorted(all_made, reverse=True):
        print(
            f"| {confidence} | {all_made[confidence]} | {all_right[confidence] / all_made[confidence]:.3f} |"
        )


if __name__ == "__main__":
    main()
