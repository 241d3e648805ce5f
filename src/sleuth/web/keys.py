"""Where does the API key come from?"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sleuth.errors import ArgumentError

KEY_NAME = "TAVILY_API_KEY"
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([^#\n]*?))\s*(?:#.*)?$")


def read_env_file(path: Path) -> dict[str, str]:
    """The settings of a `.env` file: lines of `NAME=value`, quotes, comments and `export` allowed."""
    values = {}
    for line in path.read_text("utf-8", errors="replace").splitlines():
        if match := _LINE.match(line):
            name, *forms = match.groups()
            values[name] = next((form for form in forms if form is not None), "")
    return values


def setting(name: str) -> str | None:
    """A setting from the environment, else from the nearest `.env` file in or above the working folder."""
    if value := os.environ.get(name):
        return value
    here = Path.cwd()
    nearest = next((folder / ".env" for folder in (here, *here.parents) if (folder / ".env").is_file()), None)
    return (read_env_file(nearest).get(name) or None) if nearest else None


def find_key(argument: str | None) -> str | None:
    """The API key: the argument, else `TAVILY_API_KEY` of the environment, else of `.env`; None where there
    is none.

    Raises:
        ArgumentError: a key that no HTTP header can carry; the message does not hold it.
    """
    key = (argument or setting(KEY_NAME) or "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ArgumentError("api_key must be printable ASCII without spaces, got one that is not (not shown)")
    return key
