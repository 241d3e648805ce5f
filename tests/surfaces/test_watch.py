"""`sleuth index --watch`: what editors save, rename and delete is searchable; Ctrl-C ends it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.errors import IndexNotFoundError
from tests.code.conftest import write
from tests.waiting import wait_until

pytest.importorskip("watchfiles", reason="the extra 'watch' is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that a process watches; it ends with exit code 0 by Ctrl-C."""
    write(tmp_path / "notes", {"old.md": "ocelot"})
    command = [sys.executable, "-m", "sleuth", "index", "notes", "--watch", "--embedder", ""]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            wait_until(
                lambda: (tmp_path / ".sleuth").exists() and hits(tmp_path, "ocelot") == ["notes/old.md"]
            )
            yield tmp_path
            os.kill(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, "Traceback" in errors) == (0, False), errors
            assert "Watching notes ... Ctrl-C ends it" in errors
        finally:
            process.kill()


def hits(folder: Path, word: str) -> list[str]:
    try:
        with Engine.open(folder / ".sleuth") as engine:
            return sorted(item.metadata["source"] for item in engine.retrieve(word))
    except IndexNotFoundError:  # the process has not made it yet
        return []


def test_editors_save_files_in_their_ways(folder: Path) -> None:
    """Files that are new, renamed over, truncated and written, renamed or deleted are followed."""
    notes = folder / "notes"
    (notes / ".new.md~").write_text("margay")
    (notes / ".new.md~").rename(notes / "new.md")
    wait_until(lambda: hits(folder, "margay") == ["notes/new.md"])
    (notes / "beside.tmp").write_text("serval")
    (notes / "beside.tmp").replace(notes / "new.md")
    wait_until(lambda: (hits(folder, "serval"), hits(folder, "margay")) == (["notes/new.md"], []))
    with (notes / "old.md").open("r+") as file:
        file.truncate()
        file.flush()
        file.write("caracal")
    wait_until(lambda: (hits(folder, "caracal"), hits(folder, "ocelot")) == (["notes/old.md"], []))
    (notes / "deep").mkdir()
    (notes / "old.md").rename(notes / "deep/moved.md")
    wait_until(lambda: hits(folder, "caracal") == ["notes/deep/moved.md"])
    (notes / "new.md").unlink()
    wait_until(lambda: hits(folder, "serval") == [])
