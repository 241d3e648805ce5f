"""Reads from the environment which proxy an address uses."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from sleuth.errors import ArgumentError
from sleuth.remote.address import port_of, shown_url


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """An HTTP proxy; its repr shows no password.

    Attributes:
        url: without user and password.
        auth: user and password, or None.
    """

    url: str
    host: str
    port: int
    auth: tuple[str, str] | None

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


def proxy_for(scheme: str, host: str) -> Proxy | None:
    """Return the proxy that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` set for an address, or None.

    Raises:
        ArgumentError: the variable holds something other than the address of an HTTP proxy; it is not shown whole.
    """
    if proxy_bypass(host):
        return None
    proxies = getproxies_environment()
    url = proxies.get(scheme) or proxies.get("all")
    if not url:
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(f"{scheme.upper()}_PROXY must be http://host:port, got {shown_url(url)!r}")
    port = port_of(parts)
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    auth = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return Proxy(f"{parts.scheme}://{name}:{port}", parts.hostname, port, auth)
