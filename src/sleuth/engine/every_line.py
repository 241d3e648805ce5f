"""Every line that matches a pattern: in code, in files that changed since, and in documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sleuth.code.search import compile_pattern, grep
from sleuth.filters import all_of, field

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.search.matching_lines import LineMatch
    from sleuth.engine.engine import Engine
    from sleuth.engine.matching_lines import DocumentLine
    from sleuth.filters import Filter


class MatchingLines(NamedTuple):
    """Some of the lines that match, and how many there are.

    Attributes:
        code: with the path of their repository; `documents` are lines of files that do not match as code.
        lines, files: how many match in all.
    """

    code: list[tuple[str, LineMatch]]
    documents: Sequence[DocumentLine]
    lines: int
    files: int


def matching_lines(
    pattern: str,
    snapshots: Sequence[Snapshot],
    engine: Engine | None,
    *,
    fixed: bool,
    ignore_case: bool,
    of_code: Filter | None,
    of_documents: Filter | None,
    k: int,
    offset: int = 0,
    worktree: bool = True,
) -> MatchingLines:
    """Count all lines that match a pattern, and return `k` of them from `offset` on.

    Args:
        snapshots, engine: what is searched, code first.
        of_code, of_documents: filters.
        worktree: read files that differ from their snapshot from the disk.
    """
    compiled = compile_pattern(pattern, fixed=fixed, ignore_case=ignore_case)
    code: list[tuple[str, LineMatch]] = []
    documents: Sequence[DocumentLine] = ()
    paths: list[str] = []
    lines = 0
    for snapshot in snapshots:
        first, limit = max(0, offset - lines), k - len(code)
        result = grep(snapshot, compiled, limit=limit, offset=first, filter=of_code, worktree=worktree)
        root = snapshot.repository.path
        lines += result.lines
        paths += [f"{root}/{path}" for path in result.paths]
        code += [(root, match) for match in result.matches]
    files = len(paths)
    if engine is not None:
        path_filter = ~field("path").is_in(map(engine.files.name_of, paths)) if paths else None
        matches = engine.grep(
            pattern,
            fixed=fixed,
            ignore_case=ignore_case,
            filter=all_of(of_documents, path_filter),
            limit=k - len(code),
            offset=max(0, offset - lines),
        )
        documents, lines, files = matches.matches, lines + matches.lines, files + matches.documents
    return MatchingLines(code, documents, lines, files)
