"""sleuth code: indexes, searches and maps repositories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.arguments import MOST_NAME
from sleuth.code.search.request import CodeRequest
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.code_clones import pull, push
from sleuth.surfaces.cli.code_graph import path, similar, tests, unused
from sleuth.surfaces.cli.code_history import check_messages, history, search_messages
from sleuth.surfaces.cli.code_index import IndexRun, forget_snapshots, print_report, rebuild_index
from sleuth.surfaces.cli.common import IndexOption, JsonOption, TimeoutOption, print_json
from sleuth.surfaces.cli.hits import print_hits
from sleuth.surfaces.cli.options import request_of, takes
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.snapshots import (
    MOST_REFRESHED,
    NoRefreshOption,
    Opening,
    RefreshOption,
    RepoOption,
    opened,
    repository_here,
    takes_snapshot,
)
from sleuth.surfaces.cli.terminal import amount, console, say, say_row, styled
from sleuth.surfaces.cli.watching import changes_below

if TYPE_CHECKING:
    from sleuth.code import RetrievedContext

EXAMPLES = """[bold]Examples[/bold]

  sleuth code index .                              this worktree, as it is
  sleuth code index . --rev v1.2                   a commit, branch or tag; the worktree is not touched
  sleuth code search "where are tokens refilled"   code with lines, container and relations
  sleuth code search --lang py --no-tests TokenBucket
  sleuth code refs TokenBucket.take                every use that means this definition
  sleuth code impact TokenBucket.take --hops 3     what a change may touch
  sleuth code history TokenBucket.take             the commits that touched it
  sleuth code search --history "why retry twice"   the commits that say so
  sleuth code map --budget 2000                    the definitions that matter most
"""

SEARCH_EXAMPLES = """[bold]Examples[/bold]

  sleuth code search "where are tokens refilled"     by words and meaning
  sleuth code search --lang py --no-tests TokenBucket
  sleuth code search --strategy keyword --expand callers TokenBucket.take
  sleuth code search --history "why retry twice"     the commits that say so
"""

code = typer.Typer(
    name="code", help="Index, search and walk source code.", epilog=EXAMPLES, no_args_is_help=True
)
app.add_typer(code)
code.command("history", epilog="[bold]Example[/bold]  sleuth code history TokenBucket.take")(history)
code.command(
    "push", epilog="[bold]Example[/bold]  sleuth code index --rev HEAD && sleuth code push s3://bucket/app"
)(push)
code.command("pull", epilog="[bold]Example[/bold]  sleuth code pull s3://bucket/app")(pull)
code.command("path", epilog="[bold]Example[/bold]  sleuth code path serve TokenBucket.refill")(path)
code.command("tests", epilog="[bold]Example[/bold]  sleuth code tests --files main..")(tests)
code.command("similar", epilog="[bold]Example[/bold]  sleuth code similar src/bucket.py:10-20")(similar)
code.command("unused", epilog="[bold]Example[/bold]  sleuth code unused --min-confidence 0.9")(unused)


@code.command("index", epilog="[bold]Example[/bold]  sleuth code index . --rev v1.2")
def index(
    path: Annotated[
        Path | None,
        typer.Argument(help="A git worktree, a bare repository or a plain folder; this folder without."),
    ] = None,
    rev: Annotated[str | None, typer.Option("--rev", help="A commit, branch or tag.")] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Index again after every save, until Ctrl-C.")
    ] = False,
    vectors: Annotated[
        bool,
        typer.Option("--vectors/--no-vectors", help="Make the vectors now, or at the first hybrid search."),
    ] = True,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes that parse.")] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Forget all snapshots of the repository first, so that every file is parsed again, "
            "as after installing grammars.",
        ),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Make the index again in its place, from all repositories that it holds, as where another version "
            "made it.",
        ),
    ] = False,
    submodules: Annotated[
        bool,
        typer.Option(
            "--submodules/--no-submodules",
            help="Index the submodules that are checked out too, as repositories of their own.",
        ),
    ] = True,
    timeout: TimeoutOption = 10.0,  # as by default in `index_path`
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Take a snapshot of a repository; unchanged files cost nothing."""
    from sleuth.engine import open_code

    place = index_folder(index)
    run_over = partial(IndexRun, workers=workers, timeout=timeout, submodules=submodules, vectors=vectors)
    if rebuild:
        if path or rev or watch or again:
            raise ArgumentError("--rebuild must stand without PATH, --rev, --watch and --again")
        rebuild_index(place, run_over, timeout, json=json)
        return
    path = path or Path()
    with open_code(place, create=True) as storage:
        if again:
            forget_snapshots(storage, path, submodules=submodules)
        run = run_over(storage, path)
        report = run.index(rev, quiet=json)
        print_report(report, json=json)
        if watch:
            snapshots = {part.path: part.snapshot for part in report.all()}
            for _ in changes_below([Path(report.path)]):
                newer = run.run()
                news = {part.path: part.snapshot for part in newer.all()}
                if any(snapshots.get(place) != snapshot for place, snapshot in news.items()):
                    print_report(newer, json=json)
                snapshots |= news


_LEAST_TOKENS = 20
"""Minimum number of tokens of a hit."""
_MOST_HITS = 200


QueryArgument = Annotated[
    list[str], typer.Argument(help="A question, identifiers, code, a stack trace; - reads stdin.")
]
BudgetOption = Annotated[
    int | None, typer.Option("--budget", min=0, help="Print one block for a prompt, in this many tokens.")
]
MessagesOption = Annotated[
    bool,
    typer.Option(
        "--history", help="Search the commits that led to the snapshot: messages, paths and changed lines."
    ),
]


@code.command("search", epilog=SEARCH_EXAMPLES)
@takes(CodeRequest)
def search(
    query: QueryArgument,
    options: dict[str, Any],
    budget: BudgetOption = None,
    messages: MessagesOption = False,
    json: JsonOption = False,
    max_refresh: RefreshOption = MOST_REFRESHED,
    no_refresh: NoRefreshOption = False,
    index: IndexOption = None,
) -> None:
    """Find the code that answers a question."""
    import sys

    from sleuth.code import CodeRetriever, Navigator, render_context
    from sleuth.engine.codebase import embedder_for

    text = sys.stdin.read() if query == ["-"] else " ".join(query)
    request = request_of(CodeRequest, text, options)
    with opened(request.repository, request.at, max_refresh, no_refresh, index) as place:
        if messages:
            check_messages(request, budget)
            search_messages(place, text, request.k, request.paths, refresh=not no_refresh, json=json)
            return
        if budget is not None:
            request = replace(request, k=max(request.k, min(budget // _LEAST_TOKENS, _MOST_HITS)))
        snapshot = place.snapshot
        retriever = CodeRetriever(place.storage, embedder_for(request))
        hits = retriever.run(request, snapshot.repository.id, snapshot.info.id)
        name = text.strip()
        is_name = len(name.split()) == 1 and len(name) <= MOST_NAME
        spellings = Navigator(snapshot).near(name) if is_name and not hits else []
    if json:
        parts = [part.to_dict() for part in hits.parts]
        plain = [hit.to_dict() for hit in hits]
        print_json(
            {"query": text, "snapshot": snapshot.info.id, "stale": place.stale, "hits": plain, "parts": parts}
        )
    elif budget is not None and hits:
        say(render_context(hits, budget))
    else:
        items = [hit.to_item(explain=request.explain) for hit in hits]
        print_hits(
            text,
            items,
            parts=hits.parts,
            notes=[f"names near it: {', '.join(spellings)}"] if spellings else (),
            below=lambda number: _print_related(hits[number - 1]),
        )
    if not hits:
        raise typer.Exit(1)


def _print_related(hit: RetrievedContext) -> None:
    """Print the definitions that are related to a hit, a line for each kind."""
    for kind, related in hit.related.items():
        names = [f"{r.get('name') or r['file_path']} ({r['file_path']}:{r['line']})" for r in related]
        say(f"   {styled(f'{kind}:', 'italic')} {', '.join(names) or 'none'}")


@code.command("map", epilog="[bold]Example[/bold]  sleuth code map --budget 2000")
@takes_snapshot
def repo_map(
    opening: Opening,
    budget: Annotated[int, typer.Option("--budget", min=0, help="Tokens.")] = 1000,
    focus: Annotated[
        list[str] | None, typer.Option("--focus", help="Files or folders that matter most.")
    ] = None,
    query: Annotated[str, typer.Option("--query", help="Words that matter most.")] = "",
    json: JsonOption = False,
) -> None:
    """Draw the definitions that matter most, within a token budget."""
    from sleuth.code import repository_map

    with opening as place:
        snapshot = place.snapshot
        text = repository_map(snapshot, budget, focus=focus or (), query=query)
    if json:
        print_json({"snapshot": snapshot.info.id, "stale": place.stale, "map": text})
    else:
        say(text)


@code.command("refs", epilog="[bold]Example[/bold]  sleuth code refs TokenBucket.take")
@takes_snapshot
def refs(
    name: Annotated[str, typer.Argument(help="A name, or a dotted name such as Class.method.")],
    opening: Opening,
    callers: Annotated[bool, typer.Option("--callers", help="Only definitions that call it.")] = False,
    json: JsonOption = False,
) -> None:
    """Print where a name is defined, and every use of it."""
    from sleuth.code import Navigator

    with opening as place:
        snapshot = place.snapshot
        navigator = Navigator(snapshot)
        definitions = navigator.find_definition(name)
        uses = navigator.callers(name) if callers else navigator.find_references(name)
        spellings = [] if definitions or uses else navigator.near(name)
    sure_uses = [use for use in uses if use.get("certain", True)]
    uncertain = [use for use in uses if not use.get("certain", True)]
    if json:
        facts = {"name": name, "stale": place.stale, "definitions": definitions, "near": spellings}
        kinds = {"callers": uses} if callers else {"references": sure_uses, "uncertain": uncertain}
        print_json(facts | kinds)
    else:
        for d in definitions:
            say_row(f"{d['file_path']}:{d['line']}", d["type"], d["signature"])
        for use in sure_uses:
            sure = f"{use['confidence']:.2f}"
            role, inside = use.get("role", "call"), use.get("inside") or use.get("name") or ""
            say_row(
                f"{use['file_path']}:{use.get('at', use['line'])}", role, inside, sure, use.get("text", "")
            )
        _say_uncertain(uncertain, name)
    if not definitions and not uses:
        console(stderr=True).print(
            f"sleuth: nothing is called {name!r}; near it: {', '.join(spellings) or 'nothing'}", markup=False
        )
        raise typer.Exit(1)


_SHOWN = 20
"""Uncertain uses that are listed."""


def _say_uncertain(uses: list[dict[str, Any]], name: str) -> None:
    """Print the first of the uses that may mean something else, and on standard error how many there are."""
    for use in uses[:_SHOWN]:
        where, sure = f"{use['file_path']}:{use['line']}", f"{use['confidence']:.2f}"
        inside = use.get("inside") or use.get("name") or "(module)"
        say_row("?", where, inside, sure, use.get("text", ""))
    if uses:
        short_name = name.rpartition(".")[2]
        say(f"sleuth: {amount(len(uses), 'more use')} of {short_name} may refer to it", err=True)


@code.command("impact", epilog="[bold]Example[/bold]  sleuth code impact TokenBucket.take --hops 3")
@takes_snapshot
def impact(
    name: Annotated[str, typer.Argument(help="A name, or a dotted name such as Class.method.")],
    opening: Opening,
    hops: Annotated[int, typer.Option("--hops", min=1, help="How many uses away.")] = 2,
    json: JsonOption = False,
) -> None:
    """Print what a change of this definition may affect, nearest first."""
    from sleuth.code import Navigator

    with opening as place:
        navigator = Navigator(place.snapshot)
        touched = navigator.impact(name, hops)
        uncertain = navigator.uncertain_uses(name)
    if json:
        facts = {"name": name, "stale": place.stale, "hops": hops}
        print_json(facts | {"touched": [t.to_dict() for t in touched], "uncertain": uncertain})
    else:
        for t in touched:
            where, sure = f"{t.file_path}:{t.line}", f"{t.confidence:.2f}"
            mark = t.hops if t.certain else f"{t.hops}?"
            say_row(mark, where, t.name or "(module)", sure, f"through {t.through}")
        _say_uncertain(uncertain, name)
    if not touched and not uncertain:
        raise typer.Exit(1)


@code.command("snapshots", epilog="[bold]Example[/bold]  sleuth code snapshots --prune 5")
def snapshots(
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", help="Two snapshots: list what changed from one to the other."),
    ] = None,
    prune: Annotated[
        int | None,
        typer.Option("--prune", min=1, help="Forget all but this many of the newest completed ones."),
    ] = None,
    json: JsonOption = False,
    repo: RepoOption = None,
    index: IndexOption = None,
) -> None:
    """List the snapshots of a repository, newest first."""
    from sleuth.code.snapshots.diff import compare
    from sleuth.engine import open_code

    with open_code(index_folder(index)) as storage:
        repository = repository_here(storage, repo)
        if diff is not None:
            base, target = (
                storage.open_snapshot(repository, storage.snapshot(repository, name)) for name in diff
            )
            changes = compare(base, target).to_dict()
            if json:
                print_json(changes)
            else:
                for kind in ("added", "removed", "changed", "renamed"):
                    for path in changes[kind]:
                        say_row(kind, path if isinstance(path, str) else " -> ".join(path))
            return
        if prune is not None:
            completed = [s.id for s in storage.snapshots(repository.id) if s.status == "completed"]
            storage.prune(repository.id, completed[:prune])
        entries = storage.snapshots(repository.id)
    if json:
        print_json({"repository": _plain(repository), "snapshots": [_plain(s) for s in entries]})
        return
    for s in entries:
        when = datetime.fromtimestamp(s.finished or s.started, UTC).strftime("%Y-%m-%d %H:%M:%S")
        say_row(s.id[:20], s.status, when, f"{s.files} files", " ".join(s.names) + s.error)


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
