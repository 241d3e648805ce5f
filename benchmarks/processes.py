"""What other processes use, as Linux tells it."""

from __future__ import annotations

import os
import threading
import time
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


class ProcessorClock:
    """Adds up the CPU time of this process and all that it starts, those that have ended included.

    It looks once a second, so what a process uses in its last second is not counted.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """Seconds until now."""
        self._look(os.getpid())
        with self._lock:
            return sum(self._seconds.values())

    def _watch(self) -> None:
        while True:
            self._look(os.getpid())
            time.sleep(1)

    def _look(self, pid: int) -> None:
        with suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):
                    fields = (task / "stat").read_text().rpartition(")")[2].split()
                    with self._lock:
                        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                        self._seconds[int(task.name)] = max(seconds, self._seconds.get(int(task.name), 0.0))
                    for child in (task / "children").read_text().split():
                        self._look(int(child))
