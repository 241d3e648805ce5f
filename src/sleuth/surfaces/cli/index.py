"""sleuth index: read files and folders into the index."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import fields as fields_of
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge

from sleuth.cluster.places import address_of, is_sharded
from sleuth.errors import ArgumentError, RemoteError, amount
from sleuth.ingest import ReadOptions, grouped
from sleuth.ingest.roots import is_address
from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import human_bytes, one_line, print_json, say
from sleuth.surfaces.cli.options import HELP, command, options_from, options_of
from sleuth.surfaces.cli.places import NAME, from_here, index_folder, shown
from sleuth.surfaces.cli.progress import CtrlC, changes_seen, files_read, progress_bar

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.ingest import FileNames, IndexReport


EXAMPLES = """
  sleuth index docs/ README.md              again later: only what changed is read
  sleuth index                              read again the folders that the index remembers
  sleuth index --prune docs/                also forget files that are gone
  sleuth index data.csv --text-field body --metadata-field year    remembered for data.csv
  sleuth index notes/ --watch               what is saved is searchable at once, until Ctrl-C
  sleuth index src/ --analyzer code         identifiers split and kept whole
  sleuth index --re-embed --embedder onnx:all-MiniLM-L6-v2       `sleuth index models` lists what is here
  sleuth index --rebuild                    an index that another version of Sleuth made
  sleuth index imaps://anna@mail.example.org/INBOX 'sql:sqlite:///shop.db#articles'    mail, and rows of a table
"""


Reading = Annotated[
    dict[str, Any], options_of(ReadOptions, **dict.fromkeys(each.name for each in fields_of(ReadOptions)))
]
"""Which files are read, and how; None where an option is not set."""


def settings_of_new(
    *,
    analyzer: str | None = None,
    chunk_size: int | None = None,
    chunker: Annotated[str | None, "An installed chunker, by name; for a new index."] = None,
    legs: Annotated[
        str | None,
        typer.Option("--legs", help="Installed legs, by name, separated by commas; for a new index."),
    ] = None,
) -> dict[str, Any]:
    """Return the settings of a new index that are given."""
    return {name: value for name, value in locals().items() if value is not None}


@command(index_commands, "add", EXAMPLES)
def index(
    paths: Annotated[
        list[str] | None,
        "Files, folders and addresses to read. Without any, the folders that the index remembers.",
    ] = None,
    *,
    fields: Reading,
    prune: bool = False,
    settings: Annotated[dict[str, Any], options_from(settings_of_new)],
    shards: int | None = None,
    timeout: Annotated[float, Ge(0)] = 10.0,  # as by default in `Engine.index`
    embedder: str | None = None,
    re_embed: Annotated[
        bool, "Compute all vectors again, with --embedder, else with the index's own or the default one."
    ] = False,
    rebuild: Annotated[
        bool,
        "Make the index again in its place, with the texts that it holds, as where another version made it.",
    ] = False,
    all: Annotated[
        bool | None,
        "Read what is no prose, too: drawings, generated and minified text, dumps, lists of words.",
    ] = None,
    ocr: Annotated[
        str | None,
        "Program that reads pages of PDF files without text: picture in, text out. Not remembered.",
    ] = None,
    defaults: Annotated[bool, "Forget the options that are remembered for these paths."] = False,
    watch: Annotated[
        bool, "Index again after every save, and delete documents of missing files, until Ctrl-C."
    ] = False,
    verbose: Annotated[bool, "Name each file that is skipped."] = False,
    quiet: bool = False,
    json: bool = False,
    folder: Annotated[Path | None, typer.Option("--index", help=HELP["index"])] = None,
) -> None:
    """Read files and folders into the index. Unchanged files cost nothing, changed ones are replaced.

    Which files are read, and how, is remembered for each path: the next run need not be told again.
    """
    paths = paths or []
    try:
        fields |= {"all": all, "ocr": None if ocr is None else shlex.split(ocr)}
    except ValueError:  # a quotation that does not end
        raise ArgumentError(f"--ocr must be a command as a shell reads it, got {ocr!r}") from None
    options = read_options(fields, defaults=defaults)
    place = index_folder(folder)
    place = place.parent if is_sharded(place.parent) else place  # ids say which shard has a document
    creates = not (place.exists() or address_of(place))
    if paths and not (quiet or json or folder or creates) and place != Path.cwd() / NAME:
        say(f"Writing to the index of a folder above, {place}; --index names another one.", err=True)
    if rebuild and (settings or shards is not None or watch):
        raise ArgumentError("--rebuild must stand without --watch and options for a new index")
    opener = opener_of(place, paths, shards=shards, rebuild=rebuild, settings=settings, timeout=timeout)
    with opener(embedder=embedder, re_embed=re_embed) as engine:
        if not paths and not re_embed:
            paths = remembered_paths(engine)
        report = read_paths(engine, paths, quiet=quiet or json, options=options, prune=prune, timeout=timeout)
        if rebuild and report.interrupted:
            say("Interrupted. The index holds what it held before.", err=True)
            raise typer.Exit(130)
        if json:
            print_json(report.to_dict())
        elif not quiet:
            print_run(engine, report, paths)
            if engine.words_only and (engine.settings.embedder or (creates and embedder is None)):
                say(f"Words alone are searched: {engine.words_only}", err=True)
        if not quiet or read_nothing(report):
            print_skipped(report, engine.files, verbose=verbose)
        if watch and not report.interrupted:
            follow(engine, paths, fields["ocr"], timeout, json=json, quiet=quiet)
    if report.interrupted:
        # Embeddings that were just recomputed must not be dropped again.
        command_line = shlex.join(["sleuth", *(word for word in sys.argv[1:] if word != "--re-embed")])
        say(f"Interrupted. Committed documents are kept; continue with: {command_line}", err=True)
        raise typer.Exit(130)
    if read_nothing(report):
        raise typer.Exit(1)


def opener_of(
    place: Path,
    paths: list[str],
    *,
    shards: int | None,
    rebuild: bool,
    settings: dict[str, Any],
    timeout: float,
) -> Callable[..., AbstractContextManager[Engine]]:
    """Return what opens an index, or makes it if that would not stay empty."""
    from sleuth.engine import Engine
    from sleuth.ingest import FileNames, places_of, present

    if not (rebuild or place.exists() or address_of(place)):
        if not paths:
            raise ArgumentError("paths must name files or folders that exist, got none")
        present(list(places_of(paths, FileNames.beside(place)).roots), lambda root: False, prune=False)
    if rebuild and not address_of(place):
        from sleuth.cluster.sharded import rebuilt_shards
        from sleuth.engine.rebuilding import rebuilt

        return partial(rebuilt_shards if is_sharded(place) else rebuilt, place, timeout=timeout)
    options: dict[str, Any] = {"create": bool(paths), "settings": settings or None}
    if shards is None:
        return partial(Engine.open, place, **options)
    from sleuth.cluster import ShardedEngine

    return partial(ShardedEngine.open, place, shards=shards, **options)


def remembered_paths(engine: Engine) -> list[str]:
    """Return the paths of the folders that an index remembers; addresses must be named, whoever made the index."""
    paths = [engine.files.path_of(root.name) for root in engine.roots() if not root.is_gone]
    for address in filter(is_address, paths):
        say(f"{address} is read only if it is named: sleuth index {shlex.quote(address)}", err=True)
    return [path for path in paths if not is_address(path)]


def follow(
    engine: Engine, paths: list[str], ocr: list[str] | None, timeout: float, *, json: bool, quiet: bool
) -> None:
    """Index paths again after every save, and delete documents of files that are gone; return after Ctrl-C."""
    options: dict[str, Any] = {"options": {"ocr": ocr} if ocr else None, "prune": True, "timeout": timeout}
    with suppress(KeyboardInterrupt):
        for changed in changes_seen(paths, engine.path.resolve(), quiet=quiet):
            try:
                report = read_paths(engine, paths, quiet=True, changed=changed, **options)
            except RemoteError as error:  # a source is away for a while
                say(str(error), err=True)
                continue
            if report.interrupted:
                return
            has_changed = report.added or report.updated or report.deleted or report.pruned
            if json and has_changed:
                print_json(report)
            elif has_changed and not quiet:
                for line in lines_of_report(report, from_here(str(engine.path))):
                    say(line)


def print_run(engine: Engine, report: IndexReport, paths: list[str]) -> None:
    """Print what the run did, and what its user may want to know or do next."""
    for line in lines_of_report(report, from_here(str(engine.path)), has_read=bool(paths)):
        say(line)
    counts = {
        "hidden (--hidden reads them)": report.hidden,
        "ignored (--no-ignore reads what .gitignore names)": report.ignored,
    }
    if parts := [f"{count:,} {words}" for words, count in counts.items() if count]:
        say(f"Left out {', '.join(parts)}.", err=True)
    if report.gone:
        say(gone_files(report.gone), err=True)
    for root in report.gone_roots:
        path = shown(engine.files, root.name)
        prune = f"`sleuth index --prune {shlex.quote(path)}` deletes its {amount(root.documents, 'document')}"
        if root.moved_to is None:
            say(f"{path} is gone: {prune}.", err=True)
            continue
        target = shown(engine.files, root.moved_to)
        say(
            f"{path} is gone, and {target} has the same content ({root.equal:.0%}): "
            f"`sleuth index move {shlex.quote(path)} {shlex.quote(target)}` keeps its metadata and options, {prune}.",
            err=True,
        )
    for place in paths:
        if Path(place, ".git").exists():
            command_line = f"sleuth code index {shlex.quote(place)}"
            say(f"{place} is a git repository; for code, definitions and history: {command_line}", err=True)


def read_options(fields: Mapping[str, Any], *, defaults: bool) -> ReadOptions | dict[str, Any] | None:
    """Return the options of reading: all of them, changes to those that are remembered, or None for the latter.

    Args:
        fields: options, None if not set.
        defaults: whether to forget what is remembered.
    """
    options = {name: value for name, value in fields.items() if value is not None}
    valid = ReadOptions(**options)
    return valid if defaults else options or None


def read_paths(engine: Engine, paths: list[str], *, quiet: bool, **options: Any) -> IndexReport:
    """Read files with a progress bar; Ctrl-C ends it after the current file, and the report says so.

    Args:
        options: of `Engine.index`.
    """
    from sleuth.ingest.reports import IndexInterrupted

    with CtrlC() as ctrl_c, progress_bar(quiet=quiet) as show:

        def embedding(done: int, total: int) -> None:
            show(f"embedding {done:,} of {total:,} passages", done, total)

        reading = ctrl_c.heeded(files_read(show))
        try:
            report = engine.index(paths, **options, progress=reading, embedding=ctrl_c.heeded(embedding))
            report.interrupted = ctrl_c.pressed
        except IndexInterrupted as interruption:
            report = interruption.report
    if report.interrupted:
        engine.close(finish=False)
    return report


def read_nothing(report: IndexReport) -> bool:
    """Return whether files failed and none could be read."""
    failed = any(skip.kind not in ("empty", "no prose") for skip in report.skipped)
    return failed and not (report.read or report.unchanged)


def lines_of_report(report: IndexReport, place: str, *, has_read: bool = True) -> list[str]:
    """Return what a run did, if it read files, and what the index holds now."""
    counts = {word: getattr(report, word) for word in ("added", "updated", "unchanged", "deleted", "pruned")}
    parts = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count or word == "added")
    return [
        *([f"{parts} in {report.seconds:.1f} s ({human_bytes(report.bytes)} read)."] if has_read else []),
        f"{amount(report.documents, 'document')}, {amount(report.passages, 'passage')} in {place}",
    ]


def gone_files(count: int) -> str:
    """Say how many missing files are still in the index."""
    files = "1 file is" if count == 1 else f"{count:,} files are"
    return f"{files} gone, and still in the index: --prune deletes their documents."


def print_skipped(report: IndexReport, names: FileNames, *, verbose: bool) -> None:
    """Print what could not be read, files before parts of files: a line for each kind and reason, or for each one."""
    from sleuth.ingest.reports import PARTS

    skips = [replace(skip, path=shown(names, skip.path)) for skip in report.skipped]
    parts = [skip for skip in skips if skip.kind in PARTS]
    for head, members in (
        ("Skipped", [skip for skip in skips if skip.kind not in PARTS]),
        ("Indexed without parts", parts),
    ):
        if not members:
            continue
        lines = [f"{skip.source}: {skip.reason}" for skip in members] if verbose else grouped(members)
        hint = "" if verbose or len(lines) == len(members) else " (each one with --verbose)"
        say(f"{head} {len(members):,}{hint}:", err=True)
        for line in lines:
            say(f"  {one_line(line)}", err=True)
