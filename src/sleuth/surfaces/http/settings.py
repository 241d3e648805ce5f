"""Settings of a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from sleuth.errors import ArgumentError
from sleuth.remote import checked_base

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

QUEUE_PER_THREAD = 64
"""Requests that may wait for each that is worked on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server answers.

    Attributes:
        host, port: where it listens.
        keys: the file with the keys of its clients; None lets everyone in who reaches it.
        token_issuer: the address of who signs access tokens for `/mcp`; None accepts keys alone.
        public_url: the address at which clients reach the server, which tokens name; needed with `token_issuer`.
        read_only: refuse to add and delete.
        sources: what requests may search: "docs", "code", "code:REPOSITORY", "web", "kb:ID".
        model: who writes answers, as of `Engine.use_model`; the best sentences are quoted where None.
        rerankers: names of models that a search may ask for; each is loaded when it is first asked for.
        allowed_hosts: names under which clients may address the server, besides localhost and addresses.
        trusted_proxies: addresses and networks of proxies, whose `X-Forwarded-Proto` says whether a client uses TLS.
        cors_origins: pages of other sites that may call the server; none by default.
        threads: requests that are worked on at a time.
        queue: requests that may wait; the next one is answered with 503.
        cache: bytes of recent answers that are kept; 0 keeps none.
        deadline: seconds for one request, from its first byte to its last.
        answer_deadline: the same for answers that a model writes.
        max_body: bytes of a request with JSON.
        max_upload: bytes of a request with files.
        log_queries: write the text of queries into the log and into spans.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    keys: Path | None = None
    token_issuer: str | None = None
    public_url: str | None = None
    read_only: bool = False
    sources: Sequence[str] = ("docs",)
    model: str | None = None
    rerankers: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    trusted_proxies: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    threads: int = CORES
    queue: int = QUEUE_PER_THREAD * CORES
    cache: int = 16 << 20
    deadline: float = 30.0
    answer_deadline: float = 300.0
    max_body: int = 32 << 20
    max_upload: int = 256 << 20
    log_queries: bool = False

    def __post_init__(self) -> None:
        self._check_tokens()
        for name, least in (
            ("threads", 1),
            ("queue", 0),
            ("cache", 0),
            ("max_body", 1),
            ("max_upload", 1),
            ("port", 0),
        ):
            if getattr(self, name) < least:
                raise ArgumentError(f"{name} must be {least} or more, got {getattr(self, name)!r}")
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise ArgumentError(
                    f"trusted_proxies must be addresses or networks such as 10.0.0.0/8, got {proxy!r}"
                ) from None
        for name in ("deadline", "answer_deadline"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ArgumentError(f"{name} must be seconds above 0, got {getattr(self, name)!r}")

    def _check_tokens(self) -> None:
        """Refuse addresses that are not by https, and tokens beside an open door."""
        for name in ("token_issuer", "public_url"):
            if (value := getattr(self, name)) is None:
                continue
            rule = "an https address such as https://login.example.org"
            base = checked_base(value, name, rule)
            if base.startswith("http:") and not is_loopback(urlsplit(base).hostname or ""):
                raise ArgumentError(f"{name} must be {rule}, got {value!r}")
            object.__setattr__(self, name, base if name == "public_url" else value)
        if self.token_issuer is not None and self.keys is None:
            raise ArgumentError("keys must be given with token_issuer: without them, everyone is let in")
        if self.token_issuer is not None and self.public_url is None:
            raise ArgumentError("public_url must be given with token_issuer: tokens are for that address")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a server that listens on `host`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def threads_per_worker(workers: int, cores: int = CORES) -> int:
    """Return the threads of each worker: more of them than cores would only compete for the cores."""
    return max(1, cores // workers)
