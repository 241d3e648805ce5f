"""R7: damage to any file of either index: no signal, no error that is not Sleuth's, no wrong text, nothing undetected.

`make damage` tries 1,000 and prints a table.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.code import index_path
from sleuth.engine import open_code
from sleuth.store.catalogue import manifest
from tests.dense.strategies import HashEmbedder
from tests.faults.proof import ROOT
from tests.faults.trial import documents_of

NAMES = ("trials", "effect", "silent", "matters", "found", "signals", "untyped", "wrong")
"""`silent`: answers of an index that was just opened differ, and nothing says so."""
TRIALS = int(os.environ.get("SLEUTH_DAMAGES", "8"))


def make_documents(path: Path, seed: int) -> None:
    """An index of documents with metadata and vectors, half of its segments in files; and its earlier version."""
    documents = documents_of(seed)
    with Engine.open(path / "index", create=True, embedder=HashEmbedder()) as engine:
        engine.add(documents[:100])
    shutil.copytree(path / "index", path / "earlier")
    with Engine.open(path / "index", embedder=HashEmbedder()) as engine:
        engine.add(documents[100:])
        engine.delete(["d3", "d120"])


def make_logged(path: Path, seed: int) -> None:
    """The same index of documents, whose last commits are in the log of its record; and its earlier version."""
    make_documents(path / "made", seed)
    shutil.copytree(path / "made" / "index", path / "open")
    with Engine.open(path / "open", embedder=HashEmbedder()) as engine:
        for n in range(3):
            engine.add([Document(f"w{n} w{n + 1} a late word", {"year": 1950 + n}, id=f"late{n}")])
            engine.store.wait()
            if n == 1:
                shutil.copytree(path / "open", path / "earlier")
        shutil.copytree(path / "open", path / "index")
    for copy in ("earlier", "index"):
        (path / copy / "record.sqlite-shm").unlink()
        assert (path / copy / "record.sqlite-wal").stat().st_size


def write_code(root: Path, n: int, count: int, seed: int = 0) -> None:
    """Write so many files of code in their version n."""
    for m in range(count):
        text = f"def refill_{m}_{n}(bucket):\n    return bucket + {m + seed}\n\n\nclass Cart{m}:\n    size = {n}\n"
        (root / f"m{m}.py").write_text(text)


def make_code(path: Path, seed: int) -> None:
    """An index of code of two snapshots, and its version before the second."""
    root = path / "root"
    root.mkdir(parents=True)
    for n in range(2):
        write_code(root, n, 40, seed)
        with open_code(path / "index", create=True) as storage:
            index_path(storage, root)
        if n == 0:
            shutil.copytree(path / "index", path / "earlier")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound indexes, other ones, and earlier versions."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "INLINE_BYTES", 0)
        patch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
        for name, make in (("documents", make_documents), ("logged", make_logged), ("code", make_code)):
            make(home / name, 0)
            make(home / "other" / name, 1)
            shutil.copytree(home / "other" / name / "index", home / name / "foreign")
    return home


def run(home: Path) -> list[dict[str, Any]]:
    """Return the outcomes of all trials; one that ended its process has the signal."""
    outcomes: list[dict[str, Any]] = []
    first = 0
    while first < TRIALS:
        command = [sys.executable, "-m", "tests.faults.trial", str(home), str(first), str(TRIALS)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        outcomes += [line for line in lines if "begun" not in line]
        first = max((line.get("begun", line.get("number")) for line in lines), default=TRIALS) + 1
        if result.returncode < 0:
            outcomes.append({"number": first - 1, "signal": result.returncode})
        else:
            assert result.returncode == 0, result.stderr
    return outcomes


def table(outcomes: list[dict[str, Any]]) -> str:
    """Return the outcomes of the trials by file and damage."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for outcome in outcomes:
        row = rows.setdefault((outcome.get("file", "?"), outcome.get("damage", "?")), Counter())
        row.update(trials=1, signals="signal" in outcome)
        row.update({name: bool(outcome.get(name)) for name in NAMES[1:] if name != "signals"})
    lines = [f"{'file':20}{'damage':10}" + "".join(f"{name:>9}" for name in NAMES)]
    lines += [
        f"{f:20}{d:10}" + "".join(f"{row[name]:9}" for name in NAMES) for (f, d), row in sorted(rows.items())
    ]
    return "\n".join(lines)


def test_damage(home: Path) -> None:
    """Nothing damaged ends a process, raises another's error or gives a wrong text; all that changes rows is found.

    An index that was opened may answer differently until a merge or a full check reads what is damaged.
    """
    outcomes = run(home)
    print(table(outcomes))
    assert len(outcomes) == TRIALS
    assert [outcome for outcome in outcomes if "signal" in outcome] == []
    assert [(o["number"], o["file"], o["damage"], o["untyped"]) for o in outcomes if o["untyped"]] == []
    assert [(o["number"], o["file"], o["damage"], o["wrong"]) for o in outcomes if o["wrong"]] == []
    missed = [o for o in outcomes if (o["effect"] or o["matters"]) and not o["found"]]
    assert [(o["number"], o["file"], o["damage"]) for o in missed] == []
