"""The pages about agents are true."""

import json
import re
import tomllib
from pathlib import Path

from sleuth.surfaces.mcp import TOOLS

ROOT = Path(__file__).parents[3]
GUIDE = "\n".join(
    (ROOT / "docs" / page).read_text("utf-8") for page in ("how-to/agents.md", "concepts/agents.md")
)


def test_every_tool_is_described() -> None:
    """Each tool is listed with its arguments."""
    for tool in TOOLS:
        (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| `{tool.name}` |")]
        assert re.findall(r"`(\w+)`", row)[1 : 1 + len(tool.properties)] == list(tool.properties)


def test_the_entry_for_the_registry_is_of_this_version() -> None:
    """`server.json` has the version of the package and the name in the README, and starts the command `mcp`."""
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (package,) = entry["packages"]
    assert {entry["version"], package["version"]} == {project["version"]}
    assert package["identifier"] == project["name"]
    assert f"mcp-name: {entry['name']} " in (ROOT / "README.md").read_text("utf-8")
    assert len(entry["description"]) <= 100  # a limit of the registry
    assert [each["value"] for each in package["packageArguments"]] == ["mcp"]
    assert package["runtimeArguments"][0]["value"] == f"{project['name']}[mcp]"
