"""Limits of the system: few files that this process can open, and a disk with little room."""

import gc
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import pytest


@contextmanager
def free_descriptors(number: int) -> Iterator[None]:
    """Let this process open about `number` more files; descriptors above the limit may be in use already."""
    gc.collect()  # a file that is closed during the test would be one more than the limit allows
    open_numbers = {int(file.name) for file in Path("/dev/fd").iterdir()}
    free = (descriptor for descriptor in count() if descriptor not in open_numbers)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(islice(free, number, None)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size in a new folder."""
    path.mkdir()
    command: list[str | Path] = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", path]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield path
    finally:
        gc.collect()  # mapped files of a store that is closed
        subprocess.run(["umount", path], check=True)
