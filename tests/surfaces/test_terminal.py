"""What a terminal shows, and opens in an editor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth.__main__ import main
from tests.commands import sleuth, sleuth_on_terminal


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    for n in range(30):
        (tmp_path / "notes" / f"{n}.md").write_text(f"# Note {n}\n\nThe zebra of day {n} is asleep.\n")
    (tmp_path / "notes" / "tool.py").write_text("def zebra():\n    return '\x1b]0;owned\x07 stripes'\n")
    (tmp_path / "notes" / "hostile.txt").write_text("A \x1b[31mred\x1b]0;owned\x07 quagga \u202egnp.exe\n")
    (tmp_path / "notes" / "東京.txt").write_text("東京の天気は晴れです。明日は雨が降るでしょう。" * 20)
    return tmp_path


def test_progress_is_drawn(notes: Path) -> None:
    """Indexing shows a bar that counts files, for documents and code, and prints its report."""
    code, output = sleuth_on_terminal("index", "notes", cwd=notes)
    assert code == 0, output
    assert "of 33 files" in output
    assert "33 added" in output
    code, output = sleuth_on_terminal("code", "index", "notes", cwd=notes)
    assert code == 0, output
    assert "parsing" in output
    assert "33 files" in output


def test_matches_are_marked(notes: Path) -> None:
    """A hit has its path relative to here, with matches marked."""
    sleuth("index", "-q", "notes", cwd=notes)
    code, output = sleuth_on_terminal("search", "zebra", "-k", "1", cwd=notes)
    assert code == 0
    assert "\x1b[1;36mnotes/" in output
    assert "\x1b[1;33mzebra\x1b[0m" in output


def test_hits_of_code_are_marked_alike(notes: Path) -> None:
    """`code search` prints the place, the name and the marked code of a hit as `search` does."""
    sleuth("code", "index", "notes", cwd=notes)
    hits = [
        sleuth_on_terminal(*command, "--", "zebra", cwd=notes)[1].split("\r\n\r\n")[0].splitlines()
        for command in (("code", "search", "-k", "1"), ("search", "--in", "code", "-k", "1"))
    ]
    (place, *shown), (place_of_search, *shown_of_search) = hits
    assert "\x1b[1;36m" in place
    assert "tool.py:1-2" in place
    assert "tool.py:1-2" in place_of_search
    assert shown == shown_of_search
    assert any("\x1b[1;33mzebra\x1b[0m" in line for line in shown)


def test_wide_characters_stay_within_the_columns(notes: Path) -> None:
    """A character of two columns counts as two."""
    from rich.cells import cell_len

    sleuth("index", "-q", "notes", cwd=notes)
    code, output = sleuth_on_terminal("search", "東京の天気", "-k", "1", cwd=notes)
    assert code == 0, output
    plain = output.replace("\x1b[1;33m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(cell_len, plain)) <= 80


def test_a_full_disk_is_one_line(notes: Path) -> None:
    """Output that cannot be written is reported in one line, without a traceback."""
    sleuth("index", "-q", "notes", cwd=notes)
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "sleuth", "search", "zebra"],
            cwd=notes, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.startswith("sleuth: ")
    assert result.stderr.count("\n") == 1


def test_an_output_that_knows_few_characters(notes: Path) -> None:
    """Characters that the output's encoding lacks are replaced."""
    sleuth("index", "-q", "notes", cwd=notes)
    result = subprocess.run(
        [sys.executable, "-m", "sleuth", "search", "東京の天気"],
        cwd=notes, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert b"??" in result.stdout


def test_ctrl_c_while_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before a command runs exits as during the command."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sleuth.surfaces.cli.main.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
