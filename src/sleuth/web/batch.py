"""Answers many queries from the web and writes them to one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Unpack

from sleuth.arguments import check_count, check_kind, check_query
from sleuth.errors import ArgumentError, LoadError
from sleuth.files import whole_file
from sleuth.remote import async_twin
from sleuth.remote.cancellation import Cancellation, current_cancellation
from sleuth.web.search import SearchOptions, WebSearch, search_entry


def search_web_batch(
    queries: Mapping[str, str] | Iterable[Mapping[str, str]],
    path: str | Path,
    k: int = 3,
    *,
    workers: int = 4,
    **options: Unpack[SearchOptions],
) -> list[dict[str, Any]]:
    """Answer many queries and write their entries, in their order, to a JSON file: a web file.

    An existing file is continued: a query is not asked again if an entry with its id and text holds results,
    and entries with other ids stay. The whole file is rewritten after each round of `workers` queries, so that
    no answer that was paid for is lost.

    Args:
        queries: texts by id, or `{"id", "query"}` each; a missing `id` becomes "query_0" and so on.
        path: the file.
        k: how many pages for each.
        workers: how many queries at a time.
        **options: settings of the search, as `WebSearch` explains them.

    Returns:
        The entries, `{"id", "query", "web_docs"}` each. A query that failed has no results, and its failure
        is logged.

    Raises:
        ArgumentError: two queries of one id, or a bad setting.
        LoadError: `path` holds something other than a web file.
    """
    searcher, k = WebSearch.of(options), check_count(k, least=1)
    workers = check_count(workers, "workers", least=1)
    cancellation = current_cancellation.get() or Cancellation()

    def ask(name: str, query: str) -> dict[str, Any] | None:
        """Return the entry of one query; None once cancelled."""
        entry = None if cancellation.requested else search_entry(searcher, query, k, name)
        return None if cancellation.requested else entry

    path = Path(check_kind(path, str | Path, "path", "text or a Path"))
    check_kind(queries, Iterable, "queries", 'a mapping or a list of {"id", "query"}')
    if isinstance(queries, Mapping):
        queries = [{"id": name, "query": query} for name, query in queries.items()]
    query_by_id: dict[str, str] = {}
    for position, query in enumerate(queries):
        if not isinstance(query, Mapping) or "query" not in query:
            raise ArgumentError(f'queries must be {{"id", "query"}} each, got {query!r}')
        name = str(query.get("id", f"query_{position}"))
        if name in query_by_id:
            raise ArgumentError(f"ids of queries must differ, got {name!r} twice")
        query_by_id[name] = check_query(query["query"])
        if not name or not query["query"]:
            raise ArgumentError(f"queries must have an id and a text, got {query!r}")
    stored_entries = _read(path)
    other_entries = [entry for entry in stored_entries if entry["id"] not in query_by_id]
    entry_by_id = {
        entry["id"]: entry
        for entry in stored_entries
        if entry["web_docs"]["results"] and query_by_id.get(entry["id"]) == entry["query"]
    }
    missing_ids = [name for name in query_by_id if name not in entry_by_id]
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(missing_ids), workers):
            names = missing_ids[start : start + workers]
            contexts = [copy_context() for _ in names]
            entries = pool.map(
                lambda name, context: context.run(ask, name, query_by_id[name]), names, contexts
            )
            entry_by_id.update((entry["id"], entry) for entry in entries if entry is not None)
            rows = [entry_by_id[name] for name in query_by_id if name in entry_by_id]
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(json.dumps(rows + other_entries, ensure_ascii=False, indent=2).encode())
    return [entry_by_id[name] for name in query_by_id if name in entry_by_id]


asearch_web_batch = async_twin(search_web_batch)


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a web file, or none if it does not exist."""
    if not path.exists():
        return []
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_bytes())
        is_sound = isinstance(entries, list) and all(
            isinstance(entry["web_docs"]["results"], list)
            and all(entry[key] and isinstance(entry[key], str) for key in ("id", "query"))
            for entry in entries
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        is_sound = False
    if not is_sound:
        raise LoadError(str(path), "not a web file, so it is not written over")
    return entries
