"""Cursors: where the next page begins, and of which request it is a page."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from sleuth.arguments import MOST_K
from sleuth.engine import SearchRequest
from sleuth.engine.fusion import as_fusion
from sleuth.errors import ArgumentError


def cursor_of(offset: int, request: str) -> str:
    """Return the cursor of the page that begins at `offset` of the results of a request, as `written` has it."""
    return base64.urlsafe_b64encode(f"{offset}.{_mark(request)}".encode()).decode().rstrip("=")


def offset_of(cursor: str | None, request: str) -> int:
    """Return the offset that a cursor encodes, at which its page begins; 0 for None.

    Args:
        request: as `written` has it; the cursor must have been made for an equal one.

    Raises:
        ArgumentError: the cursor is malformed, or was made for another request.
    """
    if cursor is None:
        return 0
    try:
        text = base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode()).decode()
        number, _, mark = text.partition(".")
        offset = int(number)
    except ValueError:
        offset, mark = -1, ""
    if offset < 0 or mark != _mark(request):
        raise ArgumentError(f"cursor must be that of an answer to the same request, got {cursor!r}")
    return offset


def depth(request: SearchRequest) -> int:
    """Return how many hits the pages of a search hold: those that its fusion fuses, since rankings agree that far."""
    if request.sort is not None or (request.legs is not None and len(set(request.legs)) == 1):
        return MOST_K
    return min(MOST_K, as_fusion(request.fusion).pool)


_WRITER = json.JSONEncoder(sort_keys=True, default=str)  # making one takes longer than writing a request


def written(request_values: Mapping[str, Any]) -> str:
    """Return the values of a request as one text, equal for equal requests."""
    return _WRITER.encode(request_values)


def _mark(request: str) -> str:
    return blake2b(request.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
