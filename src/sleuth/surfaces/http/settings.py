"""Settings of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from sleuth import platform
from sleuth.arguments import check_count, check_positive
from sleuth.errors import ArgumentError
from sleuth.remote import checked_base
from sleuth.types.request import Wire

CORES = platform.cores()

WORKERS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder that the workers of a server share; prometheus-client reads it when it is imported."""

QUEUE_PER_THREAD = 64
"""Requests that may wait for each that is worked on."""


Texts = Wire(list[str] | None)
"""A flag that may be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server answers.

    A field with a sentence is an option of `sleuth serve`.
    """

    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    port: Annotated[int, "Port to listen on; 0 takes a free one."] = 8321
    keys: Annotated[Path | None, "Let in only clients with a key of this file."] = None
    token_issuer: Annotated[
        str | None, "Accept access tokens that this issuer signs at /mcp, beside keys."
    ] = None
    public_url: Annotated[str | None, "Address at which clients reach the server; tokens must be for it."] = (
        None
    )
    read_only: Annotated[bool, "Refuse to add and delete."] = False
    sources: Annotated[Sequence[str], Texts, "What may be searched: docs (default), code, web or kb:ID."] = (
        "docs",
    )
    model: Annotated[
        str | None, "Model that writes answers, such as llama3.1. Without one, passages are quoted."
    ] = None
    rerank: Annotated[Sequence[str], Texts, "Model that searches may rerank by; repeat it for several."] = ()
    allow_host: Annotated[Sequence[str], Texts, "Host name that clients use for the server."] = ()
    trust_proxy: Annotated[
        Sequence[str], Texts, "Address or network of a proxy that says by X-Forwarded-Proto who uses TLS."
    ] = ()
    cors: Annotated[
        Sequence[str], Texts, "Site whose pages may call the server, as https://example.org."
    ] = ()
    threads: Annotated[int, "Requests that each worker runs at a time. Default: its share of the cores."] = (
        CORES
    )
    queue: Annotated[int, "Requests that may wait in each worker. Default: 64 per thread."] = (
        QUEUE_PER_THREAD * CORES
    )
    cache: Annotated[int, "Bytes of recent answers that each worker keeps; 0 keeps none."] = 16 << 20
    deadline: Annotated[float, "Seconds for a request."] = 30.0
    # A model writes token by token, so an answer may take ten times as long as another request.
    answer_deadline: Annotated[float, "Seconds for an answer that a model writes."] = 300.0
    max_body: Annotated[int, "Maximum size of a request in bytes."] = 32 << 20
    max_upload: int = 256 << 20
    """Bytes of a request with files."""
    log_queries: Annotated[bool, "Write the text of queries into the log."] = False

    def __post_init__(self) -> None:
        from sleuth.engine.request import check_sources

        check_sources(self.sources)
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
        minimums = {"threads": 1, "queue": 0, "cache": 0, "max_body": 1, "max_upload": 1, "port": 0}
        for name, minimum in minimums.items():
            most = 65_535 if name == "port" else None
            check_count(getattr(self, name), name, least=minimum, most=most)
        for proxy in self.trust_proxy:
            try:
                ip_network(proxy)
            except ValueError:
                raise ArgumentError(
                    f"trust_proxy must be addresses or networks such as 10.0.0.0/8, got {proxy!r}"
                ) from None
        for name in ("deadline", "answer_deadline"):
            check_positive(getattr(self, name), name)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a server that listens on `host`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
