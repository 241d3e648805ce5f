"""A plugin that knows a glossary: it writes abbreviations out, defines terms, puts new passages first, and lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sleuth.hooks import PluginInfo, hook, plugin
from sleuth.results import RetrievedItem, RetrieveResult, ReturnMode, SearchResult

ABBREVIATIONS = {"k8s": "kubernetes", "db": "database"}
GLOSSARY = {
    "SLO": "SLO: service level objective, the share of requests that a service promises to answer well.",
    "TTL": "TTL: time to live, how long a value may be used before it is asked for again.",
}

connections: list[str] = []


@plugin
def activated(plugin: PluginInfo, instance: Any) -> None:
    """Open what the hooks need: here, a connection that is only pretended."""
    connections.append(plugin.name)


@plugin
def deactivated(plugin: PluginInfo, instance: Any) -> None:
    """Close it again."""
    connections.remove(plugin.name)


@hook("indiana_jones_retrieve", priority=10)
def write_out(
    result: RetrieveResult, query: str, k: int, return_mode: ReturnMode, for_synthesize: bool, *, rag2f: Any
) -> None:
    """Before: search for the words that abbreviations stand for."""
    words = (ABBREVIATIONS.get(word.lower(), word) for word in query.split())
    result.query = " ".join(words)


@hook("indiana_jones_retrieve", priority=5)
def define(
    result: RetrieveResult, query: str, k: int, return_mode: ReturnMode, for_synthesize: bool, *, rag2f: Any
) -> RetrieveResult | None:
    """Instead: a question for a definition is answered from the glossary, and the index is not asked."""
    match = re.fullmatch(r"define (\w+)", query.strip())
    if match is None or match[1] not in GLOSSARY:
        return None
    entry = RetrievedItem(id=f"glossary/{match[1]}", text=GLOSSARY[match[1]], score=1.0)
    return RetrieveResult.success(query=query, items=[entry])


@hook("indiana_jones_retrieve", priority=-5)
def newest_first(
    result: RetrieveResult, query: str, k: int, return_mode: ReturnMode, for_synthesize: bool, *, rag2f: Any
) -> None:
    """After: what was found, newest first; passages of one year stay in order."""
    result.items = sorted(result.items, key=lambda item: -item.metadata.get("year", 0))


@hook("indiana_jones_synthesize", priority=5)
def as_list(
    result: SearchResult,
    retrieve_result: RetrieveResult,
    return_mode: ReturnMode,
    kwargs: Mapping[str, Any],
    *,
    rag2f: Any,
) -> None:
    """Instead: where a caller asks for a list, the passages are listed and nothing is written about them."""
    if kwargs.get("style") == "list":
        result.response = "\n".join(f"* {item.text}" for item in retrieve_result.items)
        result.used_source_ids = [item.id for item in retrieve_result.items]
