"""Shows passages, definitions, uses and commits as JSON, at three lengths each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.surfaces.hits import place_of, title_of
from sleuth.surfaces.mcp.budget import Graded

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.repository.commits import Commit
    from sleuth.code.search.patterns import LinePattern
    from sleuth.engine.answers import Answering
    from sleuth.engine.matching_lines import DocumentLine
    from sleuth.filters import Filter
    from sleuth.types import RetrievedItem

OUTLINE = 160
"""Characters of a passage that its outline shows."""

UrlOf = Callable[[str, Mapping[str, Any]], str]
"""Returns the address at which a reader sees what an id and metadata describe; never empty."""


def file_url(id: str, metadata: Mapping[str, Any], *, base: Path | None = None) -> str:
    """Return the address of a passage: that of its page on the web, or of its file with lines.

    Args:
        base: the folder that files of the index are named relative to.
    """
    source = str(metadata.get("source") or id)
    if source.startswith(("http://", "https://")):
        return source
    path = source.rpartition("#")[0] if "row" in metadata else source
    member = metadata.get("member")
    path = path.removesuffix(f"#{member}")
    if base is not None and "path" in metadata and (base / path).is_file():
        path = str(base / path)
    if not Path(path).is_absolute():
        from urllib.parse import quote

        return f"sleuth:///{quote(id)}"
    if metadata.get("page"):
        return f"{Path(path).as_uri()}#page={metadata['page']}"
    lines = None if member else metadata.get("start_line")
    return Path(path).as_uri() + (f"#L{lines}-L{metadata.get('end_line', lines)}" if lines else "")


def name_of(id: str, metadata: Mapping[str, Any]) -> str:
    """Return what a reader calls a passage: its symbol, heading or title, and its file."""
    source = str(metadata.get("source") or id)
    name = source if "://" in source else Path(source).name
    title = title_of(metadata)
    return f"{title} ({name})" if title and title != name else name


def graded_passage(item: RetrievedItem, query: str, sources: Answering, url_of: UrlOf) -> Graded:
    """Return a hit of a search at three lengths.

    These are: the whole, with its text; an outline, with its signature or a snippet of `OUTLINE` characters; and the
    name, which is its id, title and URL.
    """
    metadata = item.metadata
    shortest = {
        "id": item.id,
        "title": name_of(item.id, metadata),
        "url": url_of(item.id, metadata),
    }
    fields = (
        "source_type",
        "path",
        "symbol",
        "kind",
        "heading",
        "start_line",
        "end_line",
        "page",
        "modified",
    )
    facts = {key: metadata[key] for key in fields if metadata.get(key) not in (None, "")}
    outline = metadata.get("signature") or sources.snippet(query, item, width=OUTLINE).text
    if item.copies:
        facts["copies"] = list(item.copies)
    if item.folded:
        facts["folded"] = item.folded
    why = {} if item.explanation is None else {"explanation": item.explanation.to_dict()}
    return Graded(
        whole={**shortest, **facts, "text": item.text, **why},
        outline={**shortest, **facts, "outline": outline},
        name=shortest,
    )


def definition(entry: Mapping[str, Any], root: str, text: str, url_of: UrlOf) -> Graded:
    """Return a definition, as `Navigator.find_definition` describes it."""
    place = _place(root, entry["file_path"], entry["line"], entry["end_line"], url_of)
    name = {"name": entry["name"], "kind": entry["type"], **place}
    outline = {**name, "signature": entry["signature"], "doc": entry["doc"].split("\n", 1)[0]}
    return Graded(
        whole={**name, "signature": entry["signature"], "labels": entry["labels"], "text": text},
        outline={key: value for key, value in outline.items() if value},
        name=name,
    )


def reference(use: Mapping[str, Any], root: str, line: str, url_of: UrlOf) -> Graded:
    """Return a use of a name, as `Navigator.find_references` describes it."""
    place = _place(root, use["file_path"], use["line"], use["line"], url_of)
    target = use["definition"]
    facts: dict[str, Any] = {"role": use["role"], "confidence": round(use["confidence"], 2)}
    if not use["certain"]:
        facts["certain"] = False
    if use["inside"]:
        facts["inside"] = use["inside"]
    if target is not None:
        facts["definition"] = f"{target['name']} at {target['file_path']}:{target['line']}"
    return Graded(
        whole={**place, **facts, "text": line.strip()},
        outline={**place, "role": use["role"], "certain": use["certain"], "text": line.strip()[:OUTLINE]},
        name=place,
    )


class Lines(NamedTuple):
    """Some of the lines that match a pattern, and how many lines and files match."""

    graded: list[Graded]
    lines: int
    files: int


def lines_of_code(
    snapshots: Sequence[Snapshot],
    pattern: LinePattern,
    tree: Filter | None,
    offset: int,
    limit: int,
    url_of: UrlOf,
    *,
    worktree: bool,
) -> tuple[Lines, list[str]]:
    """Search all snapshots for a pattern, and return at most `limit` matching lines from the `offset`-th on.

    All matching lines and their files are counted, and the absolute paths of the files are returned.
    """
    from sleuth.code.search import grep

    graded: list[Graded] = []
    lines_before, paths = 0, list[str]()
    for snapshot in snapshots:
        first, most = max(0, offset - lines_before), limit - len(graded)
        result = grep(snapshot, pattern, limit=most, offset=first, filter=tree, worktree=worktree)
        root = snapshot.repository.path
        lines_before += result.lines
        paths += [f"{root}/{path}" for path in result.paths]
        for match in result.matches:
            name = _place(root, match.file_path, match.line, match.line, url_of)
            whole = {**name, "text": match.text, **({"inside": match.inside} if match.inside else {})}
            graded.append(Graded(whole=whole, outline={**name, "text": match.text[:OUTLINE]}, name=name))
    return Lines(graded, lines_before, len(paths)), paths


def document_line(match: DocumentLine, url_of: UrlOf) -> Graded:
    """Return a line of a document that matches a pattern."""
    place = {"start_line": match.line, "end_line": match.line} if match.line else {}
    metadata = {**match.metadata, **place}
    name = {"id": match.id, "path": str(place_of(match.id, metadata)), "url": url_of(match.id, metadata)}
    heading = match.metadata.get("heading")
    whole = {**name, "text": match.text, **({"inside": heading} if heading else {})}
    return Graded(whole=whole, outline={**name, "text": match.text[:OUTLINE]}, name=name)


def commit(entry: Commit) -> Graded:
    """Return a commit."""
    name = {"id": entry.id, "title": entry.subject}
    outline = {**name, "date": entry.date, "author": entry.author}
    return Graded(
        whole={**outline, "message": entry.body.strip()} if entry.body.strip() else outline,
        outline=outline,
        name=name,
    )


def _place(root: str, path: str, first: int, last: int, url_of: UrlOf) -> dict[str, str]:
    lines = f"{first}-{last}" if last != first else str(first)
    id = f"{root}/{path}:{lines}"
    where = {"source": f"{root}/{path}", "start_line": first, "end_line": last, "source_type": "code"}
    return {"id": id, "path": f"{path}:{lines}", "url": url_of(id, where)}
