"""Processes of Ray that a test started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def processes_below(process: int, name: str) -> Iterator[int]:
    """Yield the numbers of processes below a process whose command has a name: those of others are left alone."""
    with suppress(OSError):  # it may end meanwhile
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                with suppress(OSError):
                    if name.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                        yield child
                yield from processes_below(child, name)
