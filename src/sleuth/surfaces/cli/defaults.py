"""Reads `sleuth.toml`: defaults of the command line, of the user and of a project, and what a project may set.

A project's file may come from somebody else, with a cloned repository. So it may hold only keys that neither start a
program, nor load a model, nor send anything to another machine, nor open an index that somebody else may have made.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sleuth.arguments import spelling_hint
from sleuth.errors import ArgumentError
from sleuth.files import user_folder

NAME: Final = "sleuth.toml"
VARIABLE: Final = "SLEUTH_CONFIG"
"""Names the file of a project, which is trusted then; empty for none."""

MOST_BYTES: Final = 1_000_000
"""Size of a file at most."""

LOCAL_SOURCES: Final = ("docs", "code")
"""Sources that a project may name; `code:REPOSITORY` too."""


class ConfigKey(NamedTuple):
    """A key of the file.

    Attributes:
        kind: type of its value.
        commands: that have it as an option of this name; empty for all that do.
        is_safe: whether the file of a project may hold it.
    """

    kind: type
    commands: tuple[str, ...] = ("search", "ask")
    is_safe: bool = True


KEYS: Final[Mapping[str, ConfigKey]] = {
    "index": ConfigKey(str, ()),
    "sources": ConfigKey(list, ("search", "ask", "serve")),
    "k": ConfigKey(int),
    **dict.fromkeys(("filter", "fusion", "expand", "recency", "boost"), ConfigKey(str)),
    **dict.fromkeys(("fold_copies", "explain", "exact", "syntax"), ConfigKey(bool)),
    **dict.fromkeys(("min_score", "deadline"), ConfigKey(float)),
    "legs": ConfigKey(list),
    "per_document": ConfigKey(int),
    "synonyms": ConfigKey(str, ("",)),  # no option: it is read where an index is opened
    "rerank": ConfigKey(str, is_safe=False),
    "model": ConfigKey(str, ("ask", "index summarize", "serve"), is_safe=False),
    **{
        f"serve.{name}": ConfigKey(kind, ("serve",), is_safe=False)
        for kind, names in {
            str: ("host",),
            int: ("port", "workers", "threads"),
            bool: ("read_only",),
            list: ("rerank", "allow_host", "cors"),
            float: ("deadline", "answer_deadline"),
        }.items()
        for name in names
    },
}
"""What a file may hold; a dot stands for a table. An option says what its key means."""

_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}


class Setting(NamedTuple):
    """A value, and where it comes from."""

    value: Any
    origin: str


def settings() -> dict[str, Setting]:
    """Return what the files set: those of a project over those of the user.

    Raises:
        ArgumentError: a file that cannot be read, an unknown key, a wrong value, or a key that a project may not set.
        IndexUnsafeError: somebody else may have made the index that a project names.
    """
    values: dict[str, Setting] = {}
    for file, is_trusted in files():
        values |= {
            name: Setting(value, str(file)) for name, value in read(file, is_trusted=is_trusted).items()
        }
    return values


def files() -> Iterator[tuple[Path, bool]]:
    """Yield the files that apply, the strongest last, each with whether it is trusted."""
    home = user_file()
    if os.path.isfile(home):  # noqa: PTH113 - see `user_folder`
        yield home, True
    if (path := os.environ.get(VARIABLE)) is not None:
        if path:
            yield Path(path).absolute(), True
        return
    cwd = Path.cwd()
    above = (folder / NAME for folder in (cwd, *cwd.parents))
    project = next((file for file in above if os.path.isfile(file)), None)  # noqa: PTH113 - as above
    if project is not None and project != home:
        yield project, False


def user_file() -> Path:
    """Return the file of the user, which need not exist."""
    return user_folder("XDG_CONFIG_HOME", ".config") / NAME


def read(file: Path, *, is_trusted: bool) -> dict[str, Any]:
    """Return the checked values of a file by key.

    Raises:
        ArgumentError, IndexUnsafeError: see `settings`.
    """
    import tomllib

    try:
        if file.stat().st_size > MOST_BYTES:
            raise ArgumentError(f"{file} must have at most {MOST_BYTES:,} bytes, got {file.stat().st_size:,}")
        values = tomllib.loads(file.read_text("utf8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{file} must be TOML that can be read: {error}") from error
    flat = dict(_flat(values))
    for name, value in flat.items():
        _check(file, name, value, is_trusted=is_trusted)
        if name == "synonyms" or (name == "index" and "://" not in value):
            flat[name] = str(file.parent / value)
    return flat


def _flat(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{table}{name}.")
        else:
            yield f"{table}{name}", value


def _check(file: Path, name: str, value: Any, *, is_trusted: bool) -> None:
    """Refuse an unknown key, a value of another type, and what a project's file, maybe somebody else's, may not set."""
    key = KEYS.get(name)
    if key is None:
        hint = spelling_hint(name, KEYS)
        raise ArgumentError(f"keys of {file} must be among {', '.join(KEYS)}, got {name!r}{hint}")
    is_right = type(value) is key.kind or (key.kind is float and type(value) is int)
    is_right = is_right and "\0" not in str(value)
    if not is_right or (key.kind is list and not all(isinstance(entry, str) for entry in value)):
        kind = "an array of strings" if key.kind is list else f"of type {_TYPES[key.kind]}"
        raise ArgumentError(f"{name} in {file} must be {kind}, got {value!r}")
    if is_trusted:
        return
    mend = (
        f"set it in your own file, {user_file()}, or trust this one with {VARIABLE}={shlex.quote(str(file))}"
    )
    if not key.is_safe:
        raise ArgumentError(f"{name} must not be set by a project, as {file} does: {mend}")
    if name == "sources" and not all(source.partition(":")[0] in LOCAL_SOURCES for source in value):
        raise ArgumentError(
            f"sources of {file} must be docs and code, since others send queries away: {mend}"
        )
    if name == "synonyms" and file.parent.resolve() not in (file.parent / value).resolve().parents:
        raise ArgumentError(f"synonyms of {file} must be a file below its folder, got {value!r}: {mend}")
    if name == "index":
        from sleuth.surfaces.cli.places import check_origin

        folder = file.parent / value
        if "://" in value or file.parent.resolve() not in folder.resolve().parents:
            raise ArgumentError(f"index of {file} must be a folder below it, got {value!r}: {mend}")
        check_origin(folder)


def synonyms_file() -> Path | None:
    """Return the file of synonyms that the files set; None for the index's own."""
    setting = settings().get("synonyms")
    return None if setting is None else Path(setting.value)


def default_map(command: Any, values: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return defaults of the options of a command and of those below it, as click takes them."""
    defaults_by_name: dict[str, Any] = {}
    for parameter in command.params:
        table = f"{path[0]}.{parameter.name}" if len(path) == 1 else ""
        name = next((key for key in (table, parameter.name) if key in values), "")
        if name and (not KEYS[name].commands or " ".join(path) in KEYS[name].commands):
            defaults_by_name[parameter.name or ""] = values[name]
    for name, subcommand in getattr(command, "commands", {}).items():
        if defaults := default_map(subcommand, values, (*path, name)):
            defaults_by_name[name] = defaults
    return defaults_by_name
