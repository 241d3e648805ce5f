"""Changes of settings files that add Sleuth to an agent or remove it: shown first, then written in one step."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from sleuth.errors import ArgumentError
from sleuth.files import whole_file
from sleuth.surfaces.mcp import edits, guide
from sleuth.surfaces.mcp.clients import NAME, Client, Scope, client_named


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file that is not written yet.

    Attributes:
        before: None where there is no file; after: None where the file is removed.
        restored: the copy whose content the file gets back; it is removed with the change. None for another change.
    """

    path: Path
    before: str | None
    after: str | None
    restored: Path | None = None

    @property
    def diff(self) -> str:
        """What would change; "" where nothing would."""
        lines = (self.before or "").splitlines(), (self.after or "").splitlines()
        old, new = (os.devnull if text is None else str(self.path) for text in (self.before, self.after))
        if self.before == self.after:
            return ""
        return "\n".join(difflib.unified_diff(*lines, old, new, lineterm="")) or f"{old} -> {new}"

    def write(self) -> Path | None:
        """Replace or remove the file in one step.

        Returns:
            Where the old one is kept; None for a new file, and for one that gets its first content back.

        Raises:
            ArgumentError: the file changed since it was read.
        """
        if _read(self.path) != self.before:
            raise ArgumentError(
                f"{self.path} must stay as it is meanwhile, and has changed: run the command again"
            )
        if self.after is None:
            self.path.unlink()
            return None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if self.before is not None and self.restored is None:
            backup = self.path.with_name(f"{self.path.name}.{time.strftime('%Y%m%d-%H%M%S')}.bak")
            shutil.copy2(self.path, backup)
        mode = 0o600 if self.before is None else stat.S_IMODE(self.path.stat().st_mode)
        with whole_file(self.path, mode=mode) as file:
            file.write(self.after.encode())
        if self.restored is not None:
            self.restored.unlink()
        return backup


def install(client: str, scope: Scope, folder: Path, *, index: Path | None = None) -> Edit:
    """Return the change that adds Sleuth to the servers of a client, or brings its entry up to date.

    Raises:
        ArgumentError: an unknown client, or settings that cannot be read.
    """
    agent = client_named(client)
    path = agent.path(scope, folder)
    before = _read(path)
    return Edit(path, before, _with_entry(agent, path, before or "", entry=agent.entry(index, folder)))


def uninstall(client: str, scope: Scope, folder: Path) -> Edit:
    """Return the change that removes Sleuth from the servers of a client.

    If nothing else changed since `install`, the file becomes what it was, byte for byte.

    Raises:
        ArgumentError: an unknown client, or settings that cannot be read.
    """
    agent = client_named(client)
    path = agent.path(scope, folder)
    before = _read(path)
    keys = (*agent.keys, NAME)
    is_toml = path.suffix == ".toml"
    entry = None if before is None else (edits.read_toml if is_toml else edits.read_json)(before, keys)
    if before is None or entry is None:
        return Edit(path, before, before)
    if isinstance(entry, Mapping):
        add = partial(_with_entry, agent, path, entry=entry)
        if (edit := _to_copy(path, before, add)) is not None:
            return edit
        if _result(add, "") == before:
            return Edit(path, before, None)
    return Edit(path, before, (edits.remove_toml if is_toml else edits.remove_json)(before, keys))


def add_guide(client: str, folder: Path) -> Edit:
    """Return the change that tells a client, in the file with its instructions, when to use which tool."""
    path = folder / client_named(client).reads
    before = _read(path)
    return Edit(path, before, guide.with_section(before))


def remove_guide(client: str, folder: Path) -> Edit:
    """Return the change that takes the instructions out again, and removes the copy that was kept."""
    path = folder / client_named(client).reads
    before = _read(path)
    edit = None if before is None else _to_copy(path, before, guide.with_section)
    return edit or Edit(path, before, guide.without_section(before))


def add_skill(client: str, folder: Path) -> Edit:
    """Return the change that writes a skill for a client."""
    path = folder / client_named(client).skills / NAME / "SKILL.md"
    return Edit(path, _read(path), guide.SKILL)


def remove_skill(client: str, folder: Path) -> Edit:
    """Return the change that removes the skill; one that somebody edited stays."""
    path = folder / client_named(client).skills / NAME / "SKILL.md"
    before = _read(path)
    return Edit(path, before, None if before == guide.SKILL else before)


def _with_entry(agent: Client, path: Path, text: str, *, entry: Mapping[str, Any]) -> str:
    keys = (*agent.keys, NAME)
    return (edits.set_toml if path.suffix == ".toml" else edits.set_json)(text, keys, entry)


def _result(change: Callable[[str], str], text: str) -> str | None:
    """Return a changed text; None where the text cannot be changed."""
    try:
        return change(text)
    except ArgumentError:
        return None


def _to_copy(path: Path, before: str, change: Callable[[str], str]) -> Edit | None:
    """Return the change of a file back to the copy that was kept; None if it changed in another way since."""
    for copy in sorted(path.parent.glob(f"{escape(path.name)}.*.bak"), reverse=True):
        if (original := _read(copy)) is not None and _result(change, original) == before:
            return Edit(path, before, original, copy)
    return None


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} must be a text file that can be read: {error}") from None
