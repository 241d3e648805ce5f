"""Arrays are built piece by piece, in memory or in a file."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.errors import StoreError
from sleuth.store import Scratch, SegmentData
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.manifest import Built
from sleuth.store.disk import scratch
from tests.commands import python

pieces = st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=40), max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces, st.sampled_from([0, 64, 200, 1 << 20]))
def test_pieces_are_joined(tmp_path: Path, lists: list[list[int]], room: int) -> None:
    """An array has its pieces in order, in memory or in an unnamed file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "ROOM", room)
        for folder in (None, tmp_path):
            pieces = Scratch(folder).growing(np.uint32)
            for piece in lists:
                pieces.append(np.array(piece, np.uint32))
            array = pieces.array()
            assert array.dtype == np.uint32
            assert array.tolist() == [value for piece in lists for value in piece]
            scratch.let_go(array)
            assert array[1:].tolist() == [value for piece in lists for value in piece][1:]
    assert list(tmp_path.iterdir()) == []


def test_a_segment_of_mapped_arrays_is_that_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of a segment do not depend on how its arrays were built."""
    monkeypatch.setattr(scratch, "ROOM", 100)
    monkeypatch.setattr(scratch, "PIECE", 1000)
    monkeypatch.setattr(segments, "new_name", lambda *_: "same")
    arrays = {"a": np.arange(5000, dtype=np.uint16), "b": np.arange(700.0), "c": np.zeros(0, np.uint8)}
    keys = np.arange(1, 5001)
    spilled = {name: Scratch(tmp_path).keep(array) for name, array in arrays.items()}
    one, other = (
        segments.encode("leg", "print", 1, 5000, keys, None, SegmentData(data)) for data in (arrays, spilled)
    )
    assert b"".join(one.parts) == b"".join(other.parts)
    Built(tmp_path, other, 0).release()
    segment = segment_files.read(tmp_path, "same", one.size, one.checksum)
    assert segments.verify(segment) == ""
    assert (tmp_path / "same.seg").read_bytes() == b"".join(one.parts)


def test_a_disk_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not writable raises an error that names it."""
    monkeypatch.setattr(scratch, "ROOM", 10)
    pieces = Scratch(tmp_path / "gone").growing(np.uint8)
    with pytest.raises(StoreError, match="gone"):
        pieces.append(np.zeros(100, np.uint8))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux says which pages are in memory")
def test_only_the_piece_that_was_read_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a file piece by piece gives back the memory of each piece, and leaves the rest to others."""
    size, piece = 256 * mmap.PAGESIZE, 64 * mmap.PAGESIZE
    monkeypatch.setattr(scratch, "PIECE", piece)
    file = tmp_path / "mapped"
    file.write_bytes(bytes(size))
    with file.open("rb") as stream:
        array = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    assert array.sum() == 0  # all pages are read
    assert resident(file) == size
    reader = scratch.pieces(scratch.bytes_of(array))
    for _ in range(2):
        assert len(next(reader)) == piece
    assert resident(file) == size - piece
    assert [len(data) for data in reader] == [piece] * 2
    assert resident(file) == 0


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux says which pages are in memory")
def test_windows_hold_all_values_and_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows repeat as many values as they share, leave none out, and give back the memory of the file."""
    monkeypatch.setattr(scratch, "PIECE", 4 * mmap.PAGESIZE)
    values = np.arange(10_000, dtype=np.uint64)
    file = tmp_path / "mapped"
    file.write_bytes(values.tobytes())
    with file.open("rb") as stream:
        array = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint64)
    for shared in (0, 1):
        parts = [part.copy() for part in scratch.windows(array, shared)]
        assert resident(file) == 0
        assert len(parts) > 1
        assert np.concatenate([parts[0], *(part[shared:] for part in parts[1:])]).tolist() == values.tolist()
    assert [len(part) for part in scratch.windows(array[:1], 1)] == [1]
    assert [len(part) for part in scratch.windows(array[:0], 1)] == [0]


def resident(file: Path) -> int:
    """Return how many bytes of a mapped file are in the memory of this process."""
    maps = iter(Path("/proc/self/smaps").read_text(encoding="utf8").splitlines())
    assert any(line.endswith(str(file)) for line in maps)
    return 1024 * next(int(line.split()[1]) for line in maps if line.startswith("Rss:"))


KEEP = """
import re, sys
from pathlib import Path
from sleuth.platform import give_blocks_back

def resident():
    return int(re.search(r"VmRSS:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

if sys.argv[1] == "back":
    give_blocks_back()
block = b"x" * (30 << 20)
del block
before = resident()
blocks = [b"x" * (8 << 20) for _ in range(3)]
del blocks
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
def test_large_blocks_are_given_back() -> None:
    """After `give_blocks_back`, no memory stays behind that was freed; without it, the C library may keep it."""
    growth = {mode: int(python(KEEP, mode).stdout) for mode in ("back", "by itself")}
    assert growth["back"] < 4_000
    assert growth["back"] <= growth["by itself"]
