"""What the index holds: its state, and its documents and files by folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from sleuth.errors import StoreError
from sleuth.filters import Compare
from sleuth.surfaces.http.problems import for_clients
from sleuth.surfaces.page.facets import shared_folders
from sleuth.surfaces.page.lookup import snapshots_of, stale_files
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

MOST_LISTED: Final = 5_000
"""Documents and files that a folder is made from."""
SKIPS_ON_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """A folder or a document of a listing.

    Attributes:
        count: documents of a folder; 0 for a document.
        note: beside it, such as its title.
    """

    name: str
    url: str
    count: int = 0
    note: str = ""


def browse(call: Call, state: PageState, under: str) -> dict[str, Any]:
    """Return the folders and documents below a folder of documents and of code.

    Args:
        under: the folder with its slash; "" for all.
    """
    places, is_cut = _documents(call, under) if "docs" in state.sources else ([], False)
    if "code" in state.sources:
        paths = {place.path for place in places}
        files = [place for place in _files(call, under) if place.path not in paths]
        places += files[:MOST_LISTED]
        is_cut = is_cut or len(files) > MOST_LISTED
    folders, documents = _listing(under, places)
    parts = under.rstrip("/").split("/") if under else []
    steps = [
        ListingEntry(escape_text(part), _address("/".join(parts[: number + 1]) + "/"))
        for number, part in enumerate(parts)
        if part
    ]
    return {"steps": steps, "folders": folders, "documents": documents, "is_cut": is_cut}


@dataclass(frozen=True, slots=True)
class _IndexedFile:
    path: str
    id: str
    note: str = ""


def _documents(call: Call, under: str) -> tuple[list[_IndexedFile], bool]:
    tree = Compare("source", "prefix", under) if under else None
    page = call.engine.list_documents(filter=tree, limit=MOST_LISTED)
    places = [_IndexedFile(document.source, document.id, document.title) for document in page.documents]
    return places, page.after is not None


def _files(call: Call, under: str) -> list[_IndexedFile]:
    """Return the files of code below a folder, with the path of their repository."""
    places = []
    for snapshot in snapshots_of(call):
        root = snapshot.repository.path
        if f"{root}/".startswith(under) or under.startswith(f"{root}/"):
            paths = (f"{root}/{path}" for path in snapshot.by_path)
            places += [_IndexedFile(path, f"{path}:1-1") for path in paths if path.startswith(under)]
    return places


def _listing(under: str, places: Iterable[_IndexedFile]) -> tuple[list[ListingEntry], list[ListingEntry]]:
    """Return the folders right below a folder, and what lies in it; folders that hold one folder alone are joined."""
    folders: dict[str, list[str]] = {}
    documents = []
    for place in places:
        rest = place.path.removeprefix(under)
        name, slash, _ = rest.partition("/")
        if slash and "://" not in rest:
            folders.setdefault(f"{name}/", []).append(rest)
        else:
            url = f"/source?{urlencode({'id': place.id})}"
            documents.append(ListingEntry(escape_text(rest), url, note=escape_text(place.note)))
    entries = []
    for name, paths in folders.items():
        shared = shared_folders(path.rpartition("/")[0].split("/") for path in paths)
        whole = "".join(f"{folder}/" for folder in shared) or name
        entries.append(ListingEntry(escape_text(whole), _address(under + whole), len(paths)))
    return sorted(entries, key=lambda entry: entry.name), sorted(documents, key=lambda entry: entry.name)


def _address(under: str) -> str:
    return f"/browse?{urlencode({'under': under})}"


class SkipPage(NamedTuple):
    """Some of the files that could not be read.

    Attributes:
        rows: path and reason of each.
        first: number of the first, from 1.
        previous, next: addresses of the pages beside it; "" where there is none.
    """

    rows: list[tuple[str, str]]
    first: int
    total: int
    previous: str
    next: str


def _skip_page(skips: Sequence[tuple[str, str]], number: int) -> SkipPage:
    """Return one page of the skipped files.

    Args:
        number: of the page, from 1; the last page for a greater one.
    """
    last = max(1, -(-len(skips) // SKIPS_ON_PAGE))
    number = min(max(1, number), last)
    first = (number - 1) * SKIPS_ON_PAGE
    return SkipPage(
        [(escape_text(path), escape_text(why)) for path, why in skips[first : first + SKIPS_ON_PAGE]],
        first + 1,
        len(skips),
        f"/contents?skipped={number - 1}#skipped" if number > 1 else "",
        f"/contents?skipped={number + 1}#skipped" if number < last else "",
    )


def state_of_index(call: Call, state: PageState, skip_page: int) -> dict[str, Any]:
    """Return counts, sizes, the last change, what is wrong, what was skipped, and the repositories of the index.

    With a key limited by a filter, counts are of its part, and version, last change, legs, repairs, folders and skipped
    documents are left out.

    Args:
        skip_page: number of the page of what was skipped, from 1.
    """
    engine = call.engine  # limited to the filter of the key already
    sees_whole_index = call.key.filter is None
    values = engine.status()
    facts = [
        ("documents", f"{values['documents']:,}"),
        ("passages", f"{values['passages']:,}"),
        ("answers", "written by a model" if engine.model is not None else "quotes of passages"),
    ]
    legs, problems, folders = [], [], []
    skips: list[tuple[str, str]] = []
    if sees_whole_index:
        facts.append(("version", f"{values['version']:,}"))
        if values.get("changed_at") is not None:
            moment = datetime.fromtimestamp(values["changed_at"], UTC)
            facts.append(("last change", f"{moment:%Y-%m-%d %H:%M} UTC"))
        legs = [
            (name, leg["passages"], leg["segments"], leg["bytes"]) for name, leg in values["legs"].items()
        ]
        problems = [f"{repair.what}: {repair.why}" for repair in engine.repairs]
        with suppress(StoreError):  # a published index has no roots
            folders = [
                escape_text(root.name or "all below the folder of the index") for root in engine.roots()
            ]
            skips = [(skip.path, for_clients(skip.reason)) for skip in engine.skips()]
    if values.get("words_only"):
        problems.append(str(values["words_only"]))
    snapshots = snapshots_of(call)
    repositories = [
        (
            escape_text(snapshot.repository.path),
            len(snapshot.files),
            _address(f"{snapshot.repository.path}/"),
        )
        for snapshot in snapshots
    ]
    for snapshot in snapshots:
        skips += [(f"{snapshot.repository.path}/{row.path}", row.skip) for row in snapshot.skipped]
    return {
        "facts": facts,
        "legs": legs,
        "problems": [escape_text(problem) for problem in problems],
        "folders": folders,
        "repositories": repositories,
        "skips": _skip_page(skips, skip_page),
        "stale": stale_files(call),
        "can_write": "docs" in call.sources
        and "write" in call.key.scopes
        and not call.service.settings.read_only,
    }
