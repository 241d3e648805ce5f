"""How do rows become segments, while the record takes them in?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sleuth.store import manifest, segments
from sleuth.store.legs import Leg, Rows
from sleuth.store.record import Connection
from sleuth.store.segments import Encoded, Held

INLINE_BYTES = 1 << 16
"""Segments up to this size live in the record: no file, no further sync."""
_WORTH_A_THREAD = 256


@dataclass(slots=True)
class Built:
    """A segment that no committed manifest names yet.

    Attributes:
        held: its file, written and synced; None for one that goes into the record.
    """

    encoded: Encoded
    held: Held | None

    def publish(self, connection: Connection) -> None:
        """Name it in the manifest, in the open transaction."""
        manifest.publish(connection, self.encoded, inline=self.held is None)

    def release(self) -> None:
        """The manifest names it now, or nobody will."""
        if self.held:
            self.held.release()

    def discard(self) -> None:
        """Remove its file."""
        if self.held:
            self.held.discard()


def keep(encoded: Encoded, folder: Path) -> Built:
    """Write a segment to where it will live: a file, or the record if it is small."""
    return Built(encoded, Held(folder, encoded) if encoded.size > INLINE_BYTES else None)


def build(leg: Leg, rows: Rows, first: int, last: int, folder: Path) -> Built:
    """A leg's segment of these rows, which answers for the keys `first` to `last`."""
    data = leg.build(rows)
    encoded = segments.encode(leg.name, leg.fingerprint, first, last, rows.keys, rows.tie_ranks, data)
    return keep(encoded, folder)


@contextmanager
def build_beside(
    legs: Sequence[Leg], rows: Callable[[], Rows], first: int, last: int, folder: Path
) -> Iterator[list[Built]]:
    """Build segments in another thread while the block runs; the list is filled when the block has ended.

    Few rows are built in this thread, after the block: a thread would cost more than it saves. Where the block or a
    leg fails, files that were written are removed.
    """
    from concurrent.futures import ThreadPoolExecutor

    built: list[Built] = []

    def work() -> None:
        if not legs:
            return
        columns = rows()
        for leg in legs if len(columns) else ():
            built.append(build(leg, columns, first, last, folder))  # noqa: PERF401 - a failure keeps the others

    try:
        if last - first < _WORTH_A_THREAD or not legs:
            yield built
            work()
        else:
            with ThreadPoolExecutor(1, "sleuth-build") as pool:
                future = pool.submit(work)
                yield built
            future.result()
    except BaseException:
        for segment in built:
            segment.discard()
        raise
