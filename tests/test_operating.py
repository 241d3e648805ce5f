"""The commands of docs/how-to/back-up.md work as described."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth import Document, Engine
from tests.commands import sleuth, sleuth_process

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "back-up.md"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with one indexed document."""
    (tmp_path / "cats.md").write_text("# Cats\n\nCats sleep most of the day.\n")
    assert sleuth("index", "cats.md", cwd=tmp_path).returncode == 0
    return tmp_path


def back_up(cwd: Path) -> None:
    """Run the snippet of the guide."""
    snippet = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf8"), re.DOTALL)
    assert snippet
    subprocess.run([sys.executable, "-c", snippet[1]], cwd=cwd, check=True)


WRITER = """
import itertools, sys
from sleuth import Document, Engine
with Engine.open(".sleuth") as engine:
    for at in itertools.count():
        engine.add([Document(f"Passage number {at} of batch.", {"batch": at}, id=f"{at}-{i}") for i in range(3)])
        if at == 2:
            print("writing", flush=True)
"""


def test_a_backup_while_a_program_writes_is_one_commit(home: Path) -> None:
    """The copy opens, has only complete commits, and passes the check."""
    with subprocess.Popen([sys.executable, "-c", WRITER], cwd=home, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout
            assert writer.stdout.readline() == b"writing\n"
            back_up(home)
            assert writer.poll() is None
        finally:
            writer.kill()
    first = sleuth("search", "-k", "1", "cats", "--index", "backup", cwd=home)
    assert "cats.md" in first.stdout, first.stderr
    with Engine.open(home / "backup") as engine:
        items = engine.retrieve("passage number of batch", k=10_000, all_copies=True)
        batches = [item.metadata["batch"] for item in items if "batch" in item.metadata]
    assert len(batches) >= 9
    assert all(batches.count(batch) == 3 for batch in set(batches))
    assert sleuth("doctor", "--index", "backup", cwd=home).returncode == 0


def test_a_backup_holds_code_too(home: Path) -> None:
    """The snippet copies the database of code where there is one, into a folder that only its owner may enter."""
    (home / "zebra.py").write_text("def zebra():\n    return 1\n")
    assert sleuth("code", "index", ".", cwd=home).returncode == 0
    back_up(home)
    assert (home / "backup").stat().st_mode & 0o077 == 0
    assert "zebra.py" in sleuth("code", "search", "zebra", "--index", "backup", cwd=home).stdout


def test_a_copied_folder_is_an_index(home: Path) -> None:
    """A copied and a moved folder are searched like the original."""
    subprocess.run(["cp", "-R", ".sleuth", "copy"], cwd=home, check=True)
    assert "cats.md" in sleuth("search", "cats", "--index", "copy", cwd=home).stdout
    (home / "copy").rename(home / "moved")
    assert "cats.md" in sleuth("search", "cats", "--index", "moved", cwd=home).stdout
    assert sleuth("doctor", "--index", "moved", cwd=home).returncode == 0


def test_a_second_writer_waits_and_gives_up(home: Path) -> None:
    """A second writer exits with code 4 after --timeout seconds; readers continue."""
    (home / "dogs.md").write_text("Dogs bark.")
    with (home / ".sleuth" / "writer.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sleuth("index", "dogs.md", "--timeout", "0.2", cwd=home).returncode == 4
        assert "cats.md" in sleuth("search", "cats", cwd=home).stdout
    assert "dogs.md" not in sleuth("search", "dogs", cwd=home).stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_index_is_searched(home: Path) -> None:
    """A search needs no write permission, and indexing is refused without a change."""
    (home / "dogs.md").write_text("Dogs bark.")
    for path in (*(home / ".sleuth").rglob("*"), home / ".sleuth"):
        path.chmod(path.stat().st_mode & ~0o222)
    assert "cats.md" in sleuth("search", "cats", cwd=home).stdout
    assert sleuth("index", "dogs.md", cwd=home).returncode in {1, 3}
    for path in (home / ".sleuth", *(home / ".sleuth").rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    assert "dogs.md" not in sleuth("search", "dogs", cwd=home).stdout


def test_after_a_full_disk_the_same_command_goes_on(home: Path) -> None:
    """A full disk is a failure of one line that loses nothing; with space the command completes."""
    (home / "numbers.txt").write_text("\n".join(f"entry {number}" for number in range(150_000)))
    full = sleuth_process("index", "numbers.txt", cwd=home, limit="ulimit -f 600")
    assert full.returncode != 0
    assert len(full.stderr.strip().splitlines()) == 1
    assert "cats.md" in sleuth("search", "cats", cwd=home).stdout
    assert sleuth("index", "numbers.txt", cwd=home).returncode == 0
    assert "numbers.txt" in sleuth("search", "-k", "1", "149999", cwd=home).stdout


def test_an_index_is_private(home: Path) -> None:
    """Folders have mode 0700 and files 0600."""
    for path in (home / ".sleuth", *(home / ".sleuth").rglob("*")):
        expected = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == expected, path


def test_an_index_of_another_format_is_refused_and_left_alone(home: Path) -> None:
    """Another format exits with code 3, and the record is unchanged."""
    record = home / ".sleuth" / "record.sqlite"
    with sqlite3.connect(record) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.close()
    before = record.read_bytes()
    refused = sleuth("search", "cats", cwd=home)
    assert refused.returncode == 3, refused.stderr
    assert sleuth("index", "cats.md", cwd=home).returncode == 3
    assert record.read_bytes() == before


def test_a_damaged_segment_is_rebuilt(home: Path) -> None:
    """The next search rebuilds a damaged or missing segment, reports it, and answers."""
    with Engine.open(home / ".sleuth") as engine:  # small segments are part of the record
        engine.add(Document(f"Number {at} of {at * at} words {at % 97}.", id=str(at)) for at in range(5000))
    segment = next((home / ".sleuth" / "segments").glob("lexical-*"))
    segment.unlink()
    mended = sleuth("search", "cats", cwd=home)
    assert "cats.md" in mended.stdout
    assert "mended" in mended.stderr
    assert sleuth("doctor", cwd=home).returncode == 0


def test_a_damaged_record_is_reported(home: Path) -> None:
    """The check exits with code 1 and says how to recover the rest."""
    record = home / ".sleuth" / "record.sqlite"
    content = bytearray(record.read_bytes())
    for at in range(8192, len(content), 4096):
        content[at : at + 64] = b"\xff" * 64
    record.write_bytes(content)
    report = sleuth("doctor", cwd=home)
    assert report.returncode == 1
    assert "doctor --full" in report.stdout


def test_a_record_that_nothing_can_be_read_of_is_refused(home: Path) -> None:
    """The repair of an unreadable record exits with code 3, says what helps, and changes nothing."""
    record = home / ".sleuth" / "record.sqlite"
    before = bytes(len(record.read_bytes()))
    record.write_bytes(before)
    refused = sleuth("doctor", "--repair", cwd=home)
    assert refused.returncode == 3, refused.stderr
    assert "restore it from a backup" in refused.stderr
    assert record.read_bytes() == before


def test_what_was_half_done_is_swept(home: Path) -> None:
    """An index whose writer was killed opens with everything that was committed."""
    with subprocess.Popen([sys.executable, "-c", WRITER], cwd=home, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        writer.stdout.readline()
        writer.kill()
    assert sleuth("index", "cats.md", cwd=home).returncode == 0
    assert sleuth("doctor", cwd=home).returncode == 0
    with Engine.open(home / ".sleuth") as engine:
        engine.add([Document("Owls hunt at night.", id="owl")])
        assert engine.retrieve("owls", k=1)[0].text == "Owls hunt at night."
