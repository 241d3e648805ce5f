"""Threads that run jobs beside the caller and are reused, because starting a thread can cost more than the job.

Starting a thread costs ten times as much as waking a waiting one. A thread waits a moment for its next job and then
ends, so an idle process has no threads. There is no upper limit: a slow job must never delay another caller's job.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread

Job = Callable[[], None]


class SharedThreads:
    """Daemon threads that run jobs, one each, and end when idle.

    Args:
        idle_seconds: how long a thread waits for its next job before it ends.
    """

    def __init__(self, *, idle_seconds: float = 1.0) -> None:
        self._idle_seconds = idle_seconds
        self._forget()
        # A forked child inherits the list of waiting threads but not the threads: its jobs would
        # never run.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = Lock()
        self._idle: list[SimpleQueue[Job]] = []

    def submit(self, job: Job) -> None:
        """Run `job`, which must not raise, in a waiting thread or a new one.

        Raises:
            RuntimeError: no thread was waiting and the system refuses another.
        """
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
            return
        Thread(target=self._serve, args=(job,), name="sleuth-worker", daemon=True).start()

    def _serve(self, job: Job) -> None:
        inbox: SimpleQueue[Job] = SimpleQueue()
        while True:
            job()
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
                job = inbox.get()  # another thread took it off the list: a job is on its way


SHARED_THREADS = SharedThreads()
"""The threads of this process, shared by every caller in this package."""
