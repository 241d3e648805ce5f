"""Finds the API key of the web search and the address that it may be sent to.

The address comes from the caller or from the environment, never from a file: a person who can write a `.env` above
the working folder must not receive the key of the environment.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from sleuth.errors import ArgumentError
from sleuth.remote import checked_base

KEY_NAME = "TAVILY_API_KEY"
BASE_NAME = "TAVILY_BASE_URL"
PUBLIC_BASE = "https://api.tavily.com"
_LONGEST_FILE = 1_000_000
"""Characters of a `.env` that are read."""
_LINE = re.compile(
    r"\s*+(?:export\s++)?([A-Za-z_]\w*)\s*+=\s*+(?:'([^']*)'|\"([^\"]*)\"|([^#\n]*+))\s*+(?:#.*)?$"
)


def read_env_file(path: Path) -> dict[str, str]:
    """Return the settings of a `.env` file: lines of `NAME=value`, with optional quotes, comments and `export`."""
    values = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST_FILE)
    for line in text.splitlines():
        if match := _LINE.match(line):
            name, *quoted, plain = match.groups()
            values[name] = (
                plain.rstrip() if plain is not None else next(form for form in quoted if form is not None)
            )
    return values


def _nearest_env_file() -> Path | None:
    """Return the nearest `.env` in or above the working folder that belongs to this user or to root."""
    here = Path.cwd()
    for path in (folder / ".env" for folder in (here, *here.parents)):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_uid in (_user(), 0):
            return path
    return None


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def find_base(argument: str | None) -> str:
    """Return the address of the service: the argument, else `TAVILY_BASE_URL`, else the public one.

    Raises:
        ArgumentError: the address is not https (except on this machine), or holds a user, password, query or fragment.
    """
    name = "base_url" if argument else BASE_NAME
    base = checked_base(argument or os.environ.get(BASE_NAME) or PUBLIC_BASE, name)
    parts = urlsplit(base)
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not is_local:
        raise ArgumentError(f"{name} must be https, or http on this machine, got {base!r}")
    return base


def find_key(argument: str | None) -> str | None:
    """Return the API key: the argument, else `TAVILY_API_KEY` of the environment, else of `.env`, else None.

    Raises:
        ArgumentError: an HTTP header cannot carry the key; the message does not show it.
    """
    key = (argument or os.environ.get(KEY_NAME) or _key_of_file() or "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ArgumentError("api_key must be printable ASCII without spaces, got one that is not (not shown)")
    return key


def _key_of_file() -> str | None:
    path = _nearest_env_file()
    return None if path is None else read_env_file(path).get(KEY_NAME)
