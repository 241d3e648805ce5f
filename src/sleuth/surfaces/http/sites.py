"""Refuses requests that a web page of another site makes: DNS rebinding and cross-site requests."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from sleuth.surfaces.http.problems import Refusal


def check_host(host: str, allowed: Collection[str]) -> None:
    """Refuse a request whose Host is a name that is not ours.

    A page that lets its own name resolve to this machine (DNS rebinding) sends that name as Host. It cannot send an
    address, so addresses are always allowed.

    Raises:
        Refusal: 403; says how to allow the name.
    """
    name = host_name(host)
    if name == "localhost" or name in allowed or _is_address(name):
        return
    raise Refusal(
        403, "HostError", f"Host must be an allowed name, got {host!r}; `sleuth serve --allow-host` adds one"
    )


def check_origin(headers: dict[bytes, bytes], host: str, origins: Collection[str], path: str) -> None:
    """Refuse a request that a page of another site makes, unless that site is allowed.

    Following a link from another site to the page at `/` is fine: the browser shows the answer to its user alone.

    Raises:
        Refusal: 403.
    """
    origin = headers.get(b"origin")
    if origin is not None:
        text = origin.decode("latin-1")
        if text not in origins and _place_of(text) != host.lower():
            raise Refusal(403, "OriginError", f"Origin must be this server or an allowed site, got {text!r}")
        return
    site = headers.get(b"sec-fetch-site", b"none")
    is_link = headers.get(b"sec-fetch-mode") == b"navigate" and not path.startswith("/v1/")
    if site in {b"cross-site", b"same-site"} and not is_link:
        raise Refusal(403, "OriginError", "a page of another site must not make this request")


def host_name(host: str) -> str:
    """Return the name in a Host header in lower case, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def _place_of(origin: str) -> str:
    """Return the host and port of an origin, or ""."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # such as http://[
        return ""


@lru_cache(maxsize=64)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
