"""Runs a benchmark with the interpreters of several versions of Sleuth."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def versions_of(before: str | None) -> dict[str, str]:
    """Return the interpreters by the name of their version: "now", and before it "before" if there is one."""
    return {**({"before": before} if before else {}), "now": sys.executable}


def figures_of(python: str, module: str, *arguments: object) -> Any:
    """Run a module of this folder with an interpreter, and return the JSON that it prints."""
    command = [python, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
