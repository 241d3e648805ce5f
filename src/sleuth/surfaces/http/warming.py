"""Loads ahead of the first request what requests need: the searchers, the embedder, code, templates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sleuth.surfaces.http.search import SearchBody, search_page
from sleuth.surfaces.http.service import Call, Service, logger

Warmer: TypeAlias = Callable[[Call, str], object]
"""Does once what a request does, with a call of nobody and a query that finds something."""

_SECONDS = 60.0  # for each warmer: twice what a request has by default, since it loads models first
_QUERY_CHARACTERS = 100
LOCAL = frozenset({"docs", "code"})
"""Kinds of sources that are on this machine: a server asks no service before somebody asks it."""


async def warm(service: Service, warmers: Sequence[Warmer]) -> None:
    """Run the warmers in the background; the service is ready after the last, also where one failed."""
    try:
        query = await service.warming.run(sample_query, service)
        for warmer in (_search, *warmers):
            try:
                await service.warming.run(warmer, Call(service, time.monotonic() + _SECONDS), query)
            except Exception:  # noqa: BLE001 - a request that needs it will say what is wrong
                logger.warning("warming failed", exc_info=True)
    finally:
        service.is_warm = True


def sample_query(service: Service) -> str:
    """Return the first words of a document of the index, or a common word."""
    for document in service.engine.list_documents(limit=1).documents:
        for item in service.engine.get(document.id)[:1]:
            return item.text[:_QUERY_CHARACTERS]
    return "main"


def _search(call: Call, query: str) -> None:
    search_page(SearchBody(query=query, k=1, snippets=True), call)
