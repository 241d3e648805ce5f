"""Checks the addresses of services, and shows URLs without their secrets."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, urlsplit

from sleuth.errors import ArgumentError

HIDDEN = "…"
"""Replaces the parts of a URL that are not shown."""

BASE_RULE = "http://host or https://host, with a port and a path where needed"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:::[A-Za-z][A-Za-z0-9+.-]*)?")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]\\;&=<>\"]+)?(?::\d{0,5})?")
_AUTHORITY_END = re.compile(r"[/?#\\]")
_PLAIN_PATH = re.compile(r"(?:[^?#;&=@\\\x00-\x20\x7f]|(?<=/)@(?![^/]*@))*")
"""A path up to what may begin a query, a fragment, a parameter or a user."""
_LATE_USER = re.compile(r"[^/]@")
_DECODINGS = 5
"""How often a text may be percent-encoded before it counts as unreadable."""


def checked_base(base_url: str, name: str = "base_url", rule: str = BASE_RULE) -> str:
    """Return the base address of a service, checked and without a slash at its end.

    Args:
        name: of the argument or variable that holds it, for the message.
        rule: the form that it must have, for the message.

    Raises:
        ArgumentError: not an http or https address, or one that holds a user, a password, a query or a
            fragment, in plain text or percent-encoded. The message does not show them.
    """
    if not isinstance(base_url, str):
        raise ArgumentError(f"{name} must be {rule}, got {type(base_url).__name__}")
    parts = split_url(base_url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(f"{name} must be {rule}, got {shown_url(base_url)!r}")
    if shown_url(base_url) != base_url:
        raise ArgumentError(
            f"{name} must be {rule}, and no user, password, query or fragment (a key goes into the environment), "
            f"got {shown_url(base_url)!r} and more, which is not shown"
        )
    return base_url.rstrip("/")


def shown_url(url: str) -> str:
    """Return a URL for messages, logs and records: without user, password, query, fragment and parameters.

    Percent-encoded ones are also left out. Text that is not a URL is replaced as a whole. Git remotes of the form
    `user@host:path` count as URLs; a local path stays as it is.
    """
    scheme, mark, tail = url.partition("://")
    if not mark:
        return _shown_without_scheme(url)
    if not _SCHEME.fullmatch(scheme):
        return HIDDEN
    end = _AUTHORITY_END.search(tail)
    authority_end = end.start() if end else len(tail)
    host = _host(tail[:authority_end])
    if "@" not in _decoded(tail[:authority_end]) and _LATE_USER.search(_decoded(tail[authority_end:])):
        host = None  # a user or password that holds a slash
    return f"{scheme}://{HIDDEN}" if host is None else f"{scheme}://{host}{_path(tail[authority_end:])}"


def _shown_without_scheme(url: str) -> str:
    if url.startswith("//"):
        return HIDDEN
    if url.startswith(("/", ".", "~")):
        return url
    if "::" in url:  # a helper of git, whose address may be a whole command
        return f"{url.partition('::')[0]}::{HIDDEN}" if _SCHEME.fullmatch(url.partition("::")[0]) else HIDDEN
    authority, slash, path = url.partition("/")
    if "@" in _decoded(path):
        return HIDDEN
    host, colon, start = _decoded(authority).rpartition("@")[2].partition(":")
    return HIDDEN if _host(host) is None else f"{host}{colon}{_path(start + slash + path)}"


def _host(authority: str) -> str | None:
    """Return the host and port of an authority, or None if they may be part of a user or password."""
    host = _decoded(authority.rpartition("@")[2]).rpartition("@")[2]
    return host if _HOST.fullmatch(host) and host.isprintable() else None


def _path(path: str) -> str:
    """Return a path as written, up to the first character that may begin something else."""
    text = _decoded(path)
    match = _PLAIN_PATH.match(text)
    plain = match[0] if match else ""
    return path if plain == text else quote(plain) + HIDDEN


def _decoded(text: str) -> str:
    """Decode `text` until no percent-encoding is left; return "?" if that takes too many rounds."""
    for _ in range(_DECODINGS):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    return "?"


def split_url(url: str) -> SplitResult | None:
    """Split a URL; return None if it is invalid, its port included.

    The error of urllib is not passed on, because it quotes the URL, which may hold a password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for an invalid port
    except ValueError:
        return None
    return parts


def port_of(parts: SplitResult) -> int:
    """Return the port of a URL, or its scheme's default."""
    return parts.port or (443 if parts.scheme == "https" else 80)
