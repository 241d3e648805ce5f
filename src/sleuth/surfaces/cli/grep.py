"""sleuth grep: every line that matches a pattern, in documents, in code, and in code that changed since."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Ge

from sleuth.errors import ArgumentError, IndexNotFoundError, amount
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import Output, one_line
from sleuth.surfaces.cli.opening import PlaceOptions, open_index, opened_snapshot
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import index_folder, path_from_here

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.engine import Engine
    from sleuth.engine.matching_lines import DocumentLine

EXAMPLES = r"""
  sleuth grep "def refill\b"                 regular expressions of RE2
  sleuth grep -F "a[0]" src                  plain text, below src
  sleuth grep --in docs -i --filter type:pdf refund
"""
_SOURCES: Final = ("code", "docs")


@command(app, "grep", EXAMPLES)
def grep(
    pattern: Annotated[str, "A regular expression of RE2; it takes linear time."],
    paths: Annotated[list[str] | None, "Only these files and folders."] = None,
    *,
    sources: Annotated[
        list[str] | None, "docs or code; give it again for both. Default: what the index holds."
    ] = None,
    ignore_case: Annotated[bool, "Upper and lower case are the same."] = False,
    fixed: Annotated[bool, "The pattern is plain text."] = False,
    filter: Annotated[str | None, 'Only lines in matching text, as in "kind:class language:python".'] = None,
    k: Annotated[int, "Lines that are printed; all are counted.", Ge(0)] = 1000,
    count: Annotated[bool, "Print only how many lines match."] = False,
    place_options: PlaceOptions,
) -> Output:
    """Print every line that matches, and count them all."""
    from sleuth.engine.codebase import has_code
    from sleuth.engine.every_line import matching_lines
    from sleuth.engine.reading import within
    from sleuth.filters import all_of, as_filter

    repo, at, no_refresh, index = (place_options[name] for name in ("repo", "at", "no_refresh", "index"))
    names = _sources(sources, {"--repo": repo, "--at": at, "--no-refresh": no_refresh or None})
    if not names:
        names = ("code", "docs") if has_code(index_folder(index)) else ("docs",)
    with ExitStack() as stack:
        stale, engine = None, None
        snapshots: list[Snapshot] = []
        if "code" in names:
            place = stack.enter_context(opened_snapshot(*paths or (), **place_options))
            stale, snapshots = place.stale, [place.snapshot]
        if "docs" in names:
            try:
                engine = stack.enter_context(open_index(index))
            except IndexNotFoundError:
                if sources or len(names) == 1:
                    raise
        inside = [place.path_of(path) for path in paths or ()] if snapshots else []
        full_paths = (str(Path.cwd() / path) for path in paths or ())
        file_names = [engine.files.name_of(path) for path in full_paths] if engine is not None else []
        lines = matching_lines(
            pattern,
            snapshots,
            engine,
            fixed=fixed,
            ignore_case=ignore_case,
            of_code=all_of(as_filter(filter), within("path", inside)) if snapshots else None,
            of_documents=None if engine is None else all_of(as_filter(filter), within("path", file_names)),
            k=0 if count else k,
            worktree=at is None and not no_refresh,
        )
        matches = [match.to_dict() for _, match in lines.code]
        matches += [] if engine is None else [_facts(line, engine) for line in lines.documents]
    texts = []
    for match in matches:
        page, line = match.get("page"), match["line"]
        where = f" p.{page}" if page else f":{line}" if line else ""
        texts.append(f"{one_line(match['file_path'])}{where}:{match['text']}")
    facts = {"matches": matches, "lines": lines.lines, "files": lines.files, "stale": stale}
    if count:
        return Output(facts, [str(lines.lines)], found=lines.lines)
    rest_count = lines.lines - len(matches)
    total = f"{lines.lines:,} in {amount(lines.files, 'file')} in all"
    notes = [f"{amount(rest_count, 'more line')}; {total}"] if rest_count else []
    return Output(facts, texts, notes, found=lines.lines)


def _facts(line: DocumentLine, engine: Engine) -> dict[str, Any]:
    """Return a line of a document under the names that lines of code have."""
    path, inside = path_from_here(engine, line.id, line.metadata), line.metadata.get("heading") or ""
    page = line.metadata.get("page")
    facts = {"file_path": path, "line": line.line, "text": line.text, "inside": inside}
    return facts | ({"page": page} if page else {})


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
