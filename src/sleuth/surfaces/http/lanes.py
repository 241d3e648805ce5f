"""Bounded queues: requests wait for a thread, and are refused where too many wait already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import ParamSpec, TypeVar

from sleuth.remote import Cancellation, context_of
from sleuth.surfaces.http.problems import RETRY_SECONDS, Refusal

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
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._workers: list[Thread] = []

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
            raise Refusal(
                503,
                "QueueFullError",
                f"{self.queue} requests wait already; try again in {RETRY_SECONDS} s",
                {"retry-after": str(RETRY_SECONDS)},
            )
        cancellation = Cancellation()
        context = context_of(cancellation)
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            self._accepted -= 1
            if result.cancelled():
                return
            if error is None:
                result.set_result(value)  # type: ignore[arg-type]
            else:
                result.set_exception(error)

        def work() -> None:
            value, error = None, None
            try:
                if not cancellation.requested:
                    value = context.run(function, *args, **kwargs)
            except BaseException as failure:  # noqa: BLE001 - whatever ends the work is the request's
                error = failure
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(settle, value, error)

        self._accepted += 1
        if len(self._workers) < min(self.threads, self._accepted):
            self._start()
        self._jobs.put(work)
        try:
            return await result
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

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
