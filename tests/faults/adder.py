"""Adds, replaces and deletes documents for ever, and says on its output what was acknowledged: run as a process.

Batch `b` holds the documents `b-0` to `b-3`, of one or two chunks that name the batch, and replaces document `hot`;
every fourth batch deletes the batch before it, and says so.
"""

import sys
from pathlib import Path

from sleuth.errors import SleuthError
from sleuth.store import Writer
from sleuth.store.catalogue import manifest
from sleuth.store.store import Store
from tests.store.words import SumsLeg, put

LEGS = ("sums", "second")
DOCUMENTS = 4


def legs() -> list[SumsLeg]:
    return [SumsLeg(name) for name in LEGS]


def deletion_of(batch: int) -> int | None:
    """Return the batch that the commit of a batch deletes."""
    return batch - 1 if batch % 4 == 3 else None


def add(writer: Writer, batch: int, size: int = 20) -> int | None:
    """Put a batch and commit it; return the batch that was deleted with it."""
    for i in range(DOCUMENTS):
        put(writer, f"{batch}-{i}", *([f"batch {batch} " * size] * (1 + i % 2)))
    put(writer, "hot", f"batch {batch}")
    deleted_batch = deletion_of(batch)
    if deleted_batch is not None:
        writer.delete([f"{deleted_batch}-{i}" for i in range(DOCUMENTS)])
    writer.commit()
    return deleted_batch


def say(line: str) -> None:
    """Print a line in one write, so that a truncated line is recognised."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(path: str, first: int, last: int, size: int) -> None:
    with Store.open(path, create=True) as store:
        store.attach(legs())
        store._merges.stopping = "unmerged" in sys.argv
        for batch in range(first, last):
            try:
                with store.writer() as writer:
                    deleted_batch = add(writer, batch, size)
            except SleuthError as error:
                say(f"failed {batch} {type(error).__name__} {error}")
                continue
            say(f"added {batch}")
            if deleted_batch is not None:
                say(f"deleted {deleted_batch}")


if __name__ == "__main__":
    if "files" in sys.argv:
        manifest.INLINE_BYTES = 0
    main(str(Path(sys.argv[1])), *map(int, sys.argv[2:5]))
