"""sleuth code path, tests, similar and unused: questions about definitions as a graph."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.common import IndexOption, JsonOption, print_json
from sleuth.surfaces.cli.snapshots import (
    MOST_REFRESHED,
    NoRefreshOption,
    Opening,
    RefreshOption,
    RepoOption,
    opened,
    takes_snapshot,
)
from sleuth.surfaces.cli.terminal import say, say_row

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.snapshots.snapshot import Definition


@takes_snapshot
def path(
    start: Annotated[str, typer.Argument(metavar="A", help="A name, or a dotted name such as Class.method.")],
    end: Annotated[str, typer.Argument(metavar="B", help="The definition that is reached.")],
    opening: Opening,
    hops: Annotated[int, typer.Option("--hops", min=1, help="Calls at most.")] = 10,
    json: JsonOption = False,
) -> None:
    """Print how one definition reaches another: a shortest chain of calls."""
    from sleuth.code.graph.reach import call_path

    with opening as place:
        chain = call_path(place.snapshot, start, end, hops)
    if json:
        print_json({"stale": place.stale, "path": [hop.to_dict() for hop in chain]})
    for hop in () if json else chain:
        call = f"called at line {hop.called_at}, {hop.confidence:.2f}" if hop.called_at else ""
        say_row(f"{hop.file_path}:{hop.line}", hop.name, call)
    if not chain:
        say(f"sleuth: no chain of {hops} calls or less leads from {start} to {end}", err=True)
        raise typer.Exit(1)


def tests(
    change: Annotated[
        str,
        typer.Argument(
            metavar="NAME|DIFF",
            help="A definition; a revision or A..B; a file with a diff; - for standard input.",
        ),
    ] = "HEAD",
    hops: Annotated[int, typer.Option("--hops", min=1, help="How many uses away.")] = 5,
    files: Annotated[bool, typer.Option("--files", help="Print only the files of the tests.")] = False,
    json: JsonOption = False,
    repo: RepoOption = None,
    max_refresh: RefreshOption = MOST_REFRESHED,
    no_refresh: NoRefreshOption = False,
    index: IndexOption = None,
) -> None:
    """Print the tests that reach a definition or a change, nearest first; by default what changed since the commit."""
    from sleuth.code.graph.navigate import affected_tests

    with opened(repo, None, max_refresh, no_refresh, index) as place:
        definitions = _changed(place.snapshot, change)
        reached = affected_tests(place.snapshot, definitions, hops)
    if json:
        names = [definition.symbol.qualified for definition in definitions]
        print_json({"changed": names, "stale": place.stale, "tests": [test.to_dict() for test in reached]})
    elif files:
        for name in dict.fromkeys(test.file_path for test in reached):
            say(name)
    else:
        for test in reached:
            where = f"{test.file_path}:{test.line}"
            say_row(test.hops, where, test.name, f"{test.confidence:.2f}", f"through {test.through}")
    if not reached:
        say(f"sleuth: no test reaches {len(definitions)} changed definitions by name", err=True)
        raise typer.Exit(1)


def _changed(snapshot: Snapshot, change: str) -> list[Definition]:
    """Return the definitions that a name or a diff means."""
    from sleuth.code.graph.navigate import definitions_at
    from sleuth.code.repository.diffs import diff_since, lines_of_diff
    from sleuth.errors import CodeError

    if definitions := snapshot.definitions(change):
        return definitions
    if change == "-":
        diff = sys.stdin.read()
    elif Path(change).is_file():
        diff = Path(change).read_text("utf-8", "replace")
    else:
        try:
            diff = diff_since(Path(snapshot.repository.path), change)
        except CodeError as error:
            raise ArgumentError(
                f"change must be a definition, a revision, a file with a diff or -, got {change!r}: {error}"
            ) from None
    return definitions_at(snapshot, lines_of_diff(diff))


@takes_snapshot
def similar(
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help="FILE:10-40, a file, or the name of a definition.")
    ],
    opening: Opening,
    k: Annotated[int, typer.Option("-k", min=0, help="How many.")] = 10,
    json: JsonOption = False,
) -> None:
    """Print the pieces of code that are nearest in meaning to a place."""
    from sleuth.code.search.neighbours import similar_pieces
    from sleuth.engine.codebase import default_embedder

    with opening as open_place:
        pieces = similar_pieces(open_place.snapshot, place, default_embedder(), k)
    if json:
        print_json({"stale": open_place.stale, "pieces": [piece.to_dict() for piece in pieces]})
    for piece in () if json else pieces:
        say_row(f"{piece.score:.3f}", f"{piece.file_path}:{piece.start_line}-{piece.end_line}", piece.symbol)
    if not pieces:
        raise typer.Exit(1)


@takes_snapshot
def unused(
    opening: Opening,
    least: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Leave out what is less sure.")
    ] = 0.5,
    json: JsonOption = False,
) -> None:
    """Print definitions whose name is nowhere else in the repository, and how sure it is that nothing uses them."""
    from sleuth.code.graph.unused import unused_definitions

    with opening as place:
        entries = [entry for entry in unused_definitions(place.snapshot) if entry.confidence >= least]
    if json:
        print_json({"stale": place.stale, "unused": [entry.to_dict() for entry in entries]})
    for entry in () if json else entries:
        where = f"{entry.file_path}:{entry.line}"
        say_row(f"{entry.confidence:.1f}", where, entry.type, entry.name, entry.reason)
    if not entries:
        raise typer.Exit(1)
