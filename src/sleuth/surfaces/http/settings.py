"""Settings of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

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

    A field with a description is an option of `sleuth serve`.
    """

    host: Annotated[str, Field(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(description="Port to listen on; 0 takes a free one.")] = 8321
    keys: Annotated[Path | None, Field(description="Let in only clients with a key of this file.")] = None
    token_issuer: Annotated[
        str | None, Field(description="Accept access tokens that this issuer signs at /mcp, beside keys.")
    ] = None
    public_url: Annotated[
        str | None, Field(description="Address at which clients reach the server; tokens must be for it.")
    ] = None
    read_only: Annotated[bool, Field(description="Refuse to add and delete.")] = False
    sources: Annotated[
        Sequence[str], Texts, Field(description="What may be searched: docs (default), code, web or kb:ID.")
    ] = ("docs",)
    model: Annotated[
        str | None,
        Field(description="Model that writes answers, such as llama3.1. Without one, passages are quoted."),
    ] = None
    rerank: Annotated[
        Sequence[str], Texts, Field(description="Model that searches may rerank by; repeat it for several.")
    ] = ()
    allow_host: Annotated[
        Sequence[str], Texts, Field(description="Host name that clients use for the server.")
    ] = ()
    trust_proxy: Annotated[
        Sequence[str],
        Texts,
        Field(description="Address or network of a proxy that says by X-Forwarded-Proto who uses TLS."),
    ] = ()
    cors: Annotated[
        Sequence[str],
        Texts,
        Field(description="Site whose pages may call the server, as https://example.org."),
    ] = ()
    threads: Annotated[
        int, Field(description="Requests that each worker runs at a time. Default: its share of the cores.")
    ] = CORES
    queue: Annotated[
        int, Field(description="Requests that may wait in each worker. Default: 64 per thread.")
    ] = QUEUE_PER_THREAD * CORES
    cache: Annotated[
        int, Field(description="Bytes of recent answers that each worker keeps; 0 keeps none.")
    ] = 16 << 20
    deadline: Annotated[float, Field(description="Seconds for a request.")] = 30.0
    # A model writes token by token, so an answer may take ten times as long as another request.
    answer_deadline: Annotated[float, Field(description="Seconds for an answer that a model writes.")] = 300.0
    max_body: Annotated[int, Field(description="Maximum size of a request in bytes.")] = 32 << 20
    max_upload: int = 256 << 20
    """Bytes of a request with files."""
    log_queries: Annotated[bool, Field(description="Write the text of queries into the log.")] = False

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


def threads_per_worker(workers: int, cores: int = CORES) -> int:
    """Return the threads of each worker: more of them than cores would only compete for the cores."""
    return max(1, cores // workers)
