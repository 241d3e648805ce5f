"""Finds the results that a page shows; runs in the queue of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from sleuth.engine import SearchRequest
from sleuth.engine.answers import Answering
from sleuth.engine.spelling import misspelling_of
from sleuth.errors import SleuthError
from sleuth.filters import Compare, to_text
from sleuth.filters.match import leaves
from sleuth.surfaces.hits import excerpt, score_text, title_of
from sleuth.surfaces.http import Call, retrieve
from sleuth.surfaces.page.answering import written_answer
from sleuth.surfaces.page.facets import facets_of
from sleuth.surfaces.page.markup import lines_of
from sleuth.surfaces.page.places import roots_of, shown_place, stale_files
from sleuth.surfaces.page.state import PageState
from sleuth.text.markup import is_markdown
from sleuth.text.words import WORD
from sleuth.types import RetrievedItem

SNIPPET = 360
"""Characters of a passage that a hit shows."""
CODE_LINES = 14
LONGEST_LINE = 200


def results(call: Call, state: PageState, _: QueryParams) -> dict[str, Any]:
    """Return the hits of a question and their facets, or counts without a question."""
    from sleuth.code.search.facets import CodeMatches, code_matches

    if not state.query:
        count = call.engine.count()
        files = sum(len(snapshot.files) for snapshot in call.snapshots())
        return {"documents": count.documents, "passages": count.passages, "files": files}
    retriever = call.retriever(list(state.sources))
    request = state.request
    if not state.option("fold_copies"):  # an answer is written from all passages, a reader wants no copies
        request = replace(request, fold_copies=True)
    end = state.page * request.k
    ranking = retrieve(request, call, end + 1)
    items = ranking[end - request.k : end]
    roots, code = roots_of(call), dict[str, CodeMatches]()
    searches_code = any(name.partition(":")[0] == "code" for name in state.sources)
    if searches_code:
        tree = call.filter(state.request.filter)
        for snapshot in call.snapshots(state.sources):
            code[snapshot.repository.path] = code_matches(snapshot, state.query, tree)
    is_streamed = call.service.engine.model is not None and not state.with_answer
    has_answer = bool(items) and state.page == 1
    documents = 0
    if "docs" in state.sources:
        documents = call.engine.count(state.request.filter, query=state.query).documents
    files = sum(len(matches.files) for matches in code.values())
    counts = ((documents, "document", "documents"), (files, "file of code", "files of code"))
    values = {
        "hits": hits_of(items, request, retriever, roots, first=end - request.k + 1, why=state.why),
        "passages": len(items),
        "matching": [(n, one if n == 1 else several) for n, one, several in counts if n],
        "facets": facets_of(call, state, code),
        "more": request.k > 0 and len(ranking) > end,
        "answer": written_answer(call, state, roots) if has_answer and not is_streamed else None,
        "is_streamed": has_answer and is_streamed,
        "failures": [f"{part.name}: {part.error}" for part in ranking.failures],
        "notes": [_note(note, state) for note in ranking.notes],
        "stale": stale_files(call) if searches_code else 0,
    }
    if searches_code:
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


def _note(note: str, state: PageState) -> dict[str, str]:
    """Show a note; one that suggests another spelling leads to the results of that."""
    misspelling = misspelling_of(note)
    if misspelling is None or not misspelling.nearest:
        return {"text": note, "question": "", "url": ""}
    word, nearest = misspelling
    question = WORD.sub(lambda match: nearest if match[0] == word else match[0], state.query)
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
    query = request.query
    for number, item in enumerate(items, first):
        metadata, is_code = item.metadata, item.metadata.get("source_type") == "code"
        document = number if request.sort else item.id if is_code else item.document_id
        place = shown_place(item.id, metadata, roots)
        part = excerpt(item, query, answering.snippet, width=SNIPPET, lines=CODE_LINES, longest=LONGEST_LINE)
        if is_code:
            lines = lines_of(part.text, part.spans, language=language_of(metadata))
        else:
            prefix, suffix = "… " if part.start else "", " …" if part.is_cut else ""
            spans = [(begin + len(prefix), end + len(prefix)) for begin, end in part.spans]
            text = part.text if is_markdown(metadata) else part.text.replace("\n", " ")
            lines = lines_of(prefix + text + suffix, spans)
        key = request.collapse or ""
        value = leaves(metadata).get(key) if item.folded else None
        alike = "" if value is None or isinstance(value, list) else to_text(Compare(key, "eq", value))
        view = {
            "number": number,
            "item": item,
            "title": title_of(metadata) or place.name,
            "place": place,
            "url": f"/source?{urlencode({'id': item.id, 'q': query})}#cited",
            "kind": str(metadata.get("kind") or metadata.get("source_type") or metadata.get("type") or ""),
            "score": score_text(item),
            "lines": lines,
            "is_code": is_code,
            "more": part.more if is_code else 0,
            "why": item.explanation if number == why else None,
            "alike": alike,
        }
        views.setdefault(document, []).append(view)
    return [{**best, "others": passages} for best, *passages in views.values()]


def language_of(metadata: Mapping[str, Any]) -> str:
    """Return Pygments' name of the syntax of an item's text."""
    name = str(metadata.get("language") or metadata.get("type") or "")
    return name or PurePath(str(metadata.get("source") or "")).suffix.removeprefix(".")
