"""May a page be fetched, by what its site says of robots?

The rules of RFC 9309: a missing `robots.txt` allows all, one that the server fails to give forbids all.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from time import monotonic
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from sleuth.errors import WebError

KEPT = 3600.0
"""Seconds that a site's rules are kept."""
MAX_BYTES = 512_000
"""RFC 9309 2.5: at least 500 KiB have to be read."""
_SITES = 1024

_known: OrderedDict[str, tuple[float, RobotFileParser]] = OrderedDict()
_lock = Lock()


def allowed(url: str, agent: str, fetch: Callable[[str], tuple[int, bytes]]) -> bool:
    """Whether `agent` may fetch `url`.

    Args:
        fetch: gives status and body of the site's `robots.txt`; a WebError counts as a server that fails.
    """
    parts = urlsplit(url)
    site = f"{parts.scheme}://{parts.netloc}"
    with _lock:
        entry = _known.get(site)
    if entry is not None and monotonic() - entry[0] <= KEPT:
        return entry[1].can_fetch(agent, url)
    rules = _rules(site, fetch)
    if rules is None:
        return False
    with _lock:
        _known[site] = (monotonic(), rules)
        while len(_known) > _SITES:
            _known.popitem(last=False)
    return rules.can_fetch(agent, url)


def _rules(site: str, fetch: Callable[[str], tuple[int, bytes]]) -> RobotFileParser | None:
    """The rules of a site; None where its server fails, which is asked again the next time."""
    try:
        status, body = fetch(f"{site}/robots.txt")
    except WebError:
        return None
    if status >= 500 or status == 429:
        return None
    rules = RobotFileParser()
    rules.parse(body[:MAX_BYTES].decode("utf-8", errors="replace").splitlines() if status < 300 else [])
    return rules
