"""Limits the number of files that this process can open."""

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path


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
