"""Finds the results that a page shows; runs in the queue of searches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sleuth.engine.spelling import misspelling_of
from sleuth.errors import SleuthError
from sleuth.filters import Compare, to_text
from sleuth.filters.match import leaves
from sleuth.surfaces.hits import excerpt, score_text, title_of
from sleuth.surfaces.http import retrieve
from sleuth.surfaces.page.answering import written_answer
from sleuth.surfaces.page.facets import facets_of
from sleuth.surfaces.page.markup import lines_of
from sleuth.surfaces.page.places import roots_of, shown_place, snapshots_of, stale_files
from sleuth.surfaces.page.reasons import sentence_of
from sleuth.surfaces.plain import is_markdown

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.datastructures import QueryParams

    from sleuth.code.search.facets import CodeMatches
    from sleuth.engine import SearchRequest
    from sleuth.engine.answers import Answering
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState
    from sleuth.types import RetrievedItem

SNIPPET = 360
"""Characters of a passage that a hit shows."""
CODE_LINES = 14
LONGEST_LINE = 200

_word = re.compile(r"\w+")


def results(call: Call, state: PageState, _: QueryParams) -> dict[str, Any]:
    """Return the hits of a question and their facets, or counts without a question."""
    if not state.query:
        count = call.engine.count()
        files = sum(len(snapshot.files) for snapshot in snapshots_of(call))
        return {"documents": count.documents, "passages": count.passages, "files": files}
    retriever = call.retriever(list(state.sources))
    request = state.request
    if not state.option("fold_copies"):  # an answer is written from all passages, a reader wants no copies
        request = replace(request, fold_copies=True)
    end = state.page * request.k
    ranking = retrieve(request, call, end + 1)
    items = ranking[end - request.k : end]
    roots, code = roots_of(call), matching_code(call, state)
    is_streamed = call.service.engine.model is not None and not state.with_answer
    has_answer = bool(items) and state.page == 1
    values = {
        "hits": hits_of(items, request, retriever, roots, first=end - request.k + 1, why=state.why),
        "passages": len(items),
        "matching": _matching(call, state, code),
        "facets": facets_of(call, state, code),
        "more": request.k > 0 and len(ranking) > end,
        "answer": written_answer(call, state, roots) if has_answer and not is_streamed else None,
        "is_streamed": has_answer and is_streamed,
        "failures": [f"{part.name}: {part.error}" for part in ranking.failures],
        "notes": [_note(note, state) for note in ranking.notes],
        "stale": 0,
    }
    if searches_code(state):
        values["stale"] = stale_files(call)
        call.freshness.check(wait=0.0)  # last, since it would slow down the search
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


def _note(note: str, state: PageState) -> dict[str, str]:
    """Show a note; one that suggests another spelling leads to the results of that."""
    misspelling = misspelling_of(note)
    if misspelling is None:
        return {"text": note, "question": "", "url": ""}
    word, nearest = misspelling
    question = _word.sub(lambda match: nearest if match[0] == word else match[0], state.query)
    return {"text": note, "question": question, "url": state.asking(question).address()}


def hits_of(
    items: Sequence[RetrievedItem],
    request: SearchRequest,
    answering: Answering,
    roots: Sequence[str],
    *,
    first: int,
    why: int = 0,
) -> list[dict[str, Any]]:
    """Show results of a search, each document once: its best passage, with the `others` below it.

    In a sorted list each passage has its own place.

    Args:
        first: number of the first passage.
        why: number of the passage whose score is explained.
    """
    views: dict[str | int, list[dict[str, Any]]] = {}
    for number, item in enumerate(items, first):
        metadata = item.metadata
        is_code = metadata.get("source_type") == "code"
        document = number if request.sort else item.id if is_code else item.document_id
        symbol, source = str(metadata.get("symbol") or ""), str(metadata.get("source") or "")
        place, explanation = (
            shown_place(item.id, metadata, roots),
            item.explanation if number == why else None,
        )
        lines, omitted_lines = _excerpt_lines(item, request.query, answering)
        key = request.collapse or ""
        alike = leaves(metadata).get(key) if item.folded else None
        alike_filter = (
            to_text(Compare(key, "eq", alike)) if alike is not None and not isinstance(alike, list) else ""
        )
        view = {
            "number": number,
            "id": item.id,
            "title": title_of(metadata) or place.name,
            "place": place,
            "url": f"/source?{urlencode({'id': item.id, 'q': request.query})}#cited",
            "kind": str(metadata.get("kind") or metadata.get("source_type") or metadata.get("type") or ""),
            "score": score_text(item),
            "lines": lines,
            "is_code": is_code,
            "first": int(metadata.get("start_line") or 1),
            "more": omitted_lines,
            "symbol_url": f"/symbol?{urlencode({'name': symbol, 'q': request.query})}" if symbol else "",
            "why": explanation,
            "because": sentence_of(explanation, request.query) if explanation else "",
            "copies": len(item.copies),
            "folded": item.folded,
            "alike": alike_filter,
            "outside": source if source.startswith(("http://", "https://")) else "",
        }
        views.setdefault(document, []).append(view)
    return [{**best, "others": passages} for best, *passages in views.values()]


def _excerpt_lines(item: RetrievedItem, query: str, answering: Answering) -> tuple[list[Markup], int]:
    """Return the excerpt of a hit as lines with marked matches, and how many lines it leaves out: 0 for prose."""
    part = excerpt(item, query, answering.snippet, width=SNIPPET, lines=CODE_LINES, longest=LONGEST_LINE)
    if item.metadata.get("source_type") == "code":
        return lines_of(part.text, part.spans, language=language_of(item.metadata)), part.more
    prefix = "… " if part.start else ""
    suffix = " …" if part.is_cut else ""
    spans = [(begin + len(prefix), end + len(prefix)) for begin, end in part.spans]
    body = part.text if is_markdown(item.metadata) else part.text.replace("\n", " ")
    return lines_of(prefix + body + suffix, spans), 0


def language_of(metadata: Mapping[str, Any]) -> str:
    """Return Pygments' name of the syntax of an item's text."""
    name = str(metadata.get("language") or metadata.get("type") or "")
    return name or PurePath(str(metadata.get("source") or "")).suffix.removeprefix(".")
