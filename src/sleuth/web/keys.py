"""Finds the API key of a web search service and the address that it may be sent to.

The address comes from the caller or from the environment, never from a file: a person who can write a `.env` above
the working folder must not receive the key of the environment.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from sleuth import platform
from sleuth.errors import ArgumentError
from sleuth.remote import checked_base

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


def find_base(argument: str | None, name: str, public_base: str, *, needs_https: bool = True) -> str:
    """Return the address of a service: the argument, else that of the environment, else the public one.

    Args:
        name: the environment variable.
        needs_https: whether a key is sent there.

    Raises:
        ArgumentError: the address is not https (except on this machine), or holds a user, password, query or fragment.
    """
    base = argument or os.environ.get(name) or public_base
    if not base:
        return ""
    source = "base_url" if argument else name
    base = checked_base(base, source)
    parts = urlsplit(base)
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if needs_https and parts.scheme != "https" and not is_local:
        raise ArgumentError(f"{source} must be https, or http on this machine, got {base!r}")
    return base


def find_key(argument: str | None, name: str) -> str | None:
    """Return an API key: the argument, else that of the environment, else that of `.env`, else None.

    This is the nearest `.env` in or above the working folder that belongs to this user or to root.

    Args:
        name: the environment variable.

    Raises:
        ArgumentError: an HTTP header cannot carry the key; the message does not show it.
    """
    key = argument or os.environ.get(name)
    working_folder = Path.cwd()
    for path in () if key else (folder / ".env" for folder in (working_folder, *working_folder.parents)):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_uid in (platform.user(), 0):
            key = read_env_file(path).get(name)
            break
    key = (key or "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ArgumentError("api_key must be printable ASCII without spaces, got one that is not (not shown)")
    return key
