"""sleuth code: searches and walks repositories: pieces, commits, definitions and what they are used by."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge, Le

from sleuth.arguments import MOST_NAME
from sleuth.code.search.request import CodeRequest
from sleuth.errors import ArgumentError, amount
from sleuth.surfaces.cli.app import code_commands
from sleuth.surfaces.cli.common import Output, remark, say, styled
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.opening import MOST_REFRESHED, CodePlace, OpenSnapshot, opened_snapshot
from sleuth.surfaces.cli.options import FLAGS, command, options_of, request_of
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.graph.navigate import Touched
    from sleuth.code.repository.commits import Commit
    from sleuth.code.snapshots.snapshot import Definition

Name = Annotated[str, "A name, or a dotted name such as Class.method."]

SEARCH_EXAMPLES = """
  sleuth code search "where are tokens refilled"     by words and meaning
  sleuth code search --lang py --no-tests TokenBucket
  sleuth code search --strategy keyword --expand callers TokenBucket.take
  sleuth code search --history "why retry twice"     the commits that say so
"""

_LEAST_TOKENS = 20
"""Minimum number of tokens of a hit."""
_MOST_HITS = 200


@command(code_commands, "search", SEARCH_EXAMPLES)
def search(
    query: Annotated[list[str], "A question, identifiers, code, a stack trace; - reads stdin."],
    *,
    options: Annotated[dict[str, Any], options_of(CodeRequest)],
    budget: Annotated[int | None, "Print one block for a prompt, in this many tokens.", Ge(0)] = None,
    history: Annotated[
        bool, "Search the commits that led to the snapshot: messages, paths and changed lines."
    ] = False,
    json: bool = False,
    max_refresh: Annotated[int, Ge(0)] = MOST_REFRESHED,
    no_refresh: bool = False,
    index: Path | None = None,
) -> Output:
    """Find the code that answers a question."""
    from sleuth.code import CodeRetriever, Navigator, render_context
    from sleuth.engine.codebase import embedder_for

    text = sys.stdin.read() if query == ["-"] else " ".join(query)
    request = request_of(CodeRequest, text, options)
    where: dict[str, Any] = {"repo": request.repository, "at": request.at, "index": index}
    with opened_snapshot(
        *request.paths or (), **where, max_refresh=max_refresh, no_refresh=no_refresh
    ) as place:
        request = replace(request, paths=[*map(place.path_of, request.paths or ())] or None)
        facts = {"query": text, "snapshot": place.snapshot.info.id, "stale": place.stale}
        if history:
            return search_commits(
                place, request, facts, has_budget=budget is not None, refresh=not no_refresh
            )
        if budget is not None:
            request = replace(request, k=max(request.k, min(budget // _LEAST_TOKENS, _MOST_HITS)))
        snapshot = place.snapshot
        retriever = CodeRetriever(place.storage, embedder_for(request))
        hits = retriever.run(request, snapshot.repository.id, snapshot.info.id)
        name = text.strip()
        is_name = len(name.split()) == 1 and len(name) <= MOST_NAME
        spellings = Navigator(snapshot).near(name) if is_name and not hits else []

    def print_related(number: int) -> None:
        """Print the definitions that are related to a hit, a line for each kind."""
        for kind, related in hits[number - 1].related.items():
            names = [f"{r.get('name') or r['file_path']} ({r['file_path']}:{r['line']})" for r in related]
            say(f"   {styled(f'{kind}:', 'italic')} {', '.join(names) or 'none'}")

    if not json and budget is not None and hits:
        say(render_context(hits, budget))
    elif not json:
        items = [hit.to_item(explain=request.explain) for hit in hits]
        notes = [f"names near it: {', '.join(spellings)}"] if spellings else ()
        print_hits(text, Ranking(items, hits.parts, notes), below=print_related)
    return Output({**facts, "hits": list(hits), "parts": hits.parts}, found=hits)


def search_commits(
    place: OpenSnapshot, request: CodeRequest, facts: dict[str, Any], *, has_budget: bool, refresh: bool
) -> Output:
    """Find the commits that led to a snapshot, for a request without options of code."""
    from sleuth.code import search_history
    from sleuth.code.snapshots.refreshing import refresh_history

    names = sorted(request.changed().keys() - {"repository", "at", "paths", "explain"})
    if names := names + ["budget"] * has_budget:
        flags = (FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0] for name in names)
        raise ArgumentError(f"--history must stand without {', '.join(flags)}")
    paths = request.paths or [""]
    if len(paths) > 1:
        raise ArgumentError(f"--path must be given once with --history, got {paths!r}")
    if refresh and (warning := refresh_history(place.storage, place.snapshot)):
        remark(warning)
    past = search_history(place.snapshot, request.query, request.k, path=paths[0])
    rows = [_row_of(hit.commit, *hit.paths) for hit in past]
    commits = [hit.to_dict() for hit in past]
    return Output({**facts, "commits": commits}, rows, found=past, missing="nothing found")


_SHORT_ID = 12
_SHOWN_PATHS = 5


def _row_of(commit: Commit, *paths: str) -> tuple[str, ...]:
    suffix = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    touched = ", ".join(paths[:_SHOWN_PATHS]) + suffix
    return (commit.id[:_SHORT_ID], commit.date[:10], commit.author, commit.subject, *filter(None, [touched]))


@command(code_commands, "history", "sleuth code history TokenBucket.take")
def history(
    name: Annotated[str, "A file, FILE:10-20, or a name such as Class.method."],
    *,
    k: Annotated[int, "How many commits.", Ge(1)] = 20,
    text: Annotated[str, "Only commits that added or removed this text."] = "",
    place: CodePlace,
) -> Output:
    """List the commits that touched a file, some lines of it or a definition, newest first."""
    from sleuth.code.search.history import history_of

    past = history_of([(place.snapshot, place.path_of(name))], text=text, most=k)
    facts = {"path": past.path, "lines": past.lines, "stale": place.stale}
    commits = [commit._asdict() for commit in past.commits]
    return Output({**facts, "commits": commits}, map(_row_of, past.commits), found=commits)


@command(code_commands, "map", "sleuth code map --budget 2000")
def repo_map(
    *,
    budget: Annotated[int, "Tokens.", Ge(0)] = 1000,
    focus: Annotated[list[str] | None, "Files or folders that matter most."] = None,
    query: Annotated[str, "Words that matter most."] = "",
    place: CodePlace,
) -> Output:
    """Draw the definitions that matter most, within a token budget."""
    from sleuth.code import repository_map

    text = repository_map(place.snapshot, budget, focus=[*map(place.path_of, focus or ())], query=query)
    return Output({"snapshot": place.snapshot.info.id, "stale": place.stale, "map": text}, [text])


@command(code_commands, "refs", "sleuth code refs TokenBucket.take")
def refs(
    name: Name, *, callers: Annotated[bool, "Only definitions that call it."] = False, place: CodePlace
) -> Output:
    """Print where a name is defined, and every use of it."""
    from sleuth.code import Navigator

    navigator = Navigator(place.snapshot)
    definitions = navigator.find_definition(name)
    uses = navigator.callers(name) if callers else navigator.find_references(name)
    spellings = [] if definitions or uses else navigator.near(name)
    sure_uses = [use for use in uses if use.get("certain", True)]
    uncertain = [use for use in uses if not use.get("certain", True)]
    facts = {"name": name, "stale": place.stale, "definitions": definitions, "near": spellings}
    facts |= {"callers": uses} if callers else {"references": sure_uses, "uncertain": uncertain}
    places = [(f"{d['file_path']}:{d['line']}", d["type"], d["signature"]) for d in definitions]
    use_rows = [_use_row(use, use.get("role", "call")) for use in sure_uses]
    more_rows, notes = _uncertain(uncertain, name)
    missing = f"nothing is called {name!r}; near it: {', '.join(spellings) or 'nothing'}"
    return Output(facts, places + use_rows + more_rows, notes, found=definitions or uses, missing=missing)


_SHOWN = 20
"""Uncertain uses that are listed."""


def _use_row(use: dict[str, Any], *role: str) -> tuple[str, ...]:
    inside = use.get("inside") or use.get("name") or ("" if role else "(module)")
    place = f"{use['file_path']}:{use.get('at', use['line'])}"
    return (place, *role, inside, f"{use['confidence']:.2f}", use.get("text", ""))


def _uncertain(uses: list[dict[str, Any]], name: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return rows of the first uses that may mean something else, and a note that counts them if there are any."""
    note = f"{amount(len(uses), 'more use')} of {name.rpartition('.')[2]} may refer to it"
    return [("?", *_use_row(use)) for use in uses[:_SHOWN]], [note] if uses else []


def _reached_rows(reached: Iterable[Touched]) -> list[tuple[str, ...]]:
    """Return rows of definitions that are some uses away, with a mark at those that a guess leads to."""
    return [
        (
            f"{t.hops}{'' if t.certain else '?'}",
            f"{t.file_path}:{t.line}",
            t.name or "(module)",
            f"{t.confidence:.2f}",
            f"through {t.through}",
        )
        for t in reached
    ]


@command(code_commands, "impact", "sleuth code impact TokenBucket.take --hops 3")
def impact(name: Name, *, hops: Annotated[int, "How many uses away.", Ge(1)] = 2, place: CodePlace) -> Output:
    """Print what a change of this definition may affect, nearest first."""
    from sleuth.code import Navigator

    navigator = Navigator(place.snapshot)
    touched = navigator.impact(name, hops)
    uncertain = navigator.uncertain_uses(name)
    facts = {"name": name, "stale": place.stale, "hops": hops, "touched": touched, "uncertain": uncertain}
    more_rows, notes = _uncertain(uncertain, name)
    return Output(facts, _reached_rows(touched) + more_rows, notes, found=touched or uncertain)


@command(code_commands, "path", "sleuth code path serve TokenBucket.refill")
def path(
    start: Annotated[str, typer.Argument(metavar="A", help="A name, or a dotted name such as Class.method.")],
    end: Annotated[str, typer.Argument(metavar="B", help="The definition that is reached.")],
    *,
    hops: Annotated[int, "Calls at most.", Ge(1)] = 10,
    place: CodePlace,
) -> Output:
    """Print how one definition reaches another: a shortest chain of calls."""
    from sleuth.code.graph.navigate import call_path

    calls = call_path(place.snapshot, start, end, hops)
    rows = []
    for hop in calls:
        how = f"called at line {hop.called_at}, {hop.confidence:.2f}" if hop.called_at else ""
        rows.append((f"{hop.file_path}:{hop.line}", hop.name, how))
    missing = f"no chain of {hops} calls or less leads from {start} to {end}"
    return Output({"stale": place.stale, "path": calls}, rows, found=calls, missing=missing)


@command(code_commands, "tests", "sleuth code tests --files main..")
def tests(
    change: Annotated[
        str,
        typer.Argument(
            metavar="NAME|DIFF",
            help="A definition; a revision or A..B; a file with a diff; - for standard input.",
        ),
    ] = "HEAD",
    *,
    hops: Annotated[int, "How many uses away.", Ge(1)] = 5,
    files: Annotated[bool, "Print only the files of the tests."] = False,
    place: CodePlace,
) -> Output:
    """Print the tests that reach a definition or a change, nearest first; by default what changed since the commit."""
    from sleuth.code.graph.navigate import affected_tests

    definitions = _changed(place.snapshot, change)
    reached = affected_tests(place.snapshot, definitions, hops)
    rows = dict.fromkeys(test.file_path for test in reached) if files else _reached_rows(reached)
    names = [definition.symbol.qualified for definition in definitions]
    missing = f"no test reaches {amount(len(definitions), 'changed definition')} by name"
    facts = {"changed": names, "stale": place.stale, "tests": reached}
    return Output(facts, rows, found=reached, missing=missing)


def _changed(snapshot: Snapshot, change: str) -> list[Definition]:
    """Return the definitions that a name or a diff means."""
    from sleuth.code.graph.navigate import definitions_at
    from sleuth.code.repository.commits import diff_since, lines_of_diff
    from sleuth.errors import CodeError

    if definitions := snapshot.definitions(change):
        return definitions
    if change == "-":
        diff = sys.stdin.read()
    elif Path(change).is_file():
        diff = Path(change).read_text("utf-8", "replace")
    else:
        try:
            info = snapshot.info
            is_open = ".." not in change and info.id == info.base  # to the commit that answers
            diff = diff_since(Path(snapshot.repository.path), f"{change}..{info.id}" if is_open else change)
        except CodeError as error:
            raise ArgumentError(
                f"change must be a definition, a revision, a file with a diff or -, got {change!r}: {error}"
            ) from None
    return definitions_at(snapshot, lines_of_diff(diff))


@command(code_commands, "similar", "sleuth code similar src/bucket.py:10-20")
def similar(
    part: Annotated[
        str, typer.Argument(metavar="PLACE", help="FILE:10-40, a file, or the name of a definition.")
    ],
    *,
    k: Annotated[int, "How many.", Ge(0)] = 10,
    place: CodePlace,
) -> Output:
    """Print the pieces of code that are nearest in meaning to a place."""
    from sleuth.code.search.vectors import similar_pieces
    from sleuth.engine.codebase import default_embedder

    pieces = similar_pieces(place.snapshot, place.path_of(part), default_embedder(), k)
    rows = [
        (f"{one.score:.3f}", f"{one.file_path}:{one.start_line}-{one.end_line}", one.symbol) for one in pieces
    ]
    return Output({"stale": place.stale, "pieces": pieces}, rows, found=pieces)


@command(code_commands, "unused", "sleuth code unused --min-confidence 0.9")
def unused(
    *, min_confidence: Annotated[float, "Leave out what is less sure.", Ge(0), Le(1)] = 0.5, place: CodePlace
) -> Output:
    """Print definitions whose name is nowhere else in the repository, and how sure it is that nothing uses them."""
    from sleuth.code.graph.navigate import unused_definitions

    entries = [entry for entry in unused_definitions(place.snapshot) if entry.confidence >= min_confidence]
    rows = [
        (f"{entry.confidence:.1f}", f"{entry.file_path}:{entry.line}", entry.type, entry.name, entry.reason)
        for entry in entries
    ]
    return Output({"stale": place.stale, "unused": entries}, rows, found=entries)
