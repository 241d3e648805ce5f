"""Chooses the service of a web search, with its key and address, and combines several: in turn, or all at once.

An address comes from the caller or from the environment, never from a file: a person who can write a `.env` above the
working folder must not receive the key of the environment.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sleuth import platform
from sleuth.errors import ArgumentError, WebError
from sleuth.extensions import extension, extensions, installed_extensions, own_extensions
from sleuth.logs import logger_of
from sleuth.remote import Deadline, checked_base
from sleuth.web.service import Hit, MissingKeyError, RemoteService, WebApi, WebQuery, WebService


def merge(
    local_docs: Sequence[Mapping[str, Any]], web_docs: Sequence[Mapping[str, Any]] | Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return local documents and then web pages, in their own orders, with ids that do not collide.

    Local ids stay. Web pages get the next numbers after the greatest local one. Numbers that are local ids are
    skipped, also if the id is text: "7" and 7 are one id to most programs. The input is not changed.

    Args:
        local_docs: as `retrieve_local_docs` returns them.
        web_docs: the `results` of `search_web`, or its whole return value, with or without a query id.
    """
    docs = web_docs.get("web_docs", web_docs) if isinstance(web_docs, Mapping) else web_docs
    pages = docs.get("results", ()) if isinstance(docs, Mapping) else docs
    documents = [dict(document) for document in local_docs]
    ids = [document.get("id") for document in documents]
    # A table with gaps turns 1 into 1.0, so such floats count.
    numbers = [int(id) for id in ids if isinstance(id, int) or (isinstance(id, float) and id.is_integer())]
    local_ids = set(map(str, ids))
    free_numbers = (number for number in count(max(numbers, default=-1) + 1) if str(number) not in local_ids)
    return documents + [{**page, "id": next(free_numbers)} for page in pages]


def fuse(
    local_docs: Sequence[Mapping[str, Any]],
    web_docs: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    k: int | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    rank_constant: float = 60,
) -> list[dict[str, Any]]:
    """Rank local documents and web pages together by reciprocal rank, since their scores cannot be compared.

    To fuse retrievers instead of lists, and by score: `sleuth.compose.fused.FusedRetriever`.

    Args:
        local_docs, web_docs: as for `merge`, each best first.
        k: how many to return; None returns all.
        weights: of "local" and "web"; 1 where not named.
        rank_constant: as in `weight / (rank_constant + rank)`.

    Returns:
        Copies, best first, equal scores in order of `merge`, with the ids that `merge` gives and the fused
        `score`.
    """
    documents = merge(local_docs, web_docs)
    split = len(local_docs)
    rankings = {"local": range(split), "web": range(split, len(documents))}
    pairs = fuse_ranks(rankings, k, weights=weights, rank_constant=rank_constant)
    return [{**documents[key], "score": score} for key, score in pairs]


def fuse_ranks(
    rankings: Mapping[str, Sequence[int]],
    k: int | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    rank_constant: float = 60,
) -> list[tuple[int, float]]:
    """Return the numbers in several rankings, by name and best first, with their scores by reciprocal rank."""
    import numpy as np

    from sleuth.compose.fuse import Pool, fuse_hits

    pools = {
        name: Pool(np.array(ranking, np.int64), np.arange(len(ranking), 0, -1).astype(np.float64))
        for name, ranking in rankings.items()
    }
    fusion = fuse_hits(pools, weights, "rrf", k, rank_constant=rank_constant)
    return list(zip(fusion.keys.tolist(), fusion.scores.tolist(), strict=True))


logger = logger_of("web")

VARIABLE = "SLEUTH_WEB_SERVICES"
"""Environment variable that chooses the services."""
_LONGEST_FILE = 1_000_000
"""Characters of a `.env` that are read."""
_LINE = re.compile(
    r"\s*+(?:export\s++)?([A-Za-z_]\w*)\s*+=\s*+(?:'([^']*)'|\"([^\"]*)\"|([^#\n]*+))\s*+(?:#.*)?$"
)


@dataclass(frozen=True, slots=True)
class FallbackService:
    """A service that asks others in turn, until one answers."""

    services: tuple[WebService, ...]

    @property
    def label(self) -> str:
        """Labels of the services."""
        return ", ".join(service.label for service in self.services)

    def search(self, query: WebQuery, deadline: Deadline) -> Sequence[Hit]:
        """Return the hits of the first service that answers.

        Raises:
            WebError: none answered; the error is that of the last one.
        """
        *earlier_services, last_service = self.services
        for service in earlier_services:
            try:
                return service.search(query, deadline)
            except WebError as error:
                logger.warning("asking the next service, because %s", error)
        return last_service.search(query, deadline)


@dataclass(frozen=True, slots=True)
class MergedService:
    """A service that asks others at the same time, and ranks their hits by reciprocal rank."""

    services: tuple[WebService, ...]

    @property
    def label(self) -> str:
        """Labels of the services."""
        return " + ".join(service.label for service in self.services)

    def search(self, query: WebQuery, deadline: Deadline) -> Sequence[Hit]:
        """Return hits of all services that answer, each page once; its score is the fused one.

        Raises:
            WebError: none answered; the error is that of the first one.
        """
        from sleuth.compose.slices import run_slices

        answers, reports = run_slices(
            {
                str(place): lambda service=service: service.search(query, deadline)  # type: ignore[misc]
                for place, service in enumerate(self.services)
            }
        )
        failures = [report.exception for report in reports if report.exception is not None]
        for failure in failures:
            if not answers or not isinstance(failure, WebError):
                raise failure
            logger.warning("the web is searched without one service, because %s", failure)
        return _merged(list(answers.values()))[: query.count]


def _merged(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of several rankings as one, by reciprocal rank; a page has the text of its first ranking."""
    keys: dict[str, int] = {}
    hits: list[Hit] = []
    rankings = {}
    for place, answer in enumerate(answers):
        ranking: dict[int, None] = {}
        for hit in answer:
            page = hit.url.partition("#")[0].partition("://")[2].removeprefix("www.").rstrip("/")
            key = keys.setdefault(page, len(hits))  # addresses of one page share it
            if key == len(hits):
                hits.append(hit)
            ranking[key] = None
        rankings[str(place)] = list(ranking)
    return [replace(hits[key], score=score) for key, score in fuse_ranks(rankings)]


def open_service(
    choice: str | WebService | None, api_key: str | None = None, base_url: str | None = None, **patience: Any
) -> WebService:
    """Return the service of a spelling such as `brave`, `brave,tavily` or `brave+searxng,tavily`.

    A comma means: if that does not answer, the next. A plus means: both, merged.

    Args:
        choice: a spelling, or a service; None takes `SLEUTH_WEB_SERVICES`, else the first service that has a key or an
            address in the environment or in `.env`.
        api_key, base_url: of the only service; where one is given, the default is Tavily.
        patience: `max_retries` and `initial_backoff` of each service.

    Raises:
        ArgumentError: an unknown name, or a key or address for several services or for an object.
        MissingKeyError: a service has no key or address.
    """
    if choice is not None and not isinstance(choice, str):
        if api_key or base_url or patience:
            options = "api_key, base_url, max_retries and initial_backoff"
            raise ArgumentError(f"{options} must be left out where service is an object, which has its own")
        return choice
    spelling = choice or os.environ.get(VARIABLE) or _default(api_key, base_url)
    names = [[name.strip() for name in part.split("+")] for part in spelling.split(",")]
    is_one = len(names) == len(names[0]) == 1
    if (api_key or base_url) and not is_one:
        raise ArgumentError(f"api_key and base_url must be of one service, got {spelling!r}")
    parts = []
    for alternative in names:
        services = tuple(_open_one(name, api_key, base_url, patience) for name in alternative)
        parts.append(services[0] if len(services) == 1 else MergedService(services))
    return parts[0] if len(parts) == 1 else FallbackService(tuple(parts))


def _open_one(
    name: str, api_key: str | None, base_url: str | None, patience: Mapping[str, Any]
) -> WebService:
    plugin = extension("web", name)
    if plugin is None:
        raise ArgumentError(f"service must be among {', '.join(extensions('web'))}, got {name!r}")
    api: WebApi = plugin.load()
    base = base_url or os.environ.get(api.base_name) or api.public_base
    if base:
        source = "base_url" if base_url else api.base_name
        base = checked_base(base, source)
        parts = urlsplit(base)
        is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if api.key_name and parts.scheme != "https" and not is_local:  # a key is sent there
            raise ArgumentError(f"{source} must be https, or http on this machine, got {base!r}")
    key = find_key(api_key, api.key_name) if api.key_name else ""
    if not base:
        lack = f"no address for web search: set {api.base_name} in the environment"
    elif key is None:
        lack = f"no API key for web search: set {api.key_name} in the environment or in .env"
    else:
        return RemoteService(api, key, base, **patience)
    raise MissingKeyError(f"{lack} ({api.where})", service=name, url=base)


def _default(api_key: str | None, base_url: str | None) -> str:
    if not (api_key or base_url):
        # Metadata is read where no service of ours has a key.
        for plugins in (own_extensions, installed_extensions):
            for name, plugin in plugins("web").items():
                api: WebApi = plugin.load()
                if find_key(None, api.key_name) if api.key_name else os.environ.get(api.base_name):
                    return name
    return "tavily"


def find_key(argument: str | None, name: str) -> str | None:
    """Return an API key: the argument, else that of the environment, else that of `.env`, else None.

    This is the nearest `.env` in or above the working folder that belongs to this user or to root.

    Args:
        name: the environment variable.

    Raises:
        ArgumentError: an HTTP header cannot carry the key; the message does not show it.
    """
    key = argument or os.environ.get(name)
    working_folder = Path.cwd()
    for path in () if key else (folder / ".env" for folder in (working_folder, *working_folder.parents)):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_uid in (platform.user(), 0):
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                text = file.read(_LONGEST_FILE)
            for match in filter(None, map(_LINE.match, text.splitlines())):
                if match[1] == name:  # the last one counts
                    key = next(form for form in reversed(match.groups()) if form is not None).rstrip()
            break
    key = key.strip() if isinstance(key, str) else key
    if not key:
        return None
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or " " in key:
        raise ArgumentError("api_key must be printable ASCII without spaces, got one that is not (not shown)")
    return key
