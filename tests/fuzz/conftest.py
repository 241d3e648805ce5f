import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.files.processes import ProcessEndedError, Processes

INPUTS = int(os.environ.get("SLEUTH_FUZZ", "8"))
"""Inputs of each reader and language."""
MEMORY = 200 << 20
"""Bytes that a file may take that is read in the program."""
SECONDS = 5.0
"""CPU time that it may take: five times what the worst one does, so that a slow machine does not matter."""
HOME = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Processes that read as the program does, under limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HOME))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("readers")))  # what is killed leaves files
        processes = Processes("tests.fuzz.reader", MEMORY)
        yield processes
        processes.close()


def read(
    readers: Processes, reader: str, name: str, data: bytes, seed: str, *, seconds: float = SECONDS
) -> None:
    answer = {}
    for is_last in (False, False, True):
        try:
            answer = readers.ask({"reader": reader, "name": name}, data, seconds).head
            break
        except ProcessEndedError as error:
            # The clock of a busy machine: tried again, as by a run.
            if error.limit == "outside" and not is_last:
                continue
            what = error.limit or error.ending
            pytest.fail(f"{seed}: {name} of {len(data):,} bytes ended its reader: {what}")
    assert "untyped" not in answer, f"{seed}: {name} of {len(data):,} bytes: {answer['untyped']}"
