"""The guide to agents (docs/mcp.md) is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sleuth.surfaces.mcp import CLIENTS, TOOLS

GUIDE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text("utf-8")


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    """The example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
    assert match
    code, expected = match.groups()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == expected


def test_every_tool_and_client_is_described() -> None:
    """Each tool is listed with its arguments, each client with its files."""
    for tool in TOOLS:
        (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| `{tool.name}` |")]
        assert re.findall(r"`(\w+)`", row)[1 : 1 + len(tool.properties)] == list(tool.properties)
    for client in CLIENTS.values():
        cell = f"`{client.project}` " if client.project else ""
        assert re.search(rf"\| `{client.name}`.* \| {re.escape(cell)}\|", GUIDE)
