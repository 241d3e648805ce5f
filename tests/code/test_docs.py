"""The examples of docs/how-to/index-code.md and the table of docs/measured/code.md are true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sleuth.code.parsing import LANGUAGES
from sleuth.code.search import filters, ranking

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "how-to" / "index-code.md").read_text("utf-8")
MEASURED = (DOCS / "measured" / "code.md").read_text("utf-8")


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    """The example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    assert match is not None
    result = subprocess.run(
        [sys.executable, "-c", match[1]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == match[2]


def test_the_example_of_grep_prints_what_it_says(tmp_path: Path) -> None:
    """After the first example, the example of `grep` prints the block below it."""
    first = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    match = re.search(r"## Every line.*?```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    assert first is not None
    assert match is not None
    code = f"{first[1]}\nprint('-----')\n{match[1]}"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout.partition("-----\n")[2] == match[2]


def test_weights_and_filters_are_those_of_the_code() -> None:
    """The table of signals has the current weights; every filter and language is named."""
    for name, weight in (ranking.WEIGHTS | {"meaning": ranking.MEANING}).items():
        assert f"| {name} | {weight:.2f} |" in MEASURED
    for key in filters.KEYS:
        assert f"`{key}`" in TEXT
    for name, language in LANGUAGES.items():
        if language.package:
            spelled = {"csharp": "C#", "cpp": "C++", "php": "PHP", "tsx": "TSX"}.get(name, name.capitalize())
            assert spelled.lower() in TEXT.lower()
