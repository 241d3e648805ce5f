"""The commands of docs/how-to/back-up.md work as described."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth import Engine
from tests.commands import python, sleuth, sleuth_process

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
    assert snippet and python(snippet[1], cwd=cwd).returncode == 0


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
        items = engine.retrieve("passage number of batch", k=10_000)
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


def test_after_a_full_disk_the_same_command_goes_on(home: Path) -> None:
    """A full disk is a failure of one line that loses nothing; with space the command completes."""
    (home / "numbers.txt").write_text("\n".join(f"entry {number}" for number in range(40_000)))
    full = sleuth_process("index", "numbers.txt", cwd=home, limit="ulimit -f 600")
    assert full.returncode != 0
    assert len(full.stderr.strip().splitlines()) == 1
    assert "cats.md" in sleuth("search", "cats", cwd=home).stdout
    assert sleuth("index", "numbers.txt", cwd=home).returncode == 0
    assert "numbers.txt" in sleuth("search", "-k", "1", "39999", cwd=home).stdout


def test_a_record_that_nothing_can_be_read_of_is_refused(home: Path) -> None:
    """The repair of an unreadable record exits with code 3, says what helps, and changes nothing."""
    record = home / ".sleuth" / "record.sqlite"
    before = bytes(len(record.read_bytes()))
    record.write_bytes(before)
    refused = sleuth("doctor", "--repair", cwd=home)
    assert refused.returncode == 3, refused.stderr
    assert "restore it from a backup" in refused.stderr
    assert record.read_bytes() == before
