"""Threads that run jobs beside the caller and are reused, because starting a thread can cost more than the job.

Starting a thread costs ten times as much as waking a waiting one. A thread waits a moment for its next job and then
ends, so an idle process has no threads. There is no upper limit: a slow job must never delay another caller's job.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import NamedTuple

from sleuth import platform


class _Job(NamedTuple):
    run: Callable[[], object]
    done: Event


class SharedThreads:
    """Daemon threads that run jobs, one each, and end when idle.

    Args:
        idle_seconds: how long a thread waits for its next job before it ends.

    Attributes:
        running: how many jobs are not over yet.
    """

    def __init__(self, *, idle_seconds: float = 1.0) -> None:
        self._idle_seconds = idle_seconds
        self._forget()
        # A forked child inherits the list of waiting threads but not the threads: its jobs would
        # never run.
        platform.at_fork("after_in_child", self._forget)

    def _forget(self) -> None:
        self._lock = Lock()
        self._idle: list[SimpleQueue[_Job]] = []
        self.running = 0

    def submit(self, run: Callable[[], object]) -> Event:
        """Run a job, which must not raise, in a waiting thread or a new one.

        Returns:
            An event that is set when the job is over.

        Raises:
            RuntimeError: no thread was waiting and the system refuses another.
        """
        job = _Job(run, Event())
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
            self.running += 1
        if inbox is not None:
            inbox.put(job)
            return job.done
        try:
            Thread(target=self._serve, args=(job,), name="sleuth-worker", daemon=True).start()
        except RuntimeError:
            with self._lock:
                self.running -= 1
            raise
        return job.done

    def _serve(self, job: _Job) -> None:
        inbox: SimpleQueue[_Job] = SimpleQueue()
        while True:
            try:
                job.run()
            finally:
                with self._lock:
                    self.running -= 1
                job.done.set()
            del job  # a waiting thread must not keep the last job's results alive
            with self._lock:
                self._idle.append(inbox)
            try:
                job = inbox.get(timeout=self._idle_seconds)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                job = inbox.get()  # another thread took it off the list and puts a job in


THREADS = SharedThreads()
"""The threads of this process, shared by every caller in this package."""
