"""sleuth code history, and sleuth code search --history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.common import JsonOption, print_json
from sleuth.surfaces.cli.options import FLAGS
from sleuth.surfaces.cli.snapshots import Opening, path_inside, takes_snapshot
from sleuth.surfaces.cli.terminal import console, say, say_row

if TYPE_CHECKING:
    from sleuth.code.repository.commits import Commit
    from sleuth.code.search.request import CodeRequest
    from sleuth.surfaces.cli.snapshots import OpenSnapshot

_SHORT_ID = 12
_SHOWN_PATHS = 5


@takes_snapshot
def history(
    name: Annotated[str, typer.Argument(help="A file, FILE:10-20, or a name such as Class.method.")],
    opening: Opening,
    k: Annotated[int, typer.Option("-k", "--limit", min=1, help="How many commits.")] = 20,
    text: Annotated[str, typer.Option("--text", help="Only commits that added or removed this text.")] = "",
    json: JsonOption = False,
) -> None:
    """List the commits that touched a file, some lines of it or a definition, newest first."""
    from sleuth.code.repository.history import commits_of
    from sleuth.code.search.history import base_of, places_named

    with opening as current:
        snapshot = current.snapshot
        root = Path(snapshot.repository.path)
        place = next(places_named(snapshot, path_inside(name, root)), None)
        if place is None:
            raise ArgumentError(f"name must be a file or a definition of the snapshot, got {name!r}")
        path = place.file.path
        commits = commits_of(root, path, revision=base_of(snapshot), lines=place.lines, text=text, most=k)
    if json:
        lines = list(place.lines) if place.lines else None
        facts = {"path": path, "lines": lines, "stale": current.stale}
        print_json(facts | {"commits": [commit._asdict() for commit in commits]})
    else:
        for commit in commits:
            _print_commit(commit)
    if not commits:
        raise typer.Exit(1)


def check_messages(request: CodeRequest, budget: int | None) -> None:
    """Refuse options of a search for code that do not fit one of commits.

    Raises:
        ArgumentError: names them.
    """
    fit = {"repository", "at", "paths", "explain"}
    names = [name for name in request.changed() if name not in fit] + (
        ["budget"] if budget is not None else []
    )
    if names:
        flags = (FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0] for name in names)
        raise ArgumentError(f"--history must stand without {', '.join(flags)}")


def search_messages(
    opening: OpenSnapshot,
    query: str,
    k: int,
    path: Sequence[str] | None,
    *,
    refresh: bool,
    json: bool,
) -> None:
    """Print the commits whose messages, paths or changed lines answer a query.

    Args:
        refresh: whether commits that are not recorded are recorded first.
    """
    from sleuth.code import search_history
    from sleuth.code.snapshots.refreshing import refresh_history

    if path is not None and len(path) > 1:
        raise ArgumentError(f"--path must be given once with --history, got {path!r}")
    snapshot = opening.snapshot
    if refresh and (warning := refresh_history(opening.storage, snapshot)):
        say(f"sleuth: {warning}", err=True)
    hits = search_history(snapshot, query, k, path=path[0] if path else "")
    if json:
        facts = {"query": query, "snapshot": snapshot.info.id, "stale": opening.stale}
        print_json(facts | {"commits": [hit.to_dict() for hit in hits]})
    else:
        for hit in hits:
            _print_commit(hit.commit, *hit.paths)
    if not hits:
        console(stderr=True).print("Nothing found.")
        raise typer.Exit(1)


def _print_commit(commit: Commit, *paths: str) -> None:
    suffix = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    touched = ", ".join(paths[:_SHOWN_PATHS]) + suffix
    say_row(commit.id[:_SHORT_ID], commit.date[:10], commit.author, commit.subject, *filter(None, [touched]))
