"""Checks a site's `robots.txt` before a page is fetched.

As in RFC 9309, the longest rule that matches counts, and may hold `*` and `$`. A missing `robots.txt` allows
everything; a server error forbids everything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from time import monotonic
from urllib.parse import urlsplit

from protego import Protego

from sleuth.errors import WebError

MAX_AGE = 3600.0
"""Seconds that the rules of a site are cached."""
MAX_BYTES = 512_000
"""RFC 9309 2.5: at least 500 KiB have to be read; what follows is not."""
_SITES = 1024

_rules_by_site: OrderedDict[str, tuple[float, Protego]] = OrderedDict()
_lock = Lock()


def allowed(url: str, agent: str, fetch: Callable[[str], tuple[int, bytes]]) -> bool:
    """Tell whether `agent` may fetch `url`.

    Args:
        fetch: returns status and body of the site's `robots.txt`; a WebError counts as a server error.
    """
    parts = urlsplit(url)
    site = f"{parts.scheme}://{parts.netloc}"
    with _lock:
        entry = _rules_by_site.get(site)
    if entry is not None:
        since, known_rules = entry
        if monotonic() - since <= MAX_AGE:
            return known_rules.can_fetch(url, agent)
    try:
        status, body = fetch(f"{site}/robots.txt")
    except WebError:
        return False  # the next call asks again
    if status >= 500 or status == 429:
        return False
    whole_lines = body if len(body) < MAX_BYTES else body[: body.rfind(b"\n")]  # half a path is another one
    text = whole_lines.decode("utf-8-sig", errors="replace") if status < 300 else ""
    rules = Protego.parse(text)
    with _lock:
        _rules_by_site[site] = (monotonic(), rules)
        while len(_rules_by_site) > _SITES:
            _rules_by_site.popitem(last=False)
    return rules.can_fetch(url, agent)


def crawl_delay(url: str, agent: str) -> float:
    """Return the seconds between requests that a site asks for, where its rules were read; 0 if it asks for none."""
    parts = urlsplit(url)
    with _lock:
        entry = _rules_by_site.get(f"{parts.scheme}://{parts.netloc}")
    if entry is None:
        return 0.0
    _, site_rules = entry
    return float(site_rules.crawl_delay(agent) or 0)
