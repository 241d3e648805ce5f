"""Which addresses stand behind a host, and may a page be fetched from them?"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias

from sleuth.compose.slices import run_slices
from sleuth.errors import WebError
from sleuth.remote.retry import Deadline

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def resolve(host: str, port: int, deadline: Deadline) -> list[Address]:
    """The addresses of `host`, in the system's order, without duplicates.

    The system's resolver knows no timeout, so it runs in a thread that is left behind at the deadline.

    Raises:
        WebError: the host is unknown, or the resolver did not answer in time.
    """
    if (literal := _literal(host)) is not None:
        return [literal]
    left = deadline.remaining()
    if left == 0:
        raise WebError(f"no time left to look up {host!r}", service="dns")
    found, reports = run_slices(
        {"lookup": lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)},
        deadline=None if deadline.seconds is None else left,
    )
    if "lookup" not in found:
        raise WebError(f"host {host!r} was not found: {reports[0].error}", service="dns") from reports[
            0
        ].exception
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found["lookup"])
    return [ipaddress.ip_address(text) for text in texts]


def _literal(host: str) -> Address | None:
    """The address that a host is, where it is not a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries to a translator or a tunnel, else the address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet: not private, loopback, link-local, shared or
    reserved.
    """
    inner = _embedded(address)
    return inner.is_global and not inner.is_multicast and not inner.is_reserved


def require_public(host: str, addresses: Sequence[Address], allowed: Sequence[Network]) -> None:
    """Refuses a host of which any address is not public.

    Any, not all: a name that has both is how a check is slipped past.

    Raises:
        WebError: names the host and the address.
    """
    for address in addresses:
        if not is_public(address) and not any(address in network for network in allowed):
            raise WebError(f"host {host!r} is refused: {address} is not a public address", service="fetch")
