"""The router: asks the searchers that own shards, hedges to a replica what is late, and revives searchers that died."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import Event, Lock
from typing import Any

from sleuth import errors
from sleuth.arguments import check_count, check_positive
from sleuth.cluster.shards import ShardAnswers, decode, encode
from sleuth.errors import (
    ArgumentError,
    RemoteError,
    RetrievalError,
    SleuthError,
    StoreError,
    UnavailableError,
)
from sleuth.filters import Filter
from sleuth.logs import logger_of
from sleuth.plugins.ray.searcher import ABSENT, ANSWERED, REFUSED, Searcher
from sleuth.remote import THREADS, Deadline
from sleuth.types import PartReport

logger = logger_of("cluster")

_PAUSE = 0.1
"""Seconds between two attempts to revive a searcher."""
_PAUSE_OF_HEAD = 1.0
"""Seconds between two attempts to reach the head of Ray."""
_LOST = "the head of Ray does not answer"
_LATE = 2.0
"""Seconds for which a searcher that was late is asked after its replicas."""
_THREADS = 4
"""Requests that a searcher works on at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterOptions:
    """How shards are owned and asked.

    Attributes:
        searchers: processes that the shards are divided among.
        replicas: processes for each of these; with 2, one may die and nothing is missing.
        deadline: seconds that searchers have for one question of a query.
        hedge_after: seconds without an answer after which a replica is asked too.
    """

    searchers: int = 2
    replicas: int = 1
    deadline: float = 10.0  # a query waits no longer for a searcher that died
    hedge_after: float = 0.25  # less asks more replicas twice; more waits longer for a slow one

    def __post_init__(self) -> None:
        for name in ("searchers", "replicas"):
            check_count(getattr(self, name), name, least=1)
        for name in ("deadline", "hedge_after"):
            check_positive(getattr(self, name), name)


@dataclass(eq=False)
class _Replica:
    """A searcher.

    Attributes:
        actor: its handle; None until it is started.
        is_up: whether it is asked; one that is not is being revived.
        late_until: time of `monotonic` until which others are asked first, because it was late.
        cache: bytes and limit of the cache of its machine, when it last loaded a version.
        process: its number then; 0 before the first.
    """

    name: str
    actor: Any = None
    is_up: bool = True
    late_until: float = 0.0
    cache: tuple[int, int] = (0, 0)
    process: int = 0

    def loaded(self, reply: bytes) -> None:
        """Note what `Searcher.load` returned.

        Raises:
            SleuthError: that the searcher raised.
        """
        kind, *content = decode(reply)
        if kind != ANSWERED:
            raise error_named(*content)
        cache_bytes, limit, self.process = content[0]
        self.cache = cache_bytes, limit


@dataclass(frozen=True, eq=False)
class _Group:
    """Shards that the same searchers own."""

    numbers: tuple[int, ...]
    replicas: tuple[_Replica, ...]
    turns: count[int] = field(default_factory=count)


@dataclass(eq=False)
class _Call:
    """A question to a group, until one of its replicas answers.

    Attributes:
        asked: replicas that were asked.
        pending: how many of these may still answer.
        error: why the last one did not.
    """

    group: _Group
    numbers: Sequence[int]
    request: bytes
    asked: list[_Replica] = field(default_factory=list)
    pending: int = 0
    hedge_at: float = 0.0
    error: str = "no searcher is up"


class Router:
    """Searchers of all shards of a published index, on Ray. Safe to share between threads.

    Attributes:
        counts: how often searchers were lost and revived, questions were asked of a replica too, and the head of Ray
            did not answer and was reached again.
    """

    def __init__(
        self,
        ray: Any,
        url: str,
        names: Sequence[str],
        options: RouterOptions,
        reconnect: Callable[[], None] | None = None,
    ) -> None:
        """Divide the shards among searchers, which the first `load` starts.

        Args:
            names: of the shards, by number.
            reconnect: connects to Ray again after its head was lost, or where it was not up yet; None for a Ray of this
                process, whose head is not lost.
        """
        self._ray = ray
        self._url = url
        self._reconnect = reconnect
        self._is_cut_off = False
        self._options = options
        self.names = tuple(names)
        self.counts: Counter[str] = Counter()
        self._lock = Lock()
        self._closed = Event()
        self._wanted: tuple[int, ...] = ()
        groups = min(options.searchers, len(names))
        self._groups = tuple(
            _Group(
                tuple(range(number, len(names), groups)),
                tuple(_Replica(f"searcher {number}.{replica}") for replica in range(options.replicas)),
            )
            for number in range(groups)
        )

    def _start(self) -> None:
        """Start all searchers.

        Raises:
            ConnectionError: this process is not connected to Ray, which would start one here.
        """
        if not self._ray.is_initialized():
            raise ConnectionError("not connected")
        options = {"max_restarts": -1, "max_concurrency": _THREADS, "scheduling_strategy": "SPREAD"}
        searcher = self._ray.remote(Searcher).options(**options)
        for group in self._groups:
            for replica in group.replicas:
                replica.actor = searcher.remote(self._url, group.numbers)

    # --- asking

    def ask(
        self,
        version: int,
        question: str,
        arguments: Mapping[int, Sequence[Any]],
        deadline: Deadline | None = None,
        *,
        scope: Filter | None = None,
    ) -> ShardAnswers:
        """Ask some shards of a version the same question, all at once; see `Shards.ask`."""
        started = time.monotonic()
        seconds = self._options.deadline
        if deadline is not None:
            seconds = min(seconds, max(deadline.remaining(), 0.0))
        calls = []
        for group in self._groups:
            if numbers := [number for number in group.numbers if number in arguments]:
                request = encode((question, {number: tuple(arguments[number]) for number in numbers}, scope))
                calls.append(_Call(group, numbers, request))
        values: dict[int, Any] = {}
        waiting: dict[Any, tuple[_Call, _Replica]] = {}
        try:
            for call in calls:
                self._send(call, version, waiting)
            open_calls = [call for call in calls if call.pending]
            while open_calls and (remaining := started + seconds - time.monotonic()) > 0:
                due = min((call.hedge_at for call in open_calls), default=0.0) - time.monotonic()
                ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=max(0.0, min(remaining, due)))
                for reference in ready:
                    call, replica = waiting.pop(reference)
                    reply = self._reply(reference, call, replica)
                    if reply is not None and call in open_calls:
                        values |= reply
                        open_calls.remove(call)
                    elif not call.pending and call in open_calls and not self._send(call, version, waiting):
                        open_calls.remove(call)
                for call in open_calls:
                    if call.hedge_at <= time.monotonic():
                        call.asked[-1].late_until = time.monotonic() + _LATE
                        self.counts["hedged"] += self._send(call, version, waiting)
        except Exception as error:
            if not self._cut_off(error):
                raise
            lost = [PartReport(self.names[number], "failed", 0.0, error=_LOST) for number in arguments]
            return ShardAnswers({}, lost)
        elapsed = time.monotonic() - started
        late_error = f"no answer within {seconds:g} s"
        failures = [
            PartReport(self.names[number], "abandoned", elapsed, error=late_error)
            if call in open_calls
            else PartReport(self.names[number], "failed", elapsed, error=call.error)
            for call in calls
            for number in call.numbers
            if number not in values
        ]
        return ShardAnswers(values, failures)

    def _send(self, call: _Call, version: int, waiting: dict[Any, tuple[_Call, _Replica]]) -> bool:
        """Ask a replica that is up and was not asked yet; return False if no such replica is left.

        They take turns; those that were late a moment ago come last.
        """
        now = time.monotonic()
        turn, replicas = next(call.group.turns), call.group.replicas
        by_turn = [replicas[(turn + place) % len(replicas)] for place in range(len(replicas))]
        candidates = [replica for replica in by_turn if replica.is_up and replica not in call.asked]
        if not candidates:
            call.hedge_at = float("inf")  # nobody else to ask: wait for those that were
            return False
        in_time = [replica for replica in candidates if replica.late_until <= now]
        replica = (in_time or candidates)[0]
        call.hedge_at = now + self._options.hedge_after
        call.asked.append(replica)
        call.pending += 1
        waiting[replica.actor.ask.remote(version, call.request)] = call, replica
        return True

    def _reply(self, reference: Any, call: _Call, replica: _Replica) -> dict[int, Any] | None:
        """Return the values of a reply; None where the replica cannot answer.

        Raises:
            SleuthError: that the searcher raised.
        """
        call.pending -= 1
        try:
            kind, *content = decode(self._ray.get(reference))
        except self._ray.exceptions.RayActorError as error:
            call.error = f"{replica.name} died"
            self._lost(replica, str(error).partition("\n")[0])
            return None
        except self._ray.exceptions.RayError as error:
            call.error = f"{replica.name}: {str(error).strip().rpartition(chr(10))[2]}"
            return None
        if kind == REFUSED:
            raise error_named(*content)
        if kind == ABSENT:
            call.error = f"{replica.name} has not loaded the version"
            self._lost(replica, call.error)
            return None
        values: dict[int, Any] = content[0]
        return values

    # --- life of searchers

    def _lost(self, replica: _Replica, reason: str) -> None:
        """Ask a searcher no more until it has all versions again."""
        with self._lock:
            if not replica.is_up or self._closed.is_set():
                return
            replica.is_up = False
            self.counts["lost"] += 1
        logger.warning("%s is lost: %s", replica.name, reason)
        THREADS.submit(partial(self._revive, replica))

    def _cut_off(self, error: Exception) -> bool:
        """Return whether an error means that the head of Ray is lost; then connect again in the background."""
        if isinstance(error, SleuthError) or (self._ray.is_initialized() and not self._is_cut_off):
            return False
        with self._lock:
            if self._is_cut_off or self._closed.is_set():
                return True
            self._is_cut_off = True
            self.counts["cut_off"] += 1
            lost = [replica for replica in self._replicas() if replica.is_up]
            for replica in lost:
                replica.is_up = False
        logger.warning("the head of Ray does not answer: %s", str(error).partition("\n")[0])
        if self._reconnect is not None:
            THREADS.submit(partial(self._connect_anew, self._reconnect, lost))
        return True

    def _connect_anew(self, reconnect: Callable[[], None], lost: Sequence[_Replica]) -> None:
        """Connect to Ray as soon as its head is back, and start all searchers again."""
        while not self._closed.wait(_PAUSE_OF_HEAD):
            try:
                reconnect()
                self._start()
            except Exception as error:  # noqa: BLE001 - Ray raises errors of any kind while it starts
                logger.debug("the head of Ray is not back: %s", error)
            else:
                break
        else:
            return
        if self._closed.is_set():  # while it was reached
            self._ray.shutdown()
            return
        self._is_cut_off = False
        self.counts["reconnected"] += 1
        logger.warning("the head of Ray answers")
        for replica in lost:  # the others are being revived already
            THREADS.submit(partial(self._revive, replica))

    def _revive(self, replica: _Replica) -> None:
        """Load the versions into a searcher that Ray restarts, as often as it takes."""
        started = time.monotonic()
        while not self._closed.wait(_PAUSE):
            versions = self._wanted
            try:
                for version in versions:
                    replica.loaded(self._ray.get(replica.actor.load.remote(version)))
            except (SleuthError, self._ray.exceptions.RayError):
                continue
            except Exception as error:
                if not self._cut_off(error):
                    raise
                continue
            with self._lock:
                if versions == self._wanted:
                    replica.is_up = True
                    self.counts["revived"] += 1
                    break
        else:
            return
        logger.warning("%s is back after %.1f s", replica.name, time.monotonic() - started)

    def load(self, version: int) -> None:
        """Load a version beside the loaded ones: the first one at once, later ones one searcher after the other.

        Where the head of Ray does not answer yet, the first one is loaded when it does.

        Raises:
            SleuthError: a searcher cannot load it; it is dropped again.
        """
        former_versions = self._wanted
        with self._lock:
            self._wanted = (*former_versions, version)
        replicas = self._replicas()
        batches = [[replica] for replica in replicas] if former_versions else [replicas]
        try:
            if not former_versions:
                self._start()
            for batch in batches:
                loads = [(replica, replica.actor.load.remote(version)) for replica in batch]
                for replica, reference in loads:
                    try:
                        replica.loaded(self._ray.get(reference))
                    except self._ray.exceptions.RayActorError as error:
                        self._lost(replica, str(error).partition("\n")[0])
        except BaseException as error:
            is_cut_off = isinstance(error, Exception) and self._cut_off(error)
            if is_cut_off and not former_versions and self._reconnect is not None:
                return
            self.drop(version)
            if is_cut_off:
                raise UnavailableError(_LOST) from error
            raise

    def drop(self, version: int) -> None:
        """Close a version in all searchers."""
        with self._lock:
            self._wanted = tuple(other_version for other_version in self._wanted if other_version != version)
        try:
            for replica in self._replicas():
                replica.actor.drop.remote(version)
        except Exception as error:
            if not self._cut_off(error):  # with its head, all versions are gone
                raise

    def _replicas(self) -> list[_Replica]:
        return [replica for group in self._groups for replica in group.replicas]

    def status(self) -> dict[str, Any]:
        """Return which searchers are up, and counts, as plain values."""
        return {
            "searchers": [
                {
                    "name": replica.name,
                    "up": replica.is_up,
                    "process": replica.process,
                    "shards": [self.names[n] for n in group.numbers],
                }
                for group in self._groups
                for replica in group.replicas
            ],
            "counts": dict(self.counts),
        }

    def serving(self) -> dict[str, int]:
        """Return how many searchers and shards answer, and the fullest cache; asks no searcher."""
        replicas = self._replicas()
        cache_bytes, limit = max(replica.cache for replica in replicas)
        served = (group.numbers for group in self._groups if any(replica.is_up for replica in group.replicas))
        return {
            "searchers": len(replicas),
            "searchers_up": sum(replica.is_up for replica in replicas),
            "shards": len(self.names),
            "shards_up": sum(map(len, served)),
            "published_cache_bytes": cache_bytes,
            "published_cache_limit_bytes": limit,
        }

    def close(self) -> None:
        """End the searchers."""
        self._closed.set()
        if self._ray.is_initialized():
            for replica in self._replicas():
                if replica.actor is not None:
                    self._ray.kill(replica.actor)


def error_named(name: str, message: str) -> SleuthError:
    """Return an error that another process raised, of the same kind where that needs a message alone."""
    kind = getattr(errors, name, RetrievalError)
    if isinstance(kind, type) and issubclass(kind, ArgumentError | StoreError | RetrievalError | RemoteError):
        return kind(message)
    return RetrievalError(message)
