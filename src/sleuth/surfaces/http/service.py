"""What the handlers of all requests share, and what belongs to one request."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import getrandbits
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeAlias, TypeVar

from fastapi import Depends, Request

from sleuth.engine import SearchRequest
from sleuth.engine.freshness import Refresher
from sleuth.errors import ArgumentError, UnknownRepositoryError
from sleuth.filters import And, Compare, Filter, all_of, as_filter
from sleuth.filters.match import lies_within
from sleuth.surfaces.http.answers import FAILED, Refusal, logger, refusal_of
from sleuth.surfaces.http.job_runs import JobRunner
from sleuth.surfaces.http.keys import EVERYONE, NO_DOCUMENT, Key, KeyFile, Rates, Scope, Sessions
from sleuth.surfaces.http.lanes import Lane
from sleuth.surfaces.http.metrics import Metrics
from sleuth.surfaces.http.tokens import AccessTokens
from sleuth.types import RESERVED

if TYPE_CHECKING:
    from sleuth.code import CodeStorage, Snapshot
    from sleuth.code.snapshots.record import Repository
    from sleuth.code.snapshots.scope import CodeView
    from sleuth.engine import Engine, Workspace
    from sleuth.engine.sources import Sources
    from sleuth.protocols import Retriever
    from sleuth.surfaces.http.settings import ServerSettings
    from sleuth.types import Ranking

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 600.0
"""Seconds that a job waits for another writer."""

ANSWERS = 8
"""Answers that are written at a time, for each thread of searches: they mostly wait for a model."""

_LARGEST = 16
"""An answer larger than this part of the cache is not kept: it would push out too many others."""

_ENTRY_BYTES = 200
"""What an entry takes besides its question and its answer."""


class AnswerCache:
    """Answers by question, the least recently used ones dropped first. Safe to share between threads.

    Answers are those of one version of the index, named by a stamp: with another stamp all of them are dropped, so
    that neither a text that was deleted nor an answer that changed is kept.

    Attributes:
        capacity: bytes that all answers take at most; 0 keeps none.
        size: bytes that they take.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.size = capacity, 0
        self._stamp: Hashable = None
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()
        self._guard = Lock()

    def get(self, question: Hashable, stamp: Hashable) -> bytes | None:
        """Return the answer of the version with this stamp; None where it is not kept."""
        with self._guard:
            if stamp != self._stamp:
                self._answers.clear()
                self._stamp, self.size = stamp, 0
                return None
            answer = self._answers.get(question)
            if answer is not None:
                self._answers.move_to_end(question)
            return answer

    def put(self, question: Hashable, stamp: Hashable, answer: bytes) -> None:
        """Keep an answer, if nobody has asked a newer version since."""
        size = _size_of(question, answer)
        with self._guard:
            if stamp != self._stamp or size * _LARGEST > self.capacity or question in self._answers:
                return
            self._answers[question] = answer
            self.size += size
            while self.size > self.capacity:
                self.size -= _size_of(*self._answers.popitem(last=False))


def _size_of(question: Hashable, answer: bytes) -> int:
    parts = question if isinstance(question, tuple) else (question,)
    return _ENTRY_BYTES + sum(map(sys.getsizeof, parts)) + sys.getsizeof(answer)


class Service:
    """An engine behind a server, with its queues, keys and counts.

    Attributes:
        reads, writes, answers: the queues of searches, of changes (one at a time, since the index has one writer) and
            of answers that a model writes.
        keys: None without a keys file.
        sessions: of readers of the page; None without keys.
        rates: how many requests each key may make.
        tokens: checks access tokens for agents; None where keys alone are accepted.
        warming: the queue of resources that load before the first request.
        is_warm: whether all of that is loaded.
        jobs: changes that go on after their request.
        cache: answers of the newest version.
    """

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self.engine, self.settings = engine, settings
        self.reads = Lane("reads", settings.threads, settings.queue)
        self.writes = Lane("writes", 1, settings.queue)
        self.answers = Lane("answers", ANSWERS * settings.threads, settings.queue)
        self.warming = Lane("warming", 1, 1)
        self.is_warm = False
        self.keys = KeyFile(settings.keys) if settings.keys else None
        self.sessions = Sessions(self.keys) if self.keys else None
        issuer, address = settings.token_issuer, settings.public_url
        self.tokens = None if issuer is None or address is None else AccessTokens(issuer, address)
        self.metrics = Metrics()
        self.rates = Rates()
        self.jobs = JobRunner(self.writes, Path(engine.path))
        self.cache = AnswerCache(settings.cache)
        self.resources = ExitStack()
        """What is closed with the service."""
        self.opening = Lock()
        """Of what the caches below hold."""
        self.opened: dict[tuple[Hashable, ...], Sources] = {}
        self.views: dict[Key, Engine] = {}
        self.freshness: dict[tuple[str, ...], Refresher] = {}
        self.workspaces: dict[tuple[Filter | None, tuple[str, ...]], Workspace] = {}

    @property
    def name(self) -> str:
        """Names the index in spans, and as a vector store or knowledge base: its folder, without a leading dot."""
        return self.engine.path.name.lstrip(".") or "sleuth"

    @property
    def offers_code(self) -> bool:
        """Whether code is among the sources of the server."""
        return any(source.partition(":")[0] == "code" for source in self.settings.sources)

    def close(self) -> None:
        """Finish the work that was accepted, then close what handlers opened; the engine stays open."""
        for lane in (self.reads, self.writes, self.answers, self.warming):
            lane.close()
        self.resources.close()


def is_named(repository: Repository, sources: Iterable[str]) -> bool:
    """Return whether sources include a repository."""
    names = {source.partition(":")[2] for source in sources if source.partition(":")[0] == "code"}
    return bool(names & {"", repository.id, repository.path, repository.url})


@dataclass(slots=True)
class Call:
    """One request.

    Attributes:
        id: of the log and of the answer's `x-request-id`; no secret, so that no system call is made for it.
        ends: when its deadline passes, by `time.monotonic`.
        facts: further values for the log, such as `k` and `hits`.
    """

    service: Service
    ends: float
    key: Key = EVERYONE
    id: str = field(default_factory=lambda: f"{getrandbits(64):016x}")
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def remaining(self) -> float:
        """Seconds left; 0 where the deadline has passed."""
        return max(0.0, self.ends - time.monotonic())

    def require(self, scope: Scope) -> None:
        """Refuse a call whose key lacks a scope; on a read-only server, refuse every write.

        Raises:
            Refusal: 403.
        """
        if scope == "write" and self.service.settings.read_only:
            raise Refusal(403, "ReadOnlyError", "this server is read-only")
        if scope not in self.key.scopes:
            raise Refusal(403, "ScopeError", f"the key {self.key.name!r} does not have the scope {scope!r}")

    def filter(self, filter: Filter | Mapping[str, Any] | str | None = None) -> Filter | None:
        """Return a filter of the request, ANDed with the limit of its key."""
        return all_of(self.key.limit, as_filter(filter))

    def filled(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata of a document with the values that each document of the key has, as `tenant:acme` says.

        Raises:
            ArgumentError: it states another value.
        """
        scope_values = _values_of(self.key.filter)
        for name, value in scope_values.items():
            if name in metadata and not lies_within(Compare(name, "eq", value), metadata):
                raise ArgumentError(
                    f"metadata[{name!r}] must be {value!r}, the scope of the key, got {metadata[name]!r}"
                )
        return {**scope_values, **metadata}

    def request(self, body: SearchRequest, **changes: Any) -> SearchRequest:
        """Return what a body asks, within what its key may see, its deadline and the rerankers of the server.

        Args:
            changes: of the options; `filter` is ANDed with that of the key.

        Raises:
            ArgumentError: a reranker that the server does not offer.
        """
        body.check_offered(self.service.settings.rerank)
        seconds = min(self.remaining or 1e-3, body.deadline or float("inf"))  # a request refuses 0
        options = {"filter": body.filter, "deadline": seconds, **changes}
        return SearchRequest.like(body, **options | {"filter": self.filter(options["filter"])})

    @property
    def engine(self) -> Engine:
        """The documents that the key of this call may see; none where the server offers none."""
        scope = self.key.filter if "docs" in self.service.settings.sources else NO_DOCUMENT
        if scope is None:
            return self.service.engine
        view = self.service.views.get(self.key)
        if view is None:
            view = self.service.views[self.key] = self.service.engine.scoped(scope)
        return view

    @property
    def workspace(self) -> Workspace:
        """The part of the index that the server offers and the key of this call may see."""
        from sleuth.engine import Workspace

        service, place = self.service, (self.key.filter, self.key.code)
        with service.opening:
            workspace = service.workspaces.get(place)
            if workspace is None:
                has_documents = "docs" in service.settings.sources
                workspace = service.workspaces[place] = Workspace(
                    service.engine.path,
                    refresh=False,
                    engine=service.engine if has_documents else None,
                    with_documents=has_documents,
                    offers=lambda repository: is_named(repository, service.settings.sources),
                    within=None if self.key.filter is None else self.key.code,
                    scope=self.key.filter,
                )
                service.resources.callback(workspace.close)
            return workspace

    @property
    def code(self) -> CodeStorage | CodeView:
        """The code that the key of this call may see.

        Raises:
            UnknownRepositoryError: the server does not offer code, or the index has no code.
            Refusal: 403, for a key that is limited to documents.
        """
        if not self.key.sees_code:
            raise Refusal(403, "ScopeError", f"the key {self.key.name!r} is limited to documents")
        if not self.service.offers_code:
            raise UnknownRepositoryError(
                "this server does not offer code; `sleuth serve --in docs --in code` does"
            )
        storage = self.workspace.code()
        if storage is None:
            raise UnknownRepositoryError("the index holds no code: `sleuth code index PATH`")
        return storage

    def repositories(self, sources: Sequence[str] | None = None) -> list[Repository]:
        """Return the repositories of `code` that the server offers.

        Args:
            sources: those of the server that name the repositories; None for all.
        """
        names = self.service.settings.sources if sources is None else sources
        return [repository for repository in self.code.repositories() if is_named(repository, names)]

    def snapshots(self, sources: Sequence[str] | None = None) -> list[Snapshot]:
        """Return the newest snapshot of each repository that the server offers to this caller.

        Args:
            sources: those of the server that name the repositories; None for all.
        """
        if not self.service.offers_code:
            return []
        names = self.service.settings.sources if sources is None else sources
        return [one for one in self.workspace.snapshots() if is_named(one.repository, names)]

    @property
    def freshness(self) -> Refresher:
        """What compares the worktrees that the key sees with their newest snapshots; it does not index."""
        service = self.service
        with service.opening:
            refresher = service.freshness.get(self.key.code)
            if refresher is None:
                refresher = Refresher(lambda: None, self.snapshots, write=False)
                service.freshness[self.key.code] = refresher
                service.resources.callback(refresher.finish)
            return refresher

    @property
    def sources(self) -> tuple[str, ...]:
        """What the key of this call may search.

        Raises:
            Refusal: 403, for nothing at all.
        """
        hidden = set() if self.key.sees_code else {"code"}
        if self.key.filter == NO_DOCUMENT:
            hidden.add("docs")
        offered = self.service.settings.sources
        names = tuple(name for name in offered if name.partition(":")[0] not in hidden)
        if not names:
            limit = "code" if "docs" in hidden else "documents"
            raise Refusal(403, "ScopeError", f"the key {self.key.name!r} is limited to {limit}")
        return names

    def retriever(self, sources: Sequence[str] | None = None) -> Engine | Sources:
        """Return what searches some of the sources of the server: the engine itself for the documents alone.

        The filter of the key is applied to the documents; for other sources it belongs into each search.

        Raises:
            ArgumentError: a source that the server does not offer.
            UnknownRepositoryError: nothing is indexed of the code that the key may search.
            Refusal: 403, for a key to which the server offers nothing.
        """
        service, key, offered = self.service, self.key, self.sources
        names = offered if sources is None else tuple(dict.fromkeys(sources))
        for name in names or ("",):
            if name not in offered:
                raise ArgumentError(f"sources must be among {', '.join(offered)}, got {name!r}")
        if names == ("docs",):
            return self.engine
        from sleuth.engine.sources import open_sources

        engine, text_names = self.engine, [name for name in names if name.partition(":")[0] != "code"]
        repositories = self.repositories(names) if len(text_names) < len(names) else []
        if len(text_names) < len(names) and not repositories:
            raise UnknownRepositoryError(f"nothing is indexed of the code that key {key.name!r} may search")
        place = names, key.filter, key.code, tuple(repositories)  # others are indexed while the server runs
        code: dict[str, Retriever] = {}
        if repositories and place not in service.opened:
            from sleuth.code.search.retriever import SnapshotRetriever
            from sleuth.engine.codebase import embedder_for

            storage, embedder = self.code, embedder_for()
            for repository in repositories:
                source = SnapshotRetriever(storage, repository.id, embedder=embedder)
                code[f"code:{repository.path}"] = source
        with service.opening:
            retriever = service.opened.get(place)
            if retriever is None:
                opening = open_sources(
                    engine.path, text_names, extra=code, deadline=service.settings.deadline, engine=engine
                )
                retriever = service.opened[place] = service.resources.enter_context(opening)
                retriever.use_model(service.engine.model)
        return retriever

    def refusal_of(self, error: Exception) -> Refusal:
        """Convert an exception to a refusal; a key with a filter is not told of the server's files and processes."""
        refusal = refusal_of(error)
        if self.key.filter is None or isinstance(error, Refusal) or refusal.status_code < 500:
            return refusal
        logger.warning("%s", error, extra={"fields": {"message": str(error), "request_id": self.id}})
        return Refusal(refusal.status_code, refusal.code, FAILED, refusal.headers)

    def shown(self, ranking: Ranking) -> Ranking:
        """Return a ranking as the owner of the key may see it: with a filter, without errors of the server's parts."""
        return ranking if self.key.filter is None else ranking.without_details()

    def of_job(self) -> Call:
        """Return a call that does the work of this one after its request was answered."""
        return Call(self.service, time.monotonic() + PATIENCE, self.key, self.id)

    def require_whole(self) -> None:
        """Refuse a key with a filter where an answer is about the index of all.

        Raises:
            Refusal: 403.
        """
        self.require("read")
        if self.key.filter is not None:
            raise Refusal(403, "ScopeError", f"the key {self.key.name!r} is limited to a part of the index")

    async def read(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the queue of searches."""
        self.require("read")
        return await self.service.reads.run(function, *args, **kwargs)

    async def answers(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that may ask a model in the queue of answers."""
        self.require("read")
        return await self.service.answers.run(function, *args, **kwargs)

    async def write(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the queue of changes."""
        self.require("write")
        return await self.service.writes.run(function, *args, **kwargs)


def _values_of(filter: Filter | None) -> dict[str, Any]:
    """Return the metadata that all documents of a filter have, as far as clients may set it."""
    if isinstance(filter, And):
        return {name: value for part in filter.parts for name, value in _values_of(part).items()}
    is_value = isinstance(filter, Compare) and filter.operator == "eq" and filter.key not in RESERVED
    return {filter.key: filter.value} if isinstance(filter, Compare) and is_value else {}


def call_of(request: Request) -> Call:
    """Return the call of a request."""
    call: Call = request.scope["sleuth.call"]
    return call


async def _current(request: Request) -> Call:
    return call_of(request)  # awaited in the event loop; FastAPI would run a plain function in a thread


CurrentCall: TypeAlias = Annotated[Call, Depends(_current)]
"""What a handler declares to get its call."""
