"""Runs the examples of the guides about other frameworks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
GUIDES = [
    DOCS / f"{name}.md"
    for name in ("frameworks", "agent-frameworks", "data-frames", "other-embedders", "moving-in")
]


def check_examples(heading: str, folder: Path) -> None:
    """Run the Python blocks below a heading in a folder, and compare what they print with the blocks below them."""
    guides = "\n".join(path.read_text("utf8") for path in GUIDES)
    sections = re.split(r"^## ", guides, flags=re.MULTILINE)
    (text,) = (part for part in sections if part.startswith(f"{heading}\n"))
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert blocks
    for code, output in blocks:
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
        )
        assert run.stdout == output, run.stderr
