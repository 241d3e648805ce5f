"""What docs/serve.md and the README show of the server is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .conftest import running

ROOT = Path(__file__).parents[3]


def test_the_guide_s_example_prints_what_it_says(tmp_path: Path) -> None:
    """The example of the guide, run in an empty folder, prints the block below it."""
    match = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/serve.md").read_text(), re.DOTALL
    )
    assert match
    code, shown = match.groups()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.stdout) == ("", shown)


def test_the_readme_s_request_is_answered(index: Path) -> None:
    """The body that the README sends with curl is answered with hits."""
    match = re.search(r"curl .*/v1/search .*-d '(.*?)'", (ROOT / "README.md").read_text())
    assert match
    with running(index) as started:
        headers = {"content-type": "application/json"}
        answer = started.client.post("/v1/search", content=match[1], headers=headers)
        assert answer.status_code == 200
        assert answer.json()["items"]


def test_every_option_of_the_guide_is_there() -> None:
    """Each option that the guide names is one of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "sleuth", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")},
    )
    named = set(re.findall(r"`(--[a-z-]+)", (ROOT / "docs/serve.md").read_text()))
    assert named
    assert not [option for option in named if option not in done.stdout]
