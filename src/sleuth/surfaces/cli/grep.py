"""sleuth grep: every line that matches a pattern, in the index and in the files that changed since."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import JsonOption, print_json
from sleuth.surfaces.cli.snapshots import (
    MOST_REFRESHED,
    NoRefreshOption,
    RefreshOption,
    RepoOption,
    SnapshotOption,
    opened,
    path_inside,
)
from sleuth.surfaces.cli.terminal import say

EXAMPLES = r"""[bold]Examples[/bold]

  sleuth grep "def refill\b"                 regular expressions of RE2
  sleuth grep -F "a[0]" src                  plain text, below src
  sleuth grep -i --filter language:python todo
"""


@app.command("grep", epilog=EXAMPLES)
def grep(
    pattern: Annotated[str, typer.Argument(help="A regular expression of RE2; it takes linear time.")],
    paths: Annotated[list[str] | None, typer.Argument(help="Only these files and folders.")] = None,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Upper and lower case are the same.")
    ] = False,
    fixed: Annotated[bool, typer.Option("--fixed-strings", "-F", help="The pattern is plain text.")] = False,
    filter: Annotated[
        str | None,
        typer.Option("--filter", help='Only lines in matching code, as in "kind:class language:python".'),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=0, help="Lines that are printed; all are counted.")] = 1000,
    count: Annotated[bool, typer.Option("--count", "-c", help="Print only how many lines match.")] = False,
    json: JsonOption = False,
    repo: RepoOption = None,
    at: SnapshotOption = None,
    max_refresh: RefreshOption = MOST_REFRESHED,
    no_refresh: NoRefreshOption = False,
    index: Annotated[
        Path | None,
        typer.Option("--index", help="Index folder. Default: $SLEUTH_INDEX, else the nearest .sleuth above."),
    ] = None,
) -> None:
    """Print every line that matches, and count them all."""
    from sleuth.code.search import compile_pattern
    from sleuth.code.search import grep as search
    from sleuth.filters import all_of, any_of, as_filter, field

    compiled = compile_pattern(pattern, fixed=fixed, ignore_case=ignore_case)
    with opened(repo, at, max_refresh, no_refresh, index) as place:
        root = Path(place.snapshot.repository.path)
        names = [path_inside(str(Path.cwd() / path), root) for path in paths or ()]
        below = [
            part
            for name in names
            if name
            for part in (field("path") == name, field("path").starts_with(f"{name}/"))
        ]
        tree = all_of(as_filter(filter), any_of(*below) if below and all(names) else None)
        result = search(
            place.snapshot,
            compiled,
            limit=0 if count else k,
            filter=tree,
            worktree=at is None and not no_refresh,
        )
    if json:
        matches = [match.to_dict() for match in result.matches]
        print_json({"lines": result.lines, "files": result.files, "stale": place.stale, "matches": matches})
    elif count:
        say(str(result.lines))
    else:
        for match in result.matches:
            say(f"{match.file_path}:{match.line}:{match.text}")
        if result.lines > len(result.matches):
            say(f"sleuth: {result.lines - len(result.matches)} more lines in {result.files} files", err=True)
    if not result.lines:
        raise typer.Exit(1)
