"""sleuth grep: every line that matches a pattern, in documents, in code, and in code that changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from sleuth.errors import ArgumentError, IndexNotFoundError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import JsonOption, open_index, print_json
from sleuth.surfaces.cli.files import filter_from_here, path_from_here
from sleuth.surfaces.cli.places import index_folder
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

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.engine.matching_lines import DocumentLine
    from sleuth.filters import Filter
    from sleuth.surfaces.cli.snapshots import OpenSnapshot

EXAMPLES = r"""[bold]Examples[/bold]

  sleuth grep "def refill\b"                 regular expressions of RE2
  sleuth grep -F "a[0]" src                  plain text, below src
  sleuth grep --in docs -i --filter type:pdf refund
"""
_SOURCES: Final = ("code", "docs")


@app.command("grep", epilog=EXAMPLES)
def grep(
    pattern: Annotated[str, typer.Argument(help="A regular expression of RE2; it takes linear time.")],
    paths: Annotated[list[str] | None, typer.Argument(help="Only these files and folders.")] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option("--in", help="docs or code; give it again for both. Default: what the index holds."),
    ] = None,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Upper and lower case are the same.")
    ] = False,
    fixed: Annotated[bool, typer.Option("--fixed-strings", "-F", help="The pattern is plain text.")] = False,
    filter: Annotated[
        str | None,
        typer.Option("--filter", help='Only lines in matching text, as in "kind:class language:python".'),
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
    from sleuth.engine.codebase import has_code

    names = _sources(sources, of_code={"--repo": repo, "--at": at, "--no-refresh": no_refresh or None})
    if not names:
        names = ("code", "docs") if has_code(index_folder(index)) else ("docs",)
    query = _Query(
        pattern, {"fixed": fixed, "ignore_case": ignore_case}, filter, paths or (), 0 if count else k
    )
    lines = _MatchingLines([])
    if "code" in names:
        with opened(repo, at, max_refresh, no_refresh, index) as place:
            lines = _in_code(query, place, worktree=at is None and not no_refresh)
    if "docs" in names:
        try:
            with open_index(index) as engine:
                lines = _with_documents(query, lines, engine)
        except IndexNotFoundError:
            if sources or len(names) == 1:
                raise
    if json:
        print_json({name: value for name, value in lines._asdict().items() if name != "paths"})
    elif count:
        say(str(lines.lines))
    else:
        for match in lines.matches:
            page, line = match.get("page"), match["line"]
            place_in_file = f" p.{page}" if page else f":{line}" if line else ""
            say(f"{match['file_path']}{place_in_file}:{match['text']}")
        if lines.lines > len(lines.matches):
            say(f"sleuth: {lines.lines - len(lines.matches)} more lines in {lines.files} files", err=True)
    if not lines.lines:
        raise typer.Exit(1)


class _Query(NamedTuple):
    """What is searched for.

    Attributes:
        how: whether the pattern is fixed, and ignores case.
        limit: lines that are returned.
    """

    pattern: str
    how: Mapping[str, bool]
    filter: str | None
    paths: Sequence[str]
    limit: int


class _MatchingLines(NamedTuple):
    """Lines that match.

    Attributes:
        matches: some of them, fit for JSON.
        lines, files: how many match in all.
        stale: number of files that differ from the snapshot of the code; None where nobody looked.
        paths: absolute, of the files of code that match.
    """

    matches: list[dict[str, Any]]
    lines: int = 0
    files: int = 0
    stale: int | None = None
    paths: tuple[str, ...] = ()


def _in_code(query: _Query, place: OpenSnapshot, *, worktree: bool) -> _MatchingLines:
    """Return the lines of a snapshot, and of files that changed since."""
    from sleuth.code.search import compile_pattern, grep
    from sleuth.filters import all_of, as_filter

    root = Path(place.snapshot.repository.path)
    inside = [path_inside(str(Path.cwd() / path), root) for path in query.paths]
    tree = all_of(as_filter(query.filter), _below(inside))
    compiled = compile_pattern(query.pattern, **query.how)
    result = grep(place.snapshot, compiled, limit=query.limit, filter=tree, worktree=worktree)
    matches = [match.to_dict() for match in result.matches]
    paths = tuple(str(root / path) for path in result.paths)
    return _MatchingLines(matches, result.lines, result.files, place.stale, paths)


def _with_documents(query: _Query, code: _MatchingLines, engine: Engine) -> _MatchingLines:
    """Return lines of code and those of documents; a file that matches as code is left out of the documents."""
    from sleuth.filters import all_of, field

    tree = all_of(
        filter_from_here(engine, query.filter),
        _below([engine.files.name_of(path) for path in query.paths]),
        ~field("path").is_in(map(engine.files.name_of, code.paths)) if code.paths else None,
    )
    limit = query.limit - len(code.matches)
    result = engine.grep(query.pattern, **query.how, filter=tree, limit=limit)
    entries = [_entry(engine, match) for match in result.matches]
    lines, files = code.lines + result.lines, code.files + result.documents
    return code._replace(matches=code.matches + entries, lines=lines, files=files)


def _sources(names: list[str] | None, of_code: Mapping[str, object]) -> tuple[str, ...]:
    """Return what to search, code first; nothing if the index decides.

    Args:
        of_code: options that choose a snapshot, None where left out.

    Raises:
        ArgumentError: an unknown source, or an option of code for documents.
    """
    if unknown := set(names or ()).difference(_SOURCES):
        raise ArgumentError(f"--in must be docs or code, got {min(unknown)!r}")
    options = [option for option, value in of_code.items() if value is not None]
    if options and names and "docs" in names:
        raise ArgumentError(f"{options[0]} must be left out with --in docs: it chooses a snapshot of code")
    if not names and ("--repo" in options or "--at" in options):
        return ("code",)
    return tuple(source for source in _SOURCES if source in (names or ()))


def _below(names: Sequence[str]) -> Filter | None:
    """Return a filter for files and folders, by the names that an index gives them; "" is its own folder."""
    from sleuth.filters import any_of, field

    path = field("path")
    parts = [
        (path == name) | path.starts_with(f"{name}/") if name else path.exists() & ~path.starts_with("/")
        for name in names
    ]
    return any_of(*parts) if parts else None


def _entry(engine: Engine, match: DocumentLine) -> dict[str, Any]:
    """Return a line of a document as one of code is returned, with its page if it has one."""
    page = match.metadata.get("page")
    return {
        "file_path": path_from_here(engine, match.id, match.metadata),
        "line": match.line,
        "text": match.text,
        "inside": match.metadata.get("heading") or "",
        **({"page": page} if page else {}),
    }
