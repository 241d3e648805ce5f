"""What commands print in a pipe and on a terminal: names, contents, labels and errors from files are escaped."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sleuth.__main__ import main
from sleuth.surfaces import cli
from sleuth.text.clean import escape_json, escape_text, is_invisible
from tests.code.conftest import Git, need_git, write
from tests.commands import sleuth, sleuth_on_terminal, sleuth_process

EVIL = "\x1b]0;owned\x07\x9b31m\x1b[8m\u202egnp\u2066\x7f\U000e0041\r\x85\u2028\ufeff"
NAME = "na\x1b[31mme\x9b\u202e\u2066\x07\tx\ny"
OURS = re.compile(r"\x1b\[[0-9;]*m")
"""The codes that we write ourselves, colours and styles."""

COMMANDS = [
    ["index", "."], ["index", ".", "--json"], ["status"], ["status", "--json"], ["search", "quagga"],
    ["search", f"quagga {EVIL}", "--json"], ["search", "quagga", "--explain", "--expand", "document"],
    ["search", "quagga", "--filter", f"{EVIL}:1"], ["show", f"{NAME}.md"], ["show", f"{NAME}.md", "--json"],
    ["show", EVIL], ["ask", "what", "is", "a", "quagga"], ["ask", "what is a quagga", "--json", "--show-context"],
    ["ask", "quagga", "--show-context"], ["index", "summarize", f"{NAME}.md"],
    ["index", "summarize", "--about", "quagga"],
    ["doctor"], ["doctor", "--json"], ["doctor", "plugins"],
    ["code", "index", "."], ["code", "index", ".", "--json"], ["code", "search", "quagga", "stripes"],
    ["code", "search", "quagga", "--explain", "--expand", "callers", "--expand", "siblings"],
    ["code", "search", "quagga", "--json"], ["code", "search", "quagga", "--budget", "500"],
    ["code", "search", "quagga", "--strategy", EVIL], ["code", "search", "quagga", "--at", EVIL],
    ["code", "search", "quagga", "--repo", EVIL], ["code", "refs", "quagga"], ["code", "refs", "quagga", "--json"],
    ["code", "refs", "quagga", "--callers"], ["code", "impact", "quagga"], ["code", "impact", "quagga", "--json"],
    ["code", "map"], ["code", "map", "--json"], ["code", "snapshots"],
    ["code", "snapshots", "--json"], ["code", "snapshots", "--diff", "HEAD~1", "HEAD"],
    ["index", "delete", f"{NAME}.md"], ["index", "delete", EVIL],
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_git()
    root = tmp_path_factory.mktemp("hostile")
    git = Git(root)
    git.commit({f"{NAME}.py": "def first():\n    pass\n"})
    git.commit(
        {
            f"{NAME}.md": f"---\ntitle: The {EVIL} title\n---\n# Head {EVIL}\n\nA quagga {EVIL} is striped.\n",
            f"{NAME}.py": f'def quagga(x="{EVIL}"):  # {EVIL}\n    """A quagga {EVIL}."""\n    return stripes(x)\n'
            f'\n\ndef stripes(x):\n    return quagga("{EVIL}")\n',
            f"{NAME}.bin": b"\x00\x01",
            f"{NAME}/more.py": f"def caller():  # {EVIL}\n    return quagga()\n",
        }
    )
    (root / os.fsdecode(b"bytes\xff\x9b.md")).write_text("Not in UTF-8, the quagga.\n")
    git("tag", "v\u202e1")
    for command in ("index -q .", "code index . --rev HEAD~1", "code index . --rev HEAD"):
        assert sleuth(*command.split(), cwd=root).returncode == 0
    return root


def invisible(text: str) -> set[str]:
    return {char for char in text if char not in "\n\t" and is_invisible(char)}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:60])
def test_every_command_escapes(place: Path, command: list[str]) -> None:
    """Every command writes no invisible character, and its JSON stays valid."""
    process = sleuth(*command, cwd=place)
    assert process.stdout + process.stderr
    assert invisible(process.stdout + process.stderr) == set()
    if "--json" in command and process.stdout:
        json.loads(process.stdout)


@pytest.mark.parametrize(
    "command",
    [["search", "quagga", "--explain"], ["show", f"{NAME}.py"], ["code", "search", "quagga", "--expand", "callers"],
     ["code", "refs", "quagga"], ["code", "map"], ["code", "index", "."]],
    ids=lambda command: ascii(" ".join(command))[:60],
)  # fmt: skip
def test_a_terminal_gets_our_colours_alone(place: Path, command: list[str]) -> None:
    """The only codes on a terminal are Sleuth's colours, and none of them hides text."""
    output = sleuth_on_terminal(*command, cwd=place)[1].replace("\r\n", "\n")
    if command[:2] != ["code", "index"]:  # a bar of progress moves the cursor
        assert invisible(OURS.sub("", output)) == set()
    assert "\x1b[8m" not in output
    assert "\x1b]" not in output
    assert "\u202e" not in output


def test_json_keeps_every_character(place: Path) -> None:
    """Escaped JSON is parsed to the original text."""
    answer = json.loads(sleuth("code", "search", "quagga", "--json", cwd=place).stdout)
    assert any(EVIL in hit["text"] for hit in answer["hits"])
    text = json.dumps({"a": EVIL + "\udcff\ufdd0"}, ensure_ascii=False)
    assert json.loads(escape_json(text)) == {"a": EVIL + "\udcff\ufdd0"}


def test_escapes_are_visible() -> None:
    """Each invisible character is escaped as in Python; newlines, tabs, joiners and visible ones stay."""
    assert escape_text("a\x1b[31m\x9b\u202e\U000e0041\udcff") == "a\\x1b[31m\\x9b\\u202e\\U000e0041\\udcff"
    assert escape_text("a\r\nb\rc") == "a\nb\\rc"
    assert escape_text("naïve\t東京\n👩\u200d👩 نمی\u200cدانم") == "naïve\t東京\n👩\u200d👩 نمی\u200cدانم"


def test_commands_print_in_one_way() -> None:
    """No command prints or opens a console except through `common`."""
    for path in Path(cli.__path__[0]).glob("*.py"):
        if path.name == "common.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "Console"), f"{path.name}:{node.lineno}"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 33 notes that are indexed."""
    files = {f"{n}.md": f"# Note {n}\n\nThe zebra of day {n} is asleep.\n" for n in range(30)}
    files["tool.py"] = "def zebra():\n    return '\x1b]0;owned\x07 stripes'\n"
    files["hostile.txt"] = "A \x1b[31mred\x1b]0;owned\x07 quagga \u202egnp.exe\n"
    files["東京.txt"] = "東京の天気は晴れです。明日は雨が降るでしょう。" * 20
    home = write(tmp_path_factory.mktemp("home") / "notes", files).parent
    assert sleuth("index", "-q", "notes", cwd=home).returncode == 0
    return home


def test_progress_is_drawn(notes: Path) -> None:
    """Indexing shows a bar that counts files, for documents and code, and prints its report."""
    code, output = sleuth_on_terminal("index", "notes", "--index", "new", cwd=notes)
    assert code == 0, output
    assert "of 33 files" in output
    assert "33 added" in output
    code, output = sleuth_on_terminal("code", "index", "notes", "--index", "new", cwd=notes)
    assert code == 0, output
    assert "parsing" in output
    assert "33 files" in output


def test_matches_are_marked(notes: Path) -> None:
    """A hit has its path relative to here, with matches marked."""
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

    code, output = sleuth_on_terminal("search", "東京の天気", "-k", "1", cwd=notes)
    assert code == 0, output
    plain = output.replace("\x1b[1;33m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(cell_len, plain)) <= 80


def test_a_full_disk_is_one_line(notes: Path) -> None:
    """Output that cannot be written is reported in one line, without a traceback."""
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
    result = sleuth_process("search", "東京の天気", cwd=notes, PYTHONIOENCODING="latin-1")
    assert result.returncode == 0, result.stderr
    assert "??" in result.stdout


def test_ctrl_c_while_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before a command runs exits as during the command."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sleuth.surfaces.cli.main.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
