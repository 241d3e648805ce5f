"""What all commands share: finding the index, printing, failing."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sleuth import errors
from sleuth.files import user_folder
from sleuth.surfaces.cli.defaults import synonyms_file
from sleuth.surfaces.cli.places import index_folder
from sleuth.text import clean_text
from sleuth.text.clean import escape_json, escape_text

if TYPE_CHECKING:
    from rich.console import Console

    from sleuth.engine import Engine
    from sleuth.engine.answers import Answering
    from sleuth.engine.sources import Sources

_CODES = {"head": "1;36", "dim": "2", "italic": "3", "match": "1;33"}
_MARKS = {name: chr(0xFDD0 + i) for i, name in enumerate(_CODES)}
"""Placeholders for codes until a text is printed: characters that Unicode reserves for use inside a program."""
_END = "\ufdef"


def say(text: str = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print a text, with all characters escaped that could control a terminal.

    Args:
        err: print on standard error.
    """
    stream = sys.stderr if err else sys.stdout
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    text = escape_text(text)
    if max(map(text.rfind, _MARKS.values())) > text.rfind(_END):  # wrapping has cut a match
        text += _END
    for name, mark in _MARKS.items():
        text = text.replace(mark, f"\x1b[{_CODES[name]}m" if coloured else "")
    print(text.replace(_END, "\x1b[0m" if coloured else ""), file=stream, end=end, flush=flush)


def say_row(*cells: object) -> None:
    """Print one line of cells with tabs between them; a newline or tab inside a cell is escaped too."""
    say("\t".join(str(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in cells))


def amount(number: int, noun: str) -> str:
    """Return a number with its noun: "1 document", "1,200 documents"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def styled(text: str, style: str) -> str:
    """Mark a text with a style ("head", "dim", "italic", "match"), which `say` omits in a pipe or with NO_COLOR."""
    return f"{_MARKS[style]}{text}{_END}"


def console(*, stderr: bool = False) -> Console:
    """Return a rich console, for bars of progress and for the width of texts; texts are escaped before."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


_EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.IndexLockedError, 4),
    (errors.RemoteError, 5),
    (errors.StoreError, 3),
    (errors.ArgumentError, 2),
    (errors.UnknownSnapshotError, 2),
    (errors.UnknownCommitError, 2),
    (errors.UnknownRepositoryError, 2),
)


def exit_code(error: Exception) -> int:
    """Return the documented exit code of a failure."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def fail(error: Exception) -> None:
    """Print a failure on standard error."""
    message = str(error)
    if isinstance(error, errors.IndexNotFoundError):
        message = message.replace("create=True", "`sleuth index PATH`")
    say(f"sleuth: {message}", err=True)


def print_json(value: Any) -> None:
    """Print one JSON document in UTF-8, with keys in their order and invisible characters escaped."""
    text = json_format.dumps(value, ensure_ascii=False, indent=2, default=_plain)
    say(escape_json(text))


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


def print_answer(
    json: bool,
    facts: Any,
    lines: Iterable[str | tuple[object, ...]] = (),
    *,
    found: object = True,
    missing: str = "",
) -> None:
    """Print an answer as JSON, or its lines, of which a tuple is a row of cells.

    Args:
        found: whether there is anything: if not, `missing` is said on standard error, and the command exits with 1.
    """
    if json:
        print_json(facts)
    else:
        for line in lines:
            if isinstance(line, tuple):
                say_row(*line)
            else:
                say(line)
    if not found:
        if missing:
            say(f"sleuth: {missing}", err=True)
        raise typer.Exit(1)


def open_index(option: Path | None, *, create: bool = False) -> Engine:
    """Open the index of a command.

    Args:
        create: make a missing one.
    """
    from sleuth.engine import Engine

    engine = Engine.open(index_folder(option), create=create, synonyms=synonyms_file())
    for repair in engine.repairs:
        say(f"sleuth: mended {repair.what}: {repair.why}", err=True)
    return engine


def open_sources(
    sources: list[str] | None, option: Path | None, *, deadline: float = 30.0
) -> Engine | Sources:  # 30 s for each source, as by default in `Sources`
    """Open the index of a command, or the sources of `--in` as one; code is that of the worktree as it is."""
    names = list(dict.fromkeys(sources or ["docs"]))
    if names == ["docs"]:
        return open_index(option)
    from sleuth.engine.sources import open_sources as open_named
    from sleuth.web import WebRetriever

    source_names = [name for name in names if name != "web"]
    web = {"web": WebRetriever(cache=web_cache(), timeout=deadline)} if "web" in names else {}
    path = index_folder(option) if any(name.partition(":")[0] in ("docs", "code") for name in names) else ""
    opened_sources = open_named(
        path, source_names, extra=web, deadline=deadline, refresh=True, synonyms=synonyms_file()
    )
    for warning in opened_sources.warnings:
        say(f"sleuth: stale: {warning}", err=True)
    return opened_sources


@contextmanager
def new_or_open_index(folder: Path, embedder: str | None = None) -> Iterator[Engine]:
    """Open or make the index in a folder; a new one that is still empty after a failure is deleted."""
    from shutil import rmtree

    from sleuth.engine import Engine

    is_new = not folder.exists() or not any(folder.iterdir())
    is_empty = False
    try:
        with Engine.open(folder, create=True, embedder=embedder) as engine:
            try:
                yield engine
            except BaseException:
                is_empty = not engine.count().documents
                raise
    except BaseException:
        if is_new and is_empty:
            rmtree(folder)
        raise


def warn_of_plugins(engine: Answering) -> None:
    """Name the plugins that failed on standard error: the search goes on without them."""
    for info in engine.morpheus.all_plugins().values():
        if info.status == "failed":
            say(f"sleuth: the plugin {clean_text(info.name)} failed: {clean_text(info.error)}", err=True)


def web_cache() -> Path:
    """Return the folder that keeps answers of the web: `sleuth/web` in the user's cache folder."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "web"


def human_bytes(n: float) -> str:
    """Return a size as in `12.3 MB`, in powers of 1,000."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(n) < 1000:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} TB"
