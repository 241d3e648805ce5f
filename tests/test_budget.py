"""The size of the project stays within tools/budget.toml, whose limits only go down."""

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

import sleuth

ROOT = Path(__file__).parents[1]
BUDGET = "tools/budget.toml"
SOURCE = {".py", ".pyi", ".pyx", ".pxd", ".h"}
PLUGINS = ROOT / "src" / "sleuth" / "plugins"


def limits_of(text: str) -> dict[str, int]:
    """Return the limits of a budget, such as `lines.core`."""
    return {
        f"{part}.{name}": limit for part, row in tomllib.loads(text).items() for name, limit in row.items()
    }


def lines_below(folder: Path) -> int:
    paths = (path for path in folder.rglob("*") if path.suffix in SOURCE and path.is_file())
    return sum(len(path.read_text("utf8").splitlines()) for path in paths)


def sizes() -> dict[str, int]:
    """Return what each limit counts."""
    plugins = lines_below(PLUGINS)
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts]
    stubs = (ROOT / "src").rglob("__init__.pyi")
    return {
        "lines.core": lines_below(ROOT / "src") - plugins,
        "lines.plugins": plugins,
        "lines.tests": lines_below(ROOT / "tests"),
        "lines.benchmarks": lines_below(ROOT / "benchmarks"),
        "words.docs": sum(len(path.read_text("utf8").split()) for path in pages),
        "modules.root": len(list((ROOT / "src" / "sleuth").glob("*.py"))),
        "names.exported": sum(len(re.findall(r" as \w+", stub.read_text("utf8"))) for stub in stubs),
    }


def test_the_project_stays_within_its_budget() -> None:
    """Lines, words, modules at the root and public names are at most what the budget allows."""
    limits, counted = limits_of((ROOT / BUDGET).read_text("utf8")), sizes()
    assert limits.keys() == counted.keys()
    over = {name: (counted[name], limit) for name, limit in limits.items() if counted[name] > limit}
    assert over == {}, f"take as much out elsewhere; {BUDGET} only goes down"


def test_limits_only_go_down() -> None:
    """No limit is above one that an earlier commit had; plugins may take what leaves the core."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout

    revisions = git("log", "--format=%H", "--", BUDGET).split()
    if not revisions:
        pytest.skip("no history of git is here")

    def with_sum(text: str) -> dict[str, int]:
        limits = limits_of(text)
        limits["lines.plugins"] += limits["lines.core"]
        return limits

    limits = with_sum((ROOT / BUDGET).read_text("utf8"))
    for revision in revisions:
        earlier = with_sum(git("show", f"{revision}:{BUDGET}"))
        assert {name: limit for name, limit in limits.items() if limit > earlier.get(name, limit)} == {}


def test_a_new_file_passes_few_modules(tmp_path: Path) -> None:
    """Indexing one file into an open engine, merges included, enters at most 50 modules and 900 functions."""
    structure = runpy.run_path(str(ROOT / "tools" / "structure.py"))
    journey = structure["Journey"](Path(sleuth.__file__).parent)
    with sleuth.Engine.open(tmp_path / "index", create=True) as engine:
        journey.run(structure["new_file_indexed"](engine, tmp_path))
    assert 0 < len(journey.files) <= 50
    assert 0 < journey.calls <= 900
