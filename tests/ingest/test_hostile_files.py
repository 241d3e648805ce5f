"""Whatever a file's status, name and bytes are, a run ends well and says what became of each file."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth import Engine
from sleuth.files.formats import BY_EXTENSION
from sleuth.ingest import IndexReport
from sleuth.ingest.diff import changed_files
from sleuth.ingest.roots import printable
from tests.commands import sleuth

TIMES: Final = st.one_of(
    st.sampled_from(
        (-(1 << 63), 0, 1, (1 << 63) - 1, 1 << 63, 10_413_792_000 * 10**9, 13_000_000_000 * 10**9)
    ),
    st.integers(-(1 << 64), 1 << 65),
)
ENDINGS: Final = st.sampled_from(("", "#1", "#", "\\xff", "~", *BY_EXTENSION)).map(str.encode)
STEMS: Final = st.binary(min_size=1, max_size=40).map(
    lambda stem: stem.translate(None, b"/\0").lstrip(b".") or b"a"
)
CONTENTS: Final = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from((
        b"", b"\n", b"a,b\n1,words\n", b"[" * 5000, b"---\n", b'{"a": 1e999}', b"From a\n\nwords", b"<p>" * 500,
        b"%PDF-1.4\n", b"PK\x03\x04word/", b"\x1f\x8b", b"\xff\xfea\0", b"\xef\xbb\xbf", b"\r", b'"' * 999,
        b"words of a text\n" * 9,
    )),
)  # fmt: skip
FILES: Final = st.dictionaries(
    st.tuples(STEMS, ENDINGS).map(b"".join), st.tuples(CONTENTS, TIMES), min_size=1, max_size=5
)


def written(folder: Path, files: dict[bytes, tuple[bytes, int]]) -> set[str]:
    """Write files with their times, as near as the file system keeps them; return their names."""
    names = set()
    for name, (content, moment) in files.items():
        path = os.fsencode(folder) + b"/" + name
        Path(os.fsdecode(path)).write_bytes(content)
        try:
            os.utime(path, ns=(0, moment))
        except (OSError, OverflowError):
            os.utime(path, ns=(0, 1 << 63))  # of the year 2262, which any file system of today keeps
        names.add(printable(os.fsdecode(name)))
    return names


def accounted(engine: Engine, report: IndexReport) -> set[str]:
    """Return the names that a report or the index says something of."""
    names = {skip.source for skip in report.skipped}
    for document in engine.documents():
        names |= {document.source, str(document.metadata.get("path", ""))}
    return names


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(FILES)
def test_each_file_is_a_document_or_is_skipped(files: dict[bytes, tuple[bytes, int]]) -> None:
    """A run over files of any name, time and bytes indexes each or says why not, and the next one reads none again."""
    with (
        TemporaryDirectory() as home,
        Engine.open(Path(home) / ".sleuth", create=True, embedder="") as engine,
    ):
        names = written(Path(home), files)
        report = engine.index([home])
        assert not report.interrupted
        assert names <= {name.partition("#")[0] for name in accounted(engine, report)} | accounted(
            engine, report
        )
        again = engine.index([home])
        assert (again.added, again.updated, again.deleted) == (0, 0, 0)
        with engine.store.reader() as snapshot:
            assert changed_files(snapshot, engine.files) == ([], [])


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"a,b\nwords,1\n" + b"word " * 2000)
        file.truncate(1 << 42)


def far(path: Path) -> None:
    path.write_text("words of a far time")
    os.utime(path, ns=(0, 10_413_792_000 * 10**9))


@pytest.mark.parametrize("make", [fifo, bound_socket, loop, sparse, far, Path.mkdir])
def test_the_command_ends_well(make: Callable[[Path], None], tmp_path: Path) -> None:
    """`sleuth index` ends with 0 beside anything that a folder may hold, and its neighbours are indexed."""
    make(tmp_path / "odd.csv")
    (tmp_path / "plain.md").write_text("words of a text")
    result = sleuth("index", ".", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    with Engine.open(tmp_path / ".sleuth") as engine:
        assert "plain.md" in {document.source for document in engine.documents()}
