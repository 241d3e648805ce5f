"""sleuth open: a result of the last search in the editor."""

import json
import re
import sys
from pathlib import Path

import pytest

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.open import editor_command
from tests.commands import sleuth, sleuth_on_terminal

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
