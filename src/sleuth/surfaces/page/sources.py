"""What the source view shows: a document or a file, with the lines that are cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.datastructures import QueryParams

from sleuth.engine.answers import Answering
from sleuth.engine.reading import numbered_lines
from sleuth.errors import LoadError
from sleuth.ingest.diff import is_as_read
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.reports import has_exceeded
from sleuth.surfaces.hits import matches_in
from sleuth.surfaces.http import Call, Refusal
from sleuth.surfaces.page.markup import MOST_CHARACTERS, blocks_of, fill_lines, lines_of, marked, parse
from sleuth.surfaces.page.places import browse_url, roots_of, shown_place
from sleuth.surfaces.page.results import language_of
from sleuth.surfaces.page.state import PageState
from sleuth.text.markup import is_markdown, is_prose, without_heading_signs
from sleuth.types import RetrievedItem, document_of

MOST_LINES: Final = 2_000
"""Lines before and after what is cited that a source view shows."""
DOTS_PER_INCH: Final = 110
"""Of the picture of a page: about 900 dots wide."""


def source(call: Call, state: PageState, parameters: QueryParams) -> dict[str, Any]:
    """Return a document or file at the lines of `id`; with `text`, Markdown as it is written.

    Raises:
        Refusal: 404 for what is not indexed, or may not be seen.
    """
    id, as_written = parameters.get("id", ""), parameters.get("text") == "1"
    cited = call.engine.get(id)
    if not cited:
        item, lines, numbers = _file(call, id)
        view = _view(item, lines, numbers, state.query, call.retriever(list(state.sources)), as_written)
        return {**view, "title": item.metadata["path"], "place": shown_place(id, item.metadata, ())}
    item = cited[0]
    lines, numbers_by_id = numbered_lines(call.engine.get(document_of(id)) or cited)
    view = _view(item, lines, numbers_by_id[item.id], state.query, call.engine, as_written)
    place = shown_place(id, item.metadata, roots_of(call))
    can_delete = "write" in call.key.scopes and not call.service.settings.read_only
    encoded, page = urlencode({"id": id}), item.metadata.get("page")
    return {
        **view,
        "title": str(item.metadata.get("title") or place.name),
        "place": replace(place, lines="") if "row" in item.metadata else place,
        "other_form": state.address("/source", id=id, **({} if as_written else {"text": "1"})),
        "download": f"/original?{encoded}#page={page}" if page else "",
        "picture": f"/picture?{encoded}" if page and original(call, id) else "",
        "delete": document_of(id) if can_delete else "",
    }


def _file(call: Call, id: str) -> tuple[RetrievedItem, dict[int, str], range]:
    """Return a file of a repository that the server offers, its lines, and the numbers of those that an id cites."""
    from sleuth.code.search.filters import file_metadata

    path, _, lines = (id.rpartition("@")[0] if "@" in id else id).rpartition(":")
    first_line, _, last_line = lines.partition("-")
    if first_line.isdigit() and (not last_line or last_line.isdigit()):
        cited = range(int(first_line), int(last_line or first_line) + 1)
        for snapshot in call.snapshots():
            position = snapshot.by_path.get(path.removeprefix(f"{snapshot.repository.path}/"))
            row = None if position is None else snapshot.files[position]
            if row is not None and cited.start <= row.lines:
                text = snapshot.lines(row, 1, row.lines)
                place = {"start_line": cited.start, "end_line": cited.stop - 1}
                item = RetrievedItem(id=id, text=text, metadata=file_metadata(snapshot, row) | place)
                return item, dict(enumerate(text.split("\n"), 1)), cited
    raise Refusal(404, "DocumentError", f"Nothing is indexed as {id!r}. It may have been deleted since.")


def _view(
    item: RetrievedItem,
    numbered: Mapping[int, str],
    cited: range,
    query: str,
    answering: Answering,
    as_written: bool,
) -> dict[str, Any]:
    """Return the `lines` around what is cited, or the `blocks` of Markdown; words that match are marked where cited.

    Args:
        numbered: the lines of the whole, by number.
        cited: numbers of the lines that are cited.
    """
    begin, end = min(numbered, default=1), max(numbered, default=0)
    numbers = range(max(begin, cited.start - MOST_LINES), min(end, cited.start + MOST_LINES) + 1)
    text = "\n".join(numbered.get(number, "") for number in numbers)
    if item.metadata.get("type") == "pdf":
        text = without_heading_signs(text)
    inside = range(max(0, cited.start - numbers.start), max(0, cited.stop - numbers.start))

    def write(words: str) -> Markup:
        return marked(words, matches_in(words, query, answering.snippet, item))

    lines: list[tuple[int, Markup, bool]] = []
    blocks: list[tuple[range, Markup, bool]] = []
    has_blocks = is_markdown(item.metadata) and len(text) <= MOST_CHARACTERS
    if "row" in item.metadata and not has_blocks:
        rows = (line.partition(": ") for line in text.split("\n"))
        cells = [(name, value) if colon else ("", name) for name, colon, value in rows]
        row = Markup('<tr class="cited"><th>{}</th><td>{}</td></tr>')
        table = Markup("").join(row.format(escape(name), write(value)) for name, value in cells)
        blocks = [(numbers[:1], Markup('<table tabindex="0">{}</table>').format(table), True)]
    elif has_blocks and not as_written:
        tokens = parse(text)
        fill_lines(tokens, inside, write)
        for place, html in blocks_of(tokens):
            is_cited = place.start < inside.stop and inside.start < place.stop
            blocks.append((range(place.start + numbers.start, place.stop + numbers.start), html, is_cited))
    else:
        texts = text.split("\n")
        offset = sum(len(line) + 1 for line in texts[: inside.start])
        spans = matches_in("\n".join(texts[inside.start : inside.stop]), query, answering.snippet, item)
        spans = [(start + offset, stop + offset) for start, stop in spans]
        html_lines = lines_of(text, spans, language=language_of(item.metadata))
        lines = [(number, html, number in cited) for number, html in zip(numbers, html_lines, strict=True)]
    return {
        "item": item,
        "lines": lines,
        "blocks": blocks,
        "has_blocks": has_blocks,
        "is_prose": is_prose(item.metadata),
        "is_whole": cited.start <= begin and end < cited.stop,
        "folder": browse_url(str(item.metadata.get("source") or "")),
        **dict.fromkeys(("other_form", "download", "picture", "delete"), ""),  # a document may have them
    }


def original(call: Call, id: str) -> Path | None:
    """Return the PDF of a document if it is unchanged since it was read."""
    for item in call.engine.get(id)[:1]:
        source = str(item.metadata.get("source", ""))
        path = Path(call.engine.files.path_of(source))
        if path.suffix.lower() == ".pdf" and path.is_absolute() and path.is_file():
            with call.engine.store.reader() as snapshot:
                row = snapshot.files([source]).get(source)
            if row and not has_exceeded(row) and is_as_read(row, path):
                return path
    return None


def picture(call: Call, id: str, processes: FileProcesses) -> bytes | None:
    """Return the page of a PDF that a passage is on, as PNG; None without a page or if it cannot be drawn.

    Args:
        processes: draw it in a process with limits of time and memory.
    """
    path = original(call, id)
    page = next((item.metadata.get("page") for item in call.engine.get(id)[:1]), None)
    if path is None or not page:
        return None
    try:
        content = path.read_bytes()
        return processes.picture(str(path), content, int(page), dots_per_inch=DOTS_PER_INCH, colour=True)
    except (LoadError, OSError):
        return None
