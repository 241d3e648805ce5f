import re
import subprocess
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[1]


def test_make_help_lists_every_target() -> None:
    """`make help` lists every target."""
    text = (HOME / "Makefile").read_text("utf8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    output = subprocess.run(
        ["make", "-s", "help"], cwd=HOME, capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"^make (\S+) +\S", output, re.MULTILINE)) == targets
    declared = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert declared and targets <= set(declared[1].split())


def test_a_step_shows_output_only_when_it_fails() -> None:
    """A step prints one line, and after a failure the output of the command, and exits with its code."""
    step = [str(HOME / "tools" / "step"), "Try"]
    good = subprocess.run([*step, "echo", "words"], capture_output=True, text=True, check=False)
    assert (good.returncode, "words" in good.stdout) == (0, False)
    bad = subprocess.run(
        [*step, "sh", "-c", "echo words; exit 3"], capture_output=True, text=True, check=False
    )
    assert (bad.returncode, "words" in bad.stdout) == (3, True)


def test_each_planted_fault_changes_one_place() -> None:
    """What `make mutants` replaces stands once in its file: source that moves takes its faults along."""
    faults = tomllib.loads((HOME / "tools" / "planted.toml").read_text("utf8"))["fault"]
    counts = {fault["name"]: (HOME / fault["file"]).read_text("utf8").count(fault["old"]) for fault in faults}
    assert [name for name, count in counts.items() if count != 1] == []
