"""Where is a service?"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from sleuth.errors import ArgumentError


def checked_address(base_url: str) -> SplitResult:
    """The parts of a service's address.

    Raises:
        ArgumentError: it is none, or holds a user or password, which are not shown.
    """
    try:
        parts = urlsplit(base_url)
    except ValueError as error:
        raise ArgumentError(f"base_url must be an address, got {base_url!r} ({error})") from None
    if parts.username or parts.password:
        raise ArgumentError(f"base_url must hold no user and password, got one of {parts.hostname!r}")
    return parts
