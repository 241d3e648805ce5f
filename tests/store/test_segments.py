"""A segment file returns its contents, and any changed byte is found."""

import fcntl
import json
import os
import random
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sleuth.errors import IndexDamagedError
from sleuth.store import SegmentData
from sleuth.store.catalogue import manifest, segment_files, segments, views
from sleuth.store.catalogue.manifest import Built
from sleuth.store.legs.arrays import check_rising
from sleuth.store.store import Store
from tests.store.words import add, put

dtypes = st.one_of(
    npst.integer_dtypes(),
    npst.floating_dtypes(endianness="="),
    npst.boolean_dtypes(),
    npst.datetime64_dtypes(endianness="="),
    st.just(np.dtype("S3")),
)
arrays = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(lambda name: name[0] != "$"),
    npst.arrays(dtypes, npst.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5)),
    max_size=3,
)
keys = st.sets(st.integers(1, 2**40), max_size=20).map(lambda numbers: np.array(sorted(numbers), np.int64))


def encoded(own: np.ndarray, data: dict[str, np.ndarray], ties: np.ndarray | None = None) -> segments.Encoded:
    first, last = (int(own[0]), int(own[-1])) if len(own) else (1, 1)
    return segments.encode("leg", "print", first, last, own, ties, SegmentData(data, {"x": [1, "ü"]}))


@given(keys, arrays, st.booleans())
def test_round_trip(own: np.ndarray, data: dict[str, np.ndarray], with_ranks: bool) -> None:
    """Arrays of any dtype and shape, and keys with and without gaps, are returned equal and read-only."""
    ties = np.arange(len(own), dtype=np.uint32)[::-1] if with_ranks and len(own) else None
    segment = encoded(own, data, ties)
    content = b"".join(segment.parts)
    assert len(content) == segment.size
    segment_of_file = segments.decode(segment.name, content, segment.checksum)
    assert np.array_equal(segment_of_file.keys, own)
    assert (segment_of_file.tie_ranks is None) == (ties is None)
    if segment_of_file.tie_ranks is not None and ties is not None:
        assert np.array_equal(segment_of_file.tie_ranks, ties)
    assert segment_of_file.meta == {"x": [1, "ü"]}
    assert segment_of_file.arrays.keys() == data.keys()
    for name, array in data.items():
        decoded = segment_of_file.arrays[name]
        assert decoded.dtype == array.dtype and decoded.shape == array.shape
        assert decoded.tobytes() == array.tobytes()
        assert not decoded.size or not decoded.flags.writeable
    assert segments.verify(segment_of_file) == ""


def test_a_commit_is_not_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process serves the small segments of its own commit without reading them; another one reads equal rows."""
    add(store, "first", "one two")
    with store.reader() as snapshot:
        snapshot.segments("sums")
    with monkeypatch.context() as patch:
        patch.setattr(views, "open_segment", Mock(side_effect=AssertionError))
        add(store, "second", "two three")
        with store.reader() as snapshot:
            own = snapshot.segments("sums")
    with closing(Store.open(store.path)) as other:
        other.attach(list(store._views.legs.values()))
        with other.reader() as snapshot:
            read = snapshot.segments("sums")
    assert [view.name for view in own] == [view.name for view in read]
    for view, twin in zip(own, read, strict=True):
        assert view.keys.tolist() == twin.keys.tolist() and view.meta == twin.meta
        assert view.arrays.keys() == twin.arrays.keys()
        assert all(np.array_equal(view.arrays[name], twin.arrays[name]) for name in view.arrays)
        assert (view.live is None) == (twin.live is None)


def test_keys_without_gaps_take_no_space(tmp_path: Path) -> None:
    """Consecutive keys are a range in the header, so a segment may have more rows than bytes; others take 4 each."""
    dense, sparse = np.arange(7, 10_007), np.arange(0, 20_000, 2)
    assert encoded(dense, {}).size < 500
    Built(tmp_path, encoded(dense, {})).open(Mock())
    assert encoded(sparse, {}).size < 500 + 4 * len(sparse)


def test_objects_are_refused() -> None:
    """Arrays of Python objects are refused, since unpickling can run code."""
    with pytest.raises(TypeError, match="without objects"):
        encoded(np.arange(1), {"bad": np.array([object()])})


def test_every_flipped_byte_is_found() -> None:
    """Every byte of a segment, including padding, is covered by a check."""
    data: dict[str, np.ndarray] = {"a": np.arange(5, dtype=np.uint8), "b": np.ones((2, 2))}
    segment = encoded(np.array([2, 3, 9]), data, np.arange(3, dtype=np.uint32))
    content = b"".join(segment.parts)
    rng = random.Random(5)
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.randrange(8)
        try:
            problems = segments.verify(segments.decode(segment.name, bytes(damaged), segment.checksum))
        except IndexDamagedError:
            continue
        assert problems, f"byte {at}"


def test_files_are_checked_on_opening(tmp_path: Path) -> None:
    """A file of another length or another segment, or a missing one, is refused at opening."""
    first, second = (encoded(np.arange(1, 5), {"a": np.arange(4) * n}) for n in (1, 2))
    for segment in (first, second):
        Built(tmp_path, segment, 0).release()
    path = tmp_path / f"{first.name}{segment_files.SUFFIX}"
    opened = segment_files.read(tmp_path, first.name, first.size, first.checksum)
    assert opened.arrays["a"].tolist() == [0, 1, 2, 3]
    (tmp_path / f"{second.name}{segment_files.SUFFIX}").rename(path)
    with pytest.raises(IndexDamagedError):
        segment_files.read(tmp_path, first.name, first.size, first.checksum)
    assert opened.arrays["a"].tolist() == [0, 1, 2, 3], "a mapped file stays as it was"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IndexDamagedError, match="bytes where"):
        segment_files.read(tmp_path, first.name, first.size, first.checksum)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        segment_files.read(tmp_path, first.name, first.size, first.checksum)


AT_EXIT = """
import atexit, os, pathlib, sys
atexit.register(lambda: print(len(os.pread(fd, 8, 0))))  # registered first, so called last
from sleuth.store.catalogue import segment_files
folder = pathlib.Path(sys.argv[1])
segment = segment_files.read(folder, sys.argv[2], *map(int, sys.argv[3:]))
fd = segment_files.stay_open(folder, segment)
"""


def test_a_file_is_open_as_long_as_it_is_mapped(tmp_path: Path) -> None:
    """Its descriptor is closed with its mapping, and not before the last query of a process that exits."""
    segment = encoded(np.arange(1, 5), {"a": np.arange(4)})
    Built(tmp_path, segment, 0).release()
    arguments = [str(tmp_path), segment.name, str(segment.size), str(segment.checksum)]
    assert subprocess.check_output([sys.executable, "-c", AT_EXIT, *arguments]) == b"8\n"
    opened = segment_files.read(tmp_path, segment.name, segment.size, segment.checksum)
    file = Path("/dev/fd", str(segment_files.stay_open(tmp_path, opened)))
    assert file.exists()
    del opened
    assert not file.exists()


def test_a_segment_answers_to_its_own_name_alone() -> None:
    """The bytes of another segment are refused even with a matching checksum, as in a crafted manifest."""
    one, two = (encoded(np.arange(1, 5), {"a": np.arange(4) * n}) for n in (1, 2))
    assert segments.decode(one.name, b"".join(one.parts), one.checksum).name == one.name
    with pytest.raises(IndexDamagedError, match="the bytes of another segment"):
        segments.decode(one.name, b"".join(two.parts), two.checksum)


@pytest.mark.parametrize(
    ("own", "ties", "message"),
    [
        ([1, 1, 4], [0, 1, 2], "keys are not in order"),
        ([1, 3, 2], [0, 1, 2], "keys are not in order"),
        ([1, 2, 4], [0, 1], "tie ranks"),
        ([1, 2, 4], [0, 1, 2, 3], "tie ranks"),
    ],
)
def test_rows_that_no_writer_writes(own: list[int], ties: list[int], message: str) -> None:
    """Each row of a segment has its own key and tie rank, with any checksum."""
    segment = encoded(np.array(own, np.int64), {}, np.array(ties, np.uint32))
    with pytest.raises(IndexDamagedError, match=message):
        segments.decode(segment.name, b"".join(segment.parts), segment.checksum)


@pytest.mark.parametrize("offset", [0, 1, 63, 128])
def test_an_array_at_another_place(offset: int) -> None:
    """An array begins after the one before it, at the next multiple of 64 bytes, with any checksum."""
    segment = encoded(np.arange(3), {"a": np.arange(5, dtype=np.uint8), "b": np.arange(5, dtype=np.uint8)})
    content = b"".join(segment.parts)
    length = segments.PRELUDE.unpack_from(content)[2]
    begin, end = segments.PRELUDE.size, segments.PRELUDE.size + length
    header = json.loads(content[begin:end])
    assert [array["offset"] for array in header["arrays"]] == [0, 64]
    header["arrays"][1]["offset"] = offset
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode().ljust(length)
    padding = b"\0" * (-(begin + len(text)) % segments.ALIGNMENT)
    checksum = zlib.crc32(text)
    prelude = segments.PRELUDE.pack(segments.MAGIC, segments.CONTAINER, len(text), checksum, 0)
    arrays = content[end + (-end % segments.ALIGNMENT) :]
    with pytest.raises(IndexDamagedError, match="array 'b' is not where it should be"):
        segments.decode(segment.name, prelude + text + padding + arrays, checksum)


def test_keys_lie_in_the_range_of_the_manifest(store: Store) -> None:
    """A segment with a key outside of the range that the manifest gives it is damaged."""
    with store.writer() as writer:
        for n in range(4):
            put(writer, f"d{n}", "some words")
    connection: Any = sqlite3.connect(store.path / "record.sqlite")
    with closing(connection):
        [entry] = manifest.entries(connection, "sums")
        folder, first, last = store.path / "segments", entry.first, entry.last
        assert manifest.open_segment(connection, folder, entry).keys.tolist() == list(range(first, last + 1))
        shorter = entry._replace(rows=entry.rows - 1)
        for record in (entry._replace(first=first + 1), entry._replace(last=last - 1), shorter):
            with pytest.raises(IndexDamagedError, match="its rows are not those of the manifest"):
                manifest.open_segment(connection, folder, record)


def test_files_being_written_are_no_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep skips held files under either name, and removes every other segment that no manifest names."""
    segment_file = Built(tmp_path, encoded(np.arange(1, 3), {}), 0)
    held_file = Built(tmp_path, encoded(np.arange(1, 3), {}), 0)
    (tmp_path / "x.tmp").touch()
    assert segment_files.orphans(tmp_path, {held_file.path.stem}) == [tmp_path / "x.tmp"]
    segment_files.sweep(tmp_path, ())
    assert segment_file.path.exists()
    segment_file.release()
    assert segment_files.orphans(tmp_path, {held_file.path.stem}) == [segment_file.path, tmp_path / "x.tmp"]
    segment_files.sweep(tmp_path, {segment_file.path.stem})
    assert segment_file.path.exists()
    segment_files.sweep(tmp_path, ())
    assert not segment_file.path.exists()
    with held_file.path.open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    held_file.discard()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "fsync", Mock(side_effect=KeyboardInterrupt))
        Built(tmp_path, encoded(np.arange(1, 3), {}), 0)
    assert list(tmp_path.iterdir()) == [tmp_path / "x.tmp"]


def test_a_sweep_while_a_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep between the creation of a file and its lock causes another attempt, and loses no segment."""
    really = fcntl.flock
    sweeps: list[list[str]] = []

    def after_a_sweep(fd: int, operation: int) -> None:
        if not sweeps:
            sweeps.append([path.name for path in tmp_path.iterdir()])
            segment_files.sweep(tmp_path, ())
            assert list(tmp_path.iterdir()) == []
        really(fd, operation)

    monkeypatch.setattr(fcntl, "flock", after_a_sweep)
    segment = encoded(np.arange(1, 3), {"a": np.arange(2)})
    Built(tmp_path, segment, 0).release()
    assert sweeps == [[f"{segment.name}{segment_files.TEMPORARY}"]]
    content = segment_files.read(tmp_path, segment.name, segment.size, segment.checksum)
    assert content.arrays["a"].tolist() == [0, 1]


@pytest.mark.parametrize("values", [[1, 1], [2, 1], [-1, 0], [3], [0, 3]])
def test_rows_that_do_not_rise_below_a_bound(values: list[int]) -> None:
    """Rows rise strictly from 0 or more to less than their bound."""
    with pytest.raises(ValueError, match="'rows' must rise and stay below 3"):
        check_rising("rows", np.array(values), 3)
    check_rising("rows", np.array([0, 2]), 3)


@pytest.mark.parametrize("size", [0, 4, 8, 600])
@pytest.mark.parametrize("first", [segments.MAGIC, b"\0", b"of a user"])
def test_files_that_a_power_cut_left_are_swept(tmp_path: Path, size: int, first: bytes) -> None:
    """A file with the name of a segment is ours if its first bytes are those of one, or were never written."""
    file = tmp_path / f"{segments.new_name('sums', 1, 9)}{segment_files.TEMPORARY}"
    file.write_bytes(first[:size].ljust(size, b"\0"))
    is_ours = first != b"of a user" or not size
    assert segment_files.is_ours(file) == is_ours
    segment_files.sweep(tmp_path, ())
    assert file.exists() != is_ours


@pytest.mark.parametrize("name", ["../outside-1-1-0123456789ab", "a/b-1-1-0123456789ab", "a", ""])
def test_names_of_segments_lead_nowhere_else(name: str) -> None:
    """Only names that Sleuth generates are valid names of segments."""
    assert not segments.is_name(name)
    assert segments.is_name(segments.new_name("a b", 1, 9))
