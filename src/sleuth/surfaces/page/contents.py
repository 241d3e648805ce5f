"""What the index holds: its state, its documents and files by folder, and the names in its code."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from sleuth.errors import StoreError
from sleuth.filters import Compare
from sleuth.surfaces.hits import Location
from sleuth.surfaces.http.answers import for_clients
from sleuth.surfaces.page.markup import lines_of
from sleuth.surfaces.page.places import browse_url, folders_below, roots_of, short, stale_files
from sleuth.surfaces.page.results import CODE_LINES, LONGEST_LINE

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from sleuth.code import Snapshot
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

MOST_LISTED: Final = 5_000
"""Documents and files that a folder is made from."""
MOST_USES: Final = 200


def browse(call: Call, state: PageState, parameters: QueryParams) -> dict[str, Any]:
    """Return the folders and documents below `under`: a folder of documents and of code with its slash, "" for all."""
    under = parameters.get("under", "")
    entries: dict[str, tuple[str, str]] = {}  # id and title by path
    is_cut, roots = False, roots_of(call)
    if "docs" in state.sources:
        tree = Compare("source", "prefix", under) if under else None
        page = call.engine.list_documents(filter=tree, limit=MOST_LISTED)
        entries = {document.source: (document.id, document.title) for document in page.documents}
        is_cut = page.after is not None
    for snapshot in call.snapshots() if "code" in state.sources else ():
        root = snapshot.repository.path
        roots.append(root)
        paths = [path for path in (f"{root}/{file}" for file in snapshot.by_path) if path.startswith(under)]
        entries = {path: (f"{path}:1-1", "") for path in paths[:MOST_LISTED]} | entries
        is_cut = is_cut or len(paths) > MOST_LISTED
    above = [under[: at + 1] for at, char in enumerate(under) if char == "/" and at]
    files = {path: entry for path, entry in entries.items() if "/" not in path[len(under) :] or "://" in path}
    return {
        "steps": [
            (short(step[:-1], roots).rpartition("/")[2], browse_url(step))
            for step in above
            # The folders above a root are the server's own.
            if not any(root.startswith(step) for root in roots)
        ],
        "folders": [
            (
                short(folder[:-1], roots)[len(short(under[:-1], roots)) :].lstrip("/") + "/",
                browse_url(folder),
                count,
            )
            for folder, count in sorted(folders_below(dict.fromkeys(entries, 1), under))
        ],
        "documents": [
            (path[len(under) :], f"/source?{urlencode({'id': id})}", title)
            for path, (id, title) in sorted(files.items())
        ],
        "is_cut": is_cut,
    }


def state_of_index(call: Call, *_: object) -> dict[str, Any]:
    """Return counts, sizes, the last change, what is wrong, what was skipped, and the repositories of the index.

    With a key limited by a filter, counts are of its part, and version, last change, legs, repairs, folders and skipped
    documents are left out.
    """
    engine = call.engine  # limited to the filter of the key already
    sees_all = call.key.filter is None
    status, snapshots = engine.status(), call.snapshots()
    folders: list[str] = []
    skips: list[tuple[str, str]] = []
    if sees_all:
        with suppress(StoreError):  # a published index has no roots
            folders = [root.name or "all below the folder of the index" for root in engine.roots()]
            skips = [(skip.path, for_clients(skip.reason)) for skip in engine.skips()]
    for snapshot in snapshots:
        skips += [(f"{snapshot.repository.path}/{row.path}", row.skip) for row in snapshot.skipped]
    changed_at = status.get("changed_at")
    repairs = [f"{repair.what}: {repair.why}" for repair in engine.repairs] if sees_all else []
    return {
        "index": status,
        "sees_all": sees_all,
        "has_model": engine.model is not None,
        "changed_at": None if changed_at is None else datetime.fromtimestamp(changed_at, UTC),
        "problems": [*repairs, *filter(None, [status.get("words_only")])],
        "folders": folders,
        "repositories": [
            (snapshot.repository.path, len(snapshot.files), browse_url(f"{snapshot.repository.path}/"))
            for snapshot in snapshots
        ],
        "skips": skips,
        "stale": stale_files(call),
        "can_write": "docs" in call.sources
        and "write" in call.key.scopes
        and not call.service.settings.read_only,
    }


def symbol(call: Call, _: PageState, parameters: QueryParams) -> dict[str, Any]:
    """Return the definitions and the uses of `name` in the code that the server offers.

    Of several definitions the first line is shown, of one its code.
    """
    from sleuth.code import Navigator

    name = parameters.get("name", "")
    navigators = [(snapshot, Navigator(snapshot)) for snapshot in call.snapshots()]
    definitions = [(at, entry) for at, navigator in navigators for entry in navigator.find_definition(name)]
    uses = [(at, entry) for at, navigator in navigators for entry in navigator.find_references(name)]
    lines = 2 * CODE_LINES if len(definitions) == 1 else 1
    return {
        "name": name,
        "definitions": [_shown(at, entry, entry["end_line"], lines) for at, entry in definitions],
        "uses": [_shown(at, entry, entry["line"], 1) for at, entry in uses[:MOST_USES]],
        "total": len(uses),
        "status": 200 if definitions or uses else 404,
    }


def _shown(snapshot: Snapshot, entry: Mapping[str, Any], end: int, most: int) -> dict[str, Any]:
    """Return a definition or a use with its place, its address and at most some lines."""
    row, first = snapshot.files[snapshot.by_path[entry["file_path"]]], entry["line"]
    text = snapshot.lines(row, first, min(end, first + most - 1))
    if most == 1:
        text = text.strip()[:LONGEST_LINE]
    id = f"{snapshot.repository.path}/{entry['file_path']}:{first}-{end}"
    return {
        "kind": entry.get("role") or entry.get("type"),
        "inside": entry.get("inside"),
        "line": first,
        "place": Location(entry["file_path"], str(first)),
        "url": f"/source?{urlencode({'id': id})}#L{first}",
        "lines": lines_of(text, language=row.language),
        "more": max(0, end + 1 - first - most) if most > 1 else 0,
    }
