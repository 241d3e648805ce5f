import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[1]


def test_each_question_of_the_demo_is_answered_right(tmp_path: Path) -> None:
    """The first hit of every search is right, the answer cites the right page, and the next steps follow."""
    environment = {**os.environ, "SLEUTH_DEMO": str(tmp_path / "demo"), "COLUMNS": "100"}
    run = subprocess.run(
        [sys.executable, HOME / "examples" / "demo.py"], env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    outputs = dict(part.split("\n", 1) for part in run.stdout.split("\n$ sleuth ")[1:])
    expected = {
        "search -k 1 'which objects are considered false'": "reference/truth.rst",
        "code search -k 1 'remove common leading whitespace from every line'": "textwrap.py",
        "code search -k 1 'find close matches for a misspelled word'": "get_close_matches",
        "ask 'when are default parameter values evaluated'": "when the function definition is executed",
    }
    for command, words in expected.items():
        assert words in outputs[command], outputs[command]
    assert "reference/function.rst:" in outputs["ask 'when are default parameter values evaluated'"]
    assert "Next, with your own files" in run.stdout
    assert run.stderr == ""
