"""The options that the pages about the server name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register

GUIDES = Path(__file__).parents[3] / "docs"
PAGES = ("how-to/serve-with-keys.md", "how-to/watch-the-server.md")


def test_every_option_of_the_guide_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option that the pages name is an option of the command."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    register(["serve"])
    commands = (["serve"], ["serve", "keys", "add"])
    help_text = "".join(CliRunner().invoke(app, [*command, "--help"]).output for command in commands)
    text = "".join((GUIDES / page).read_text("utf8") for page in PAGES)
    options = set(re.findall(r"`(--[a-z-]+)", text))
    assert options
    assert not [option for option in options if option not in help_text]
