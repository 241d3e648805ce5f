"""What other processes use, as Linux tells it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """CPU time that the threads of a process and its children have used; those that end meanwhile do not count."""
    own = 0.0
    children: list[int] = []
    with suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError):
                own += int((task / "schedstat").read_text().split()[0]) / 1e9
                children += map(int, (task / "children").read_text().split())
    return own + sum(map(cpu_seconds, children))


def own_megabytes(pid: int) -> float:
    """Memory that only this process holds."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
