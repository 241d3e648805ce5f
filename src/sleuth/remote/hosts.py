"""Resolves hosts, checks whether addresses are on the public internet, and reads which proxy an address uses."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX
from typing import TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from sleuth.errors import ArgumentError
from sleuth.remote.address import port_of, shown_url
from sleuth.remote.answer import LateError, UnreachableError
from sleuth.remote.cancellation import Deadline
from sleuth.remote.threads import THREADS

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The block from which IANA assigns public IPv6 addresses (RFC 4291 2.4). Outside of it lie `fec0::/10` (RFC 3879),
IPv4-compatible addresses, `64:ff9b:1::/48` (RFC 8215) and others that Python counts as global."""
_NOT_PUBLIC: tuple[Network, ...] = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments (RFC 6890); some clouds serve metadata at 192.0.0.192
            "192.88.99.0/24",  # relays of 6to4 (RFC 7526)
            "168.63.129.16/32",  # Azure's services for its own machines
            "161.26.0.0/16",  # IBM Cloud's services for its own machines
            "166.8.0.0/14",  # IBM Cloud's private service endpoints
            "2001::/23",  # protocol assignments (RFC 2928): Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation (RFC 3849)
            "2002::/16",  # 6to4 (RFC 7526): leads to the IPv4 address that it holds
            "3fff::/20",  # documentation (RFC 9637)
        ),
    )
)


def resolve(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Return the addresses of `host`, in the system's order, without duplicates.

    The system's resolver has no timeout, so it runs in a thread that is abandoned at the deadline.

    Raises:
        UnreachableError: the host is unknown.
        LateError: the resolver did not answer in time.
    """
    with suppress(ValueError):  # it is a name
        return [ipaddress.ip_address(host)]
    answers: SimpleQueue[list[str] | str | None] = SimpleQueue()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put([str(address[0]).partition("%")[0] for *_, address in entries])
        except (OSError, UnicodeError) as error:
            answers.put(str(error))

    THREADS.submit(look_up)
    with deadline.cancellation.closing(lambda: answers.put(None)), suppress(Empty):
        answer = answers.get(timeout=min(deadline.remaining(), TIMEOUT_MAX))
        if isinstance(answer, str):
            raise UnreachableError(f"host {host!r} was not found: {answer}")
        if answer is not None:
            return [ipaddress.ip_address(text) for text in dict.fromkeys(answer)]
    raise LateError(f"host {host!r} was not found: no answer in time")


def is_public(address: Address) -> bool:
    """Tell whether an address is on the public internet.

    Private, loopback, link-local, shared, reserved, documentation, tunnel and cloud-internal addresses are not. An IPv6
    address that stands for an IPv4 address (mapped or NAT64) counts as that address.
    """
    if isinstance(address, ipaddress.IPv6Address):
        mapped = (
            ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address.ipv4_mapped
        )
        if mapped is not None:
            return is_public(mapped)
        if address not in _UNICAST:
            return False
    special = (
        address.is_multicast or address.is_reserved or any(address in network for network in _NOT_PUBLIC)
    )
    return address.is_global and not special


def refused_address(addresses: Sequence[Address], allowed: Sequence[Network]) -> Address | None:
    """Return the first address that is neither public nor in an allowed network, or None.

    One such address is enough to refuse a host: attackers give a name addresses of both kinds.
    """
    for address in addresses:
        if not is_public(address) and not any(address in network for network in allowed):
            return address
    return None


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; its repr shows no password.

    Attributes:
        url: without user and password.
        auth: user and password, or None.
    """

    url: str
    host: str
    port: int
    auth: tuple[str, str] | None = field(repr=False)


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
