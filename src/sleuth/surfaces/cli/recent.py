"""Keeps the places of the results that a terminal showed last, for `sleuth open`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sleuth.files import user_folder


class ResultPlace(NamedTuple):
    """Where a result stands.

    Attributes:
        name: as the list showed it.
        file: absolute path; "" where it is in no file of this machine.
        line: from 1; 0 without one.
    """

    name: str
    file: str = ""
    line: int = 0


def remember(places: Sequence[ResultPlace]) -> None:
    """Keep the results of this terminal; do nothing without a terminal or where nothing can be written."""
    if not sys.stdout.isatty():
        return
    folder = _folder()
    file = folder / f"results-{_terminal()}.json"
    partial = file.with_suffix(f".{os.getpid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump(places, out)
        partial.replace(file)
    except OSError:
        return


def recall() -> list[ResultPlace]:
    """Return the results that this terminal showed last, or else any terminal; none before the first search."""
    folder = _folder()
    own = folder / f"results-{_terminal()}.json"
    try:
        others = sorted(folder.glob("results-*.json"), key=lambda file: file.stat().st_mtime)
        file = own if own.exists() else others[-1]
        return [
            ResultPlace(str(name), str(path), int(line)) for name, path, line in json.loads(file.read_text())
        ]
    except (OSError, ValueError, TypeError, IndexError):
        return []


def _folder() -> Path:
    """Return `sleuth` in the user's folder for state."""
    return user_folder("XDG_STATE_HOME", ".local/state")


def _terminal() -> str:
    """Return a name of this terminal, fit for a file."""
    for stream in (sys.stdout, sys.stdin, sys.stderr):
        try:
            return os.ttyname(stream.fileno()).strip("/").replace("/", "-")
        except (OSError, ValueError):
            continue
    return "none"
