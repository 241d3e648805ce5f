"""sleuth.toml: defaults of the command line, their precedence, and keys that a project may not set."""

import json
import re
import subprocess
import tomllib
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli import defaults
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from tests.code.conftest import write
from tests.commands import sleuth

HOME = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with an index of three documents, whose user has no file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("SLEUTH_CONFIG", raising=False)
    project = tmp_path / "project"
    write(project / "docs", {f"{name}.md": f"A bucket of tokens, {name}." for name in "abc"})
    assert sleuth("index", "docs", "--embedder", "", cwd=project).returncode == 0
    return project


def count(home: Path, *arguments: str, **environment: str) -> int:
    """Return how many results a search has."""
    process = sleuth("search", "--json", *arguments, "bucket", cwd=home, **environment)
    assert process.returncode == 0, process.stderr
    return len(json.loads(process.stdout)["items"])


def user_file(home: Path, text: str) -> Path:
    """Write the file of the user."""
    return write(home.parent / "user" / "sleuth", {"sleuth.toml": text}) / "sleuth.toml"


def test_a_file_sets_defaults_and_flags_win(home: Path) -> None:
    """The nearest file above is read; it overrides the user's file, and flags override both."""
    user_file(home, "k = 1\nexplain = true\n")
    assert count(home) == 1
    (home / "sleuth.toml").write_text("k = 2\n")
    assert count(home) == 2
    assert count(home / "docs") == 2
    assert count(home, "-k", "3") == 3
    assert count(home, SLEUTH_CONFIG="") == 1


def test_the_index_of_a_file(home: Path) -> None:
    """A path is relative to its file; $SLEUTH_INDEX and --index stand above it."""
    (home / ".sleuth").rename(home / "build")
    assert sleuth("status", cwd=home).returncode == 3
    (home / "sleuth.toml").write_text('index = "build"\n')
    assert sleuth("status", cwd=home / "docs").returncode == 0
    assert sleuth("list", cwd=home).stdout.count("docs/") == 3
    process = sleuth("status", cwd=home, SLEUTH_INDEX=str(home / "other"))
    assert process.returncode == 3
    assert str(home / "other") in process.stderr
    assert sleuth("status", "--index", "other", cwd=home).returncode == 3


@pytest.mark.parametrize(
    ("text", "message"),
    tomllib.loads(Path(__file__).with_name("wrong_settings.toml").read_text("utf8"))["files"],
)
def test_a_wrong_file_is_refused(home: Path, text: str, message: str) -> None:
    """An unknown key, a wrong value and a broken file are named, with the nearest key."""
    (home / "sleuth.toml").write_text(text)
    process = sleuth("search", "bucket", cwd=home)
    assert process.returncode == 2
    assert re.search(message, process.stderr), process.stderr


@pytest.mark.parametrize(
    "text",
    [
        'model = "openai:gpt"', 'rerank = "./model"', 'sources = ["docs", "web"]', 'sources = ["kb:ABC"]',
        'index = "../other"', 'index = "/tmp/other"', 'index = "s3://bucket/docs"', 'index = "."',
        'index = "link"', '[serve]\nhost = "0.0.0.0"', "[serve]\nworkers = 4",
    ],
)  # fmt: skip
def test_a_project_neither_sends_nor_opens_what_is_elsewhere(home: Path, text: str) -> None:
    """A file that came with a repository is refused with the way to trust it, and nothing is opened or asked."""
    (home.parent / "other").mkdir()
    (home / "link").symlink_to(home.parent / "other")
    file = home / "sleuth.toml"
    file.write_text(text)
    for words in (("search", "bucket"), ("ask", "What is a bucket?"), ("status",)):
        process = sleuth(*words, cwd=home)
        assert process.returncode in (2, 3)
        assert f"SLEUTH_CONFIG={file}" in process.stderr, process.stderr
    assert "must be" not in sleuth("list", cwd=home, SLEUTH_CONFIG="").stderr


def test_an_index_that_came_with_a_repository_is_refused(home: Path) -> None:
    """An index that git tracks is not opened because a file names it."""
    (home / ".sleuth").rename(home / "build")
    (home / "sleuth.toml").write_text('index = "build"\n')
    for words in (("init", "-q"), ("add", "-f", "build", "sleuth.toml")):
        subprocess.run(["git", *words], cwd=home, check=True, capture_output=True)
    process = sleuth("search", "bucket", cwd=home)
    assert process.returncode == 3
    assert "is tracked by git" in process.stderr


def test_a_trusted_file_may_hold_every_key(home: Path) -> None:
    """The user's own file, and one that the user names, set what a project may not."""
    user_file(home, 'model = "nobody-has-this"\n[serve]\nport = 1234\n')
    answer = json.loads(sleuth("doctor", "config", "--json", cwd=home).stdout)
    assert answer["settings"]["serve.port"]["value"] == 1234
    config_file = home.parent / "mine.toml"
    config_file.write_text('index = "project/.sleuth"\nk = 2\n')
    assert count(home.parent, SLEUTH_CONFIG=str(config_file)) == 2


def test_config_says_what_applies_and_why(home: Path) -> None:
    """Each setting is printed with its file or variable."""
    assert "No defaults are set" in sleuth("doctor", "config", cwd=home).stdout
    mine = user_file(home, "k = 4\nsyntax = false\n")
    file = home / "sleuth.toml"
    file.write_text('k = 2\nsources = ["docs"]\n')
    output = sleuth("doctor", "config", cwd=home, SLEUTH_INDEX="elsewhere").stdout
    assert output.splitlines() == [
        f"reads {mine}", f"reads {file}", f"k = 2  {file}", f"syntax = false  {mine}",
        f'sources = ["docs"]  {file}', 'index = "elsewhere"  $SLEUTH_INDEX',
    ]  # fmt: skip


def test_every_key_is_an_option_of_its_commands() -> None:
    """A key has the name and the type of an option of each command that it is for."""
    register(["--help"])
    root = typer.main.get_command(app)
    examples = {str: "x", int: 3, float: 0.5, bool: True, list: ["docs"]}
    for name, key in defaults.KEYS.items():
        value = examples[key.kind]
        defaults_of_key = defaults.default_map(root, {name: value})
        # It is read where an index is opened: an option of this name means another thing.
        if name == "synonyms":
            assert defaults_of_key == {}
            continue
        assert defaults_of_key, name
        for command in key.commands:
            options = reduce(getitem, command.split(), defaults_of_key)
            assert name.rpartition(".")[2] in options, (name, command)


def test_the_files_of_the_guide_are_right(tmp_path: Path) -> None:
    """The project's example may be found, and yours holds what a project may not."""
    guide = (HOME / "docs" / "how-to" / "set-defaults.md").read_text("utf8")
    project, mine = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    file = tmp_path / "sleuth.toml"
    file.write_text(project)
    assert defaults.read(file, is_trusted=False)["index"] == str(tmp_path / "build" / ".sleuth")
    file.write_text(mine)
    assert defaults.read(file, is_trusted=True)["serve.port"] == 9000
    with pytest.raises(ArgumentError, match="model must not be set by a project"):
        defaults.read(file, is_trusted=False)
    sentence = guide.partition("It may set")[2].partition("\n")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == {
        name for name, key in defaults.KEYS.items() if key.is_safe
    }
