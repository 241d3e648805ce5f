"""Bounded queues: requests wait for a thread, and are refused where too many wait already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from sleuth.remote.cancellation import Cancellation, context_of
from sleuth.surfaces.http.answers import RETRY_SECONDS, Refusal

P = ParamSpec("P")
T = TypeVar("T")


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
        self._pool = ThreadPoolExecutor(threads, f"sleuth-{name}")

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
        if self._accepted >= self.threads + self.queue:
            detail = f"{self.queue} requests wait already; try again in {RETRY_SECONDS} s"
            raise Refusal(503, "QueueFullError", detail)
        return await self.take(function, *args, **kwargs)

    async def take(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `function` returns, as `run` does, but wait for a thread however many wait already."""
        loop, cancellation = asyncio.get_running_loop(), Cancellation()
        work = context_of(cancellation).run
        result: asyncio.Future[T] = loop.create_future()

        def leave(job: Future[T]) -> None:
            """Give the place in the queue back, and tell who waits; nobody does once the request was cancelled."""
            self._accepted -= 1
            if result.done():
                return
            if (error := job.exception()) is None:
                result.set_result(job.result())
            else:
                result.set_exception(error)

        self._accepted += 1
        job = self._pool.submit(work, partial(function, *args, **kwargs))
        job.add_done_callback(lambda job: loop.call_soon_threadsafe(leave, job))
        try:
            return await result
        except asyncio.CancelledError:
            cancellation.cancel()
            job.cancel()
            raise

    def close(self) -> None:
        """Let the threads go; the work that was accepted is done first."""
        self._pool.shutdown()
