"""Bounded queues: requests wait for a thread, and are refused where too many wait already."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import ParamSpec, TypeAlias, TypeVar

from sleuth.remote import Cancellation, context_of
from sleuth.surfaces.http.problems import RETRY_SECONDS, Refusal

P = ParamSpec("P")
T = TypeVar("T")

_Job: TypeAlias = Callable[[], Callable[[], None]]
"""Does the work of a request, and returns what hands over the outcome in the event loop."""


class Lane:
    """Threads that work on requests, and a bounded number of requests that wait for one. For one event loop.

    A request whose deadline passes is cancelled: it leaves the queue, or its connections to services end. Its thread is
    free again when the work returns, so that no more work than `threads` ever runs.

    Attributes:
        name: for metrics.
        threads: requests worked on at a time.
        queue: requests that may wait.
    """

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self.name, self.threads, self.queue = name, threads, queue
        self._accepted = 0
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._workers: list[Thread] = []
        self._line: deque[_Job] = deque()

    @property
    def running(self) -> int:
        """Requests that are worked on."""
        return min(self._accepted, self.threads)

    @property
    def waiting(self) -> int:
        """Requests that wait for a thread."""
        return max(0, self._accepted - self.threads)

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `function` returns, run in a thread of the lane.

        Raises:
            Refusal: too many requests wait already (503).
        """
        return await self._done(self._hand_over, partial(function, *args, **kwargs))

    async def run_here(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `function` returns, run in the thread of the event loop, which does nothing else meanwhile.

        For work that is over sooner than two threads can pass it on and back: they wait for the interpreter's lock.
        Between two such functions the loop reads what has arrived, so that a full queue refuses at once.

        Raises:
            Refusal: too many requests wait already (503).
        """
        return await self._done(self._line_up, partial(function, *args, **kwargs))

    async def _done(self, pass_on: Callable[[_Job], None], function: Callable[[], T]) -> T:
        """Return what `function` returns, once it was passed on and done."""
        if self._accepted >= self.threads + self.queue:
            raise Refusal(
                503,
                "QueueFullError",
                f"{self.queue} requests wait already; try again in {RETRY_SECONDS} s",
                {"retry-after": str(RETRY_SECONDS)},
            )
        cancellation = Cancellation()
        context = context_of(cancellation)
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            self._accepted -= 1
            if result.cancelled():
                return
            if error is None:
                result.set_result(value)  # type: ignore[arg-type]
            else:
                result.set_exception(error)

        def work() -> Callable[[], None]:
            value, error = None, None
            try:
                if not cancellation.requested:
                    value = context.run(function)
            except BaseException as failure:  # noqa: BLE001 - whatever ends the work is the request's
                error = failure
            return partial(settle, value, error)

        self._accepted += 1
        pass_on(work)
        try:
            return await result
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

    def _line_up(self, job: _Job) -> None:
        """Let the event loop do a job in its turn."""
        self._line.append(job)
        if len(self._line) == 1:
            asyncio.get_running_loop().call_soon(self._take_turn)

    def _take_turn(self) -> None:
        job = self._line.popleft()
        if self._line:
            asyncio.get_running_loop().call_soon(self._take_turn)
        job()()

    def _hand_over(self, job: _Job) -> None:
        """Let a thread do a job."""
        loop = asyncio.get_running_loop()

        def work() -> None:
            settle = job()
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(settle)

        if len(self._workers) < min(self.threads, self._accepted):
            self._start()
        self._jobs.put(work)

    def _start(self) -> None:
        """Start one more thread; a pool of the standard library takes three times as long to pass a job on."""
        worker = Thread(target=self._serve, name=f"sleuth-{self.name}", daemon=True)
        self._workers.append(worker)
        worker.start()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # a waiting thread must not keep the last job's results alive

    def close(self) -> None:
        """Let the threads go; the work that was accepted is done first."""
        for _ in self._workers:
            self._jobs.put(None)
        for worker in self._workers:
            worker.join()
        self._workers.clear()
