"""What a terminal shows, and opens in an editor."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth.__main__ import main
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.open import editor_command
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


GUIDE = f"# Guide\n\n{'Words of another kind. ' * 200}\n\n## Limits\n\nTokens are refilled every second.\n"
EDITOR = "import json, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an index, whose user keeps state below it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text(GUIDE)
    (tmp_path / "docs" / "page.html").write_text("<h1>Tokens</h1><p>Tokens in a page.</p>")
    assert sleuth("index", "docs", "--embedder", "", cwd=tmp_path).returncode == 0
    return tmp_path


def opened(home: Path, number: int, program: str = "vim") -> list[str]:
    """Return what an editor is called with for a result."""
    editor = home / program
    editor.write_text(f"#!{sys.executable}\n{EDITOR}\n")
    editor.chmod(0o755)
    process = sleuth("open", str(number), cwd=home, VISUAL=f"'{editor}' '{home / 'calls.json'}'")
    assert process.returncode == 0, process.stderr
    arguments: list[str] = json.loads((home / "calls.json").read_text())
    return arguments


def test_a_result_is_opened_at_its_line(home: Path) -> None:
    """The editor of the environment gets the file and the line in its own syntax; a page without lines gets no line."""
    code, output = sleuth_on_terminal("search", "tokens", cwd=home)
    assert code == 0
    names = re.findall(r"docs/(guide\.md|page\.html)", output)
    guide, page = names.index("guide.md") + 1, names.index("page.html") + 1
    file = str(home / "docs" / "guide.md")
    assert opened(home, guide) == ["+5", file]
    assert opened(home, guide, "code") == ["--goto", f"{file}:5"]
    assert opened(home, guide, "hx") == [f"{file}:5"]
    assert opened(home, guide, "my-own") == [file]
    assert opened(home, page) == [str(home / "docs" / "page.html")]


def test_what_cannot_be_opened_is_said(home: Path) -> None:
    """Without a search, beyond its results, and for a file that is gone, the command says what to do."""
    assert "sleuth search QUERY" in sleuth("open", "1", cwd=home).stderr
    sleuth_on_terminal("search", "tokens", cwd=home)
    process = sleuth("open", "9", cwd=home)
    assert process.returncode == 2
    assert "number must be from 1 to 2" in process.stderr
    for file in (home / "docs").iterdir():
        file.unlink()
    assert "is gone" in sleuth("open", "1", cwd=home).stderr
    assert sleuth("open", "0", cwd=home).returncode == 2


def test_lists_are_private_and_pipes_leave_none(home: Path) -> None:
    """A pipe keeps no list; the list of a terminal is readable by its user alone."""
    sleuth("search", "tokens", cwd=home)
    assert not (home / "state").exists()
    sleuth_on_terminal("search", "tokens", cwd=home)
    (file,) = (home / "state" / "sleuth").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{}")
    assert sleuth("open", "1", cwd=home).returncode == 2


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vim", ["vim", "+7", "/a b.md"]),
        ("/usr/bin/emacsclient -nw", ["/usr/bin/emacsclient", "-nw", "+7", "/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b.md:7"]),
        ("subl -w", ["subl", "-w", "/a b.md:7"]),
        ("pycharm", ["pycharm", "--line", "7", "/a b.md"]),
        ("unknown; rm -rf /", ["unknown;", "rm", "-rf", "/", "/a b.md"]),
    ],
)
def test_editors_have_their_own_syntax(editor: str, command: list[str]) -> None:
    """A line is written as each editor reads it, and no shell reads the command."""
    assert editor_command(editor, "/a b.md", 7) == command
    assert editor_command(editor, "/a b.md", 0)[-1] == "/a b.md"


@pytest.mark.parametrize("editor", ["", "'", "  "])
def test_an_editor_is_a_command(editor: str) -> None:
    """Nothing, and half a quotation, are refused."""
    with pytest.raises(ArgumentError, match="editor must be"):
        editor_command(editor, "/a", 1)
