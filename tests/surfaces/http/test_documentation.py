"""The examples of the guide to the server work as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from sleuth.surfaces.http import read_entries

from .conftest import Local, make_index, serving

GUIDE = (Path(__file__).parents[3] / "docs" / "how-to" / "serve-with-keys.md").read_text("utf8")


EXAMPLES = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize(("code", "expected"), EXAMPLES, ids=["client", "tenants"])
def test_the_guide_s_examples_print_what_they_say(tmp_path: Path, code: str, expected: str) -> None:
    """Each example of the guide prints the block below it in an empty folder."""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.stderr, result.stdout) == ("", expected)


def test_requests_with_curl_are_answered(server: Local) -> None:
    """The curl request of the guide returns hits."""
    match = re.search(r"curl .*/v1/search .*-d '(.*?)'", GUIDE)
    assert match
    headers = {"content-type": "application/json"}
    answer = server.client.post("/v1/search", content=match[1], headers=headers)
    assert answer.status_code == 200
    assert answer.json()["items"]


def test_the_client_of_the_guide_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The example with OpenAI's client prints a score, a file name and a text."""
    match = re.search(r"```python\n(from openai .*?)```", GUIDE, re.DOTALL)
    assert match
    with serving(make_index(tmp_path / ".sleuth")) as started:
        values: dict[str, Any] = {}
        exec(match[1].replace("localhost:8321", f"localhost:{started.port}"), values)  # noqa: S102
        values["client"].close()
    score, name, _ = capsys.readouterr().out.splitlines()[0].split(" ", 2)
    assert 0 < float(score) <= 1
    assert name in {"limits.md", "bucket.md", "cats.md"}


def test_the_keys_of_the_guide_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the guide add keys with their scopes and filters."""
    monkeypatch.chdir(tmp_path)
    register(["serve"])
    lines = re.findall(r"^\$ sleuth (serve keys add .*)$", GUIDE, re.MULTILINE)
    for line in lines:
        assert CliRunner().invoke(app, shlex.split(line)).output.startswith("sleuth_")
    entries = {entry["name"]: entry for entry in read_entries(tmp_path / "keys.json")}
    assert entries["alice"]["scopes"] == ["read", "write"]
    assert (entries["acme"]["scopes"], entries["acme"]["filter"]) == (["read"], "tenant:acme")


def test_every_option_of_the_guide_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option that the guide names is an option of the command."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    register(["serve"])
    commands = (["serve"], ["serve", "keys", "add"])
    help_text = "".join(CliRunner().invoke(app, [*command, "--help"]).output for command in commands)
    options = set(re.findall(r"`(--[a-z-]+)", GUIDE))
    assert options
    assert not [option for option in options if option not in help_text]
