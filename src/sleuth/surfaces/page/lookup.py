"""Finds what a page shows; runs in the queue of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from sleuth.arguments import MOST_K
from sleuth.errors import SleuthError, UnknownRepositoryError
from sleuth.files.tree import bounded_time
from sleuth.surfaces.hits import Location, numbered_lines
from sleuth.surfaces.http import Refusal
from sleuth.surfaces.page import views
from sleuth.surfaces.page.answering import AnswerView, view_of
from sleuth.surfaces.page.facets import facets_of
from sleuth.surfaces.page.pieces import lines_of
from sleuth.surfaces.page.sources import SourceView, source_view
from sleuth.surfaces.page.state import PageState
from sleuth.text.clean import escape_text
from sleuth.types import document_of

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.search.facets import CodeMatches
    from sleuth.ingest.extraction.processes import Extractors
    from sleuth.surfaces.http import Call

MOST_USES = 200
DOTS_PER_INCH = 110
"""Of the picture of a page: about 900 dots wide."""


def results(call: Call, state: PageState) -> dict[str, Any]:
    """Return the hits of a question and their facets, or an overview without a question."""
    if not state.query:
        return {
            "hits": [],
            "passages": 0,
            "matching": [],
            "facets": [],
            "counts": _counts(call),
            "more": False,
            "answer": None,
            "failures": [],
            "notes": (),
            "stale": 0,
        }
    retriever = call.retriever(list(state.sources))
    query = state.request
    if not state.option("fold_copies"):  # an answer is written from all passages, a reader wants no copies
        query = replace(query, fold_copies=True)
    last = state.page * query.k
    request = call.request(query, k=min(last + 1, MOST_K))
    with call.retrieval_span(state.query, request.k):
        ranking = call.shown(retriever.run(request))
    items = ranking[last - query.k : last]
    code = matching_code(call, state)
    values = {
        "hits": views.hits_of(items, request, retriever, last - query.k + 1),
        "passages": len(items),
        "matching": _matching(call, state, code),
        "facets": facets_of(call, state, code),
        "counts": None,
        "more": query.k > 0 and len(ranking) > last,
        "answer": _answer(call, state) if state.with_answer and state.page == 1 else None,
        "failures": [f"{part.name}: {part.error}" for part in ranking.failures],
        "notes": [views.note_of(note, state) for note in ranking.notes],
        "stale": stale_files(call) if searches_code(state) else 0,
    }
    if searches_code(state):
        call.service.freshness(call.key).check(wait=0.0)  # last, since it would slow down the search
    return values


def standalone(call: Call, state: PageState) -> str:
    """Return the question of a state without the conversation before it, by its words if the model fails."""
    from sleuth.answer.conversation import Turn, standalone_question

    turns = [Turn(text) for text in state.after]
    try:
        return call.retriever(list(state.sources)).standalone(state.query, turns)
    except SleuthError:
        return standalone_question(state.query, turns, None)


def searches_code(state: PageState) -> bool:
    """Return whether a repository is among the sources of a state."""
    return any(name.partition(":")[0] == "code" for name in state.sources)


def matching_code(call: Call, state: PageState) -> dict[str, CodeMatches]:
    """Return what holds a word of the question in each repository that is searched, by its path."""
    from sleuth.code.search.facets import code_matches

    if not searches_code(state):
        return {}
    tree = call.filter(state.request.filter)
    return {
        snapshot.repository.path: code_matches(snapshot, state.query, tree)
        for snapshot in snapshots_of(call, state.sources)
    }


def _matching(call: Call, state: PageState, code: Mapping[str, CodeMatches]) -> list[tuple[int, str]]:
    """Return how many documents and files of code hold a word of the question, without those of which none does."""
    files = sum(len(matches.files) for matches in code.values())
    documents = 0
    if "docs" in state.sources:
        documents = call.engine.count(state.request.filter, query=state.query).documents
    counts = ((documents, "document", "documents"), (files, "file of code", "files of code"))
    return [(n, one if n == 1 else several) for n, one, several in counts if n]


def stale_files(call: Call) -> int:
    """Return how many files of the code that a caller sees changed since they were indexed.

    The files are compared beside the search, and nothing waits for that: a change may show a page later.
    """
    if not call.key.sees_code:
        return 0
    return call.service.freshness(call.key).stale.files or 0


def _counts(call: Call) -> Mapping[str, int]:
    count = call.engine.count()
    files = sum(len(snapshot.files) for snapshot in snapshots_of(call))
    return {"documents": count.documents, "passages": count.passages, "files": files}


def _answer(call: Call, state: PageState) -> AnswerView:
    request = call.request(state.request)
    options = request.changed()
    try:
        result = call.retriever(list(state.sources)).search(request.query, request.k, "with_items", **options)
    except SleuthError as error:
        return AnswerView(Markup(""), [], [], escape_text(str(call.refusal_of(error).detail)))
    return view_of(result, state)


def source(call: Call, state: PageState, id: str, as_written: bool) -> dict[str, Any]:
    """Return a document or file at the lines of an id.

    Args:
        as_written: shows Markdown as it is written.

    Raises:
        Refusal: 404 for what is not indexed, or may not be seen.
    """
    can_delete = "write" in call.key.scopes and not call.service.settings.read_only
    view = _document(call, state, id, as_written)
    if view is not None:
        return {"view": view, "delete": document_of(id) if can_delete else ""}
    return {"view": _file(call, state, id), "delete": ""}


def _document(call: Call, state: PageState, id: str, as_written: bool) -> SourceView | None:
    cited = call.engine.get(id)
    if not cited:
        return None
    item = cited[0]
    whole = call.engine.get(document_of(id)) or cited
    title = str(item.metadata.get("title") or views.shown_place(id, item.metadata).name)
    page = item.metadata.get("page")
    encoded = urlencode({"id": id})
    lines, numbers = numbered_lines(whole)
    return source_view(
        item,
        lines,
        numbers[item.id],
        state.query,
        call.engine,
        title=title,
        as_written=as_written,
        plain=state.address("/source", id=id, text="1"),
        formatted=state.address("/source", id=id),
        folder=_folder(str(item.metadata.get("source") or "")),
        download=f"/original?{encoded}#page={page}" if page else "",
        picture=f"/picture?{encoded}" if page and original(call, id) else "",
    )


def _folder(path: str) -> str:
    """Return the address of the list of a file's folder; "" without a folder."""
    folder, slash, _ = path.rpartition("/")
    return "" if "://" in path or not folder else f"/browse?{urlencode({'under': folder + slash})}"


def original(call: Call, id: str) -> Path | None:
    """Return the PDF of a document if it is unchanged since it was read."""
    for item in call.engine.get(id)[:1]:
        source = str(item.metadata.get("source", ""))
        path = Path(call.engine.files.path_of(source))
        documents = call.engine.documents(under=source)
        if path.suffix.lower() == ".pdf" and path.is_absolute() and path.is_file() and documents:
            status = path.stat()
            if (status.st_size, bounded_time(status.st_mtime_ns)) == (
                documents[0].size,
                documents[0].modified_ns,
            ):
                return path
    return None


def picture(call: Call, id: str, extractors: Extractors) -> bytes | None:
    """Return the page of a PDF that a passage is on, as PNG; None without a page or if it cannot be drawn.

    Args:
        extractors: draw it in a process with limits of time and memory.
    """
    from sleuth.ingest.extraction import ExtractionError

    path = original(call, id)
    page = next((item.metadata.get("page") for item in call.engine.get(id)[:1]), None)
    if path is None or not page:
        return None
    try:
        return extractors.picture(path.read_bytes(), int(page), dots_per_inch=DOTS_PER_INCH, colour=True)
    except (ExtractionError, OSError):
        return None


def _file(call: Call, state: PageState, id: str) -> SourceView:
    """Return a file of a repository that the server offers."""
    from sleuth.code.search.filters import file_metadata
    from sleuth.types import RetrievedItem

    place, _, _ = id.rpartition("@") if "@" in id else (id, "", "")
    path, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    for snapshot in snapshots_of(call):
        inside = path.removeprefix(f"{snapshot.repository.path}/")
        position = snapshot.by_path.get(inside)
        if position is None or not first.isdigit() or (last and not last.isdigit()):
            continue
        row = snapshot.files[position]
        metadata = file_metadata(snapshot, row)
        text = snapshot.lines(row, 1, row.lines)
        cited = range(int(first), int(last or first) + 1)
        lines_cited = {"start_line": cited.start, "end_line": cited.stop - 1}
        item = RetrievedItem(id=id, text=text, metadata=metadata | lines_cited)
        numbered = dict(enumerate(text.split("\n"), 1))
        sources = call.retriever(list(state.sources))
        folder = _folder(f"{snapshot.repository.path}/{row.path}")
        return source_view(item, numbered, cited, state.query, sources, title=row.path, folder=folder)
    raise Refusal(404, "DocumentError", f"Nothing is indexed as {id!r}. It may have been deleted since.")


def symbol(call: Call, state: PageState, name: str) -> dict[str, Any]:
    """Return the definitions and the uses of a name in the code that the server offers."""
    from sleuth.code import Navigator

    definitions: list[dict[str, Any]] = []
    uses: list[dict[str, Any]] = []
    total = 0
    for snapshot in snapshots_of(call):
        root = snapshot.repository.path
        navigator = Navigator(snapshot)
        for definition in navigator.find_definition(name):
            position = snapshot.by_path[definition["file_path"]]
            text = snapshot.lines(snapshot.files[position], definition["line"], definition["end_line"])
            excerpt = "\n".join(text.split("\n")[: views.CODE_LINES * 2])
            lines = lines_of(excerpt, language=snapshot.files[position].language)
            definitions.append(
                {**_place(root, definition, definition["end_line"]), "lines": lines, "what": definition}
            )
        references = navigator.find_references(name)
        total += len(references)
        for use in references:
            if len(uses) < MOST_USES:
                row = snapshot.files[snapshot.by_path[use["file_path"]]]
                line = snapshot.lines(row, use["line"], use["line"]).strip()[: views.LONGEST_LINE]
                pieces = lines_of(line, language=row.language)[0]
                uses.append({**_place(root, use, use["line"]), "pieces": pieces, "what": use})
    status = 200 if definitions or uses else 404
    return {
        "name": escape_text(name),
        "definitions": definitions,
        "uses": uses,
        "total": total,
        "status": status,
    }


def _place(root: str, entry: Mapping[str, Any], last: int) -> dict[str, Any]:
    first = entry["line"]
    id = f"{root}/{entry['file_path']}:{first}-{last}"
    return {
        "place": Location(escape_text(entry["file_path"]), str(first)),
        "url": f"/source?{urlencode({'id': id})}#L{first}",
    }


def snapshots_of(call: Call, sources: Sequence[str] | None = None) -> list[Snapshot]:
    """Return the newest snapshot of every repository that the server offers to this reader.

    Args:
        sources: those that name the repositories; None for all.
    """
    if not call.key.sees_code:
        return []
    try:
        return call.service.snapshots(call.key, sources)
    except UnknownRepositoryError:
        return []
