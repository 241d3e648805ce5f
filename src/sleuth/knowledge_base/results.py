"""Reads the results of a knowledge base and removes duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sleuth.arguments import check_kind, check_score

SOURCE_KEY = "x-amz-bedrock-kb-data-source-id"
"""The metadata key of a document's data source."""


def uri_of(result: Mapping[str, Any]) -> str | None:
    """Return the URI of a result, whatever the type of its location, or None."""
    location = result.get("location")
    if not isinstance(location, Mapping):
        return None
    places = [place for place in location.values() if isinstance(place, Mapping)]
    values = (place.get(key) for place in places for key in ("uri", "url", "id", "query"))
    return next((value for value in values if isinstance(value, str) and value), None)


def text_of(content: object) -> str:
    """Return the text of a result: its own, a transcription, a video's summary, or a row's columns by name."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Mapping):
        return ""
    row = content.get("row") or ()
    texts = (
        content.get("text"),
        (content.get("audio") or {}).get("transcription"),
        (content.get("video") or {}).get("summary"),
        "\n".join(f"{column.get('columnName')}: {column.get('columnValue')}" for column in row),
    )
    return next((text for text in texts if isinstance(text, str) and text), "")


def documented(result: Mapping[str, Any], boost: float = 1.0) -> dict[str, Any]:
    """Convert a result of the service to the documented shape: `score`, `content`, `location`, `metadata`."""
    return {
        "score": _score(result) * boost,
        "content": text_of(result.get("content")),
        "location": dict(result.get("location") or {}),
        "metadata": dict(result.get("metadata") or {}),
    }


def deduplicate_results(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the result with the highest score per URI (the first of equals), and all results without a URI.

    Returns:
        The results themselves, best first, equal scores in their order here.

    Raises:
        ArgumentError: something else than dicts, or a score that is not a finite number.
    """
    results = list(check_kind(results, Iterable, "results", "a list of dicts"))
    places: dict[str, int] = {}  # of the best result, by URI
    for at, result in enumerate(results):
        uri = uri_of(check_kind(result, Mapping, "results", "a list of dicts"))
        if uri is not None and (uri not in places or _score(result) > _score(results[places[uri]])):
            places[uri] = at
    best_places = set(places.values())
    answers = [result for at, result in enumerate(results) if at in best_places or uri_of(result) is None]
    return sorted(answers, key=lambda result: -_score(result))


def _score(result: Mapping[str, Any]) -> float:
    return check_score(result.get("score")) or 0.0
