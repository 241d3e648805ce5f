"""How do local documents and web pages go on together?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any


def merge(
    local_docs: Sequence[Mapping[str, Any]], web_docs: Sequence[Mapping[str, Any]] | Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Local documents and then web pages, in their own orders, with ids that do not collide.

    Local ids stay. Web pages are numbered on from the greatest local number, past ids that are taken, be it
    as text ("7" and 7 are one id to most programs). The input is not changed.

    Args:
        local_docs: as `retrieve_local_docs` gives them.
        web_docs: the `results` of `search_web`, or all that it gave.
    """
    found = web_docs.get("results", ()) if isinstance(web_docs, Mapping) else web_docs
    merged = [dict(document) for document in local_docs]
    taken = {str(document.get("id")) for document in merged}
    numbers = [document["id"] for document in merged if isinstance(document.get("id"), int)]
    free = (number for number in count(max(numbers, default=-1) + 1) if str(number) not in taken)
    return merged + [{**page, "id": next(free)} for page in found]
