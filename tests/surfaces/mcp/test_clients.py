"""Entries in the settings of agents are written and removed without other changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.surfaces.mcp import install
from sleuth.surfaces.mcp.edits import remove_json, remove_toml, set_json, set_toml
from tests.examples import examples

KEYS = ("mcpServers", "sleuth")
TABLE = ("mcp_servers", "sleuth")
ENTRY = {"command": "sleuth", "args": ["mcp"]}
WITH_COMMENTS = """{
  // my servers
  "mcpServers": {
    "other": { "command": "x" }, /* keep */
  },
  "theme": "dark",
}
"""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(), values, max_size=4)


@given(documents, st.dictionaries(st.text(), values, max_size=3), st.sampled_from([None, 2]))
@settings(max_examples=examples(60), deadline=None)
def test_only_the_entry_changes(document: Any, servers: Any, indent: Any) -> None:
    """In any JSON document, setting an entry changes only that entry, and removing it restores the document."""
    servers.pop("sleuth", None)
    text = json.dumps({**document, "mcpServers": servers}, indent=indent)
    edited = set_json(text, KEYS, ENTRY)
    assert json.loads(edited) == {**document, "mcpServers": {**servers, "sleuth": ENTRY}}
    assert json.loads(remove_json(edited, KEYS)) == {**document, "mcpServers": servers}
    if servers:
        assert remove_json(edited, KEYS) == text


def test_comments_and_trailing_commas_stay() -> None:
    """Every byte of a file with comments stays, and is restored when the entry is removed."""
    edited = set_json(WITH_COMMENTS, KEYS, ENTRY)
    assert "// my servers" in edited
    assert "/* keep */" in edited
    assert '"sleuth"' in edited
    assert remove_json(edited, KEYS) == WITH_COMMENTS


@pytest.mark.parametrize("text", ["", "{}", "{\n}\n", '{"a": 1}', "{ // nothing yet\n}"])
def test_missing_objects_are_made(text: Any) -> None:
    """A missing object of servers is created."""
    edited = set_json(text, KEYS, ENTRY)
    lines = [line.split("//")[0] for line in edited.splitlines()]
    assert json.loads("\n".join(lines))["mcpServers"] == {"sleuth": ENTRY}


def test_setting_again_replaces_the_entry() -> None:
    """An existing entry is replaced."""
    once = set_json("{}", KEYS, {"command": "old"})
    assert json.loads(set_json(once, KEYS, ENTRY)) == {"mcpServers": {"sleuth": ENTRY}}


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', "[1, 2", "{'a': 1}", '{"a": tru}', "{} x", '{"mcpServers": []}']
)
def test_broken_settings_are_refused(text: Any) -> None:
    """Invalid JSON, and a value in place of the servers, are refused and not overwritten."""
    with pytest.raises(ArgumentError):
        set_json(text, KEYS, ENTRY)


def test_toml_tables_of_others_stay() -> None:
    """A table is added to TOML and removed again without changing other tables and comments."""
    text = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # why\n'
    edited = set_toml(text, TABLE, ENTRY)
    assert tomllib.loads(edited)["mcp_servers"] == {"other": {"command": "y"}, "sleuth": ENTRY}
    assert set_toml(edited, TABLE, ENTRY) == edited
    assert remove_toml(edited, TABLE).rstrip("\n") == text.rstrip("\n")


def test_toml_tables_below_go_with_it() -> None:
    """The sub-tables of a table are removed with it."""
    text = '[mcp_servers.sleuth]\ncommand = "x"\n[mcp_servers.sleuth.env]\nA = "1"\n[mcp_servers.sleuth2]\nb = 1\n'
    assert tomllib.loads(remove_toml(text, TABLE)) == {"mcp_servers": {"sleuth2": {"b": 1}}}


def test_an_inline_table_is_replaced_and_removed() -> None:
    """An entry that is written as an inline table is edited like any other table."""
    text = 'model = "y" # mine\n[mcp_servers]\nother = {command = "z"}\nsleuth = {command = "x"}\n'
    result = set_toml(text, TABLE, ENTRY)
    assert tomllib.loads(result) == {
        "mcp_servers": {"other": {"command": "z"}, "sleuth": ENTRY},
        "model": "y",
    }
    assert "# mine" in result
    assert tomllib.loads(remove_toml(result, TABLE))["mcp_servers"] == {"other": {"command": "z"}}


@pytest.mark.parametrize(
    "text", ["a = ", "mcp_servers = 3\n", 'mcp_servers.sleuth = {command = "x"}\nmodel = "y"\n']
)
def test_toml_that_cannot_be_edited_is_refused(text: Any) -> None:
    """Invalid TOML, a value in place of the servers, and dotted keys are refused and not overwritten."""
    with pytest.raises(ArgumentError):
        set_toml(text, TABLE, ENTRY)


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """A settings file that changed after it was read is not overwritten."""
    path = tmp_path / ".mcp.json"
    path.write_text("{}", "utf-8")
    edit = install("claude-code", "project", tmp_path)
    path.write_text('{"theme": "dark"}', "utf-8")
    with pytest.raises(ArgumentError, match="changed"):
        edit.write()
    assert path.read_text("utf-8") == '{"theme": "dark"}'


def test_an_unknown_client_is_refused(tmp_path: Path) -> None:
    """An unknown client raises an error with the known ones."""
    with pytest.raises(ArgumentError, match=r"claude-code, claude-desktop, cursor.*'emacs'"):
        install("emacs", "project", tmp_path)
