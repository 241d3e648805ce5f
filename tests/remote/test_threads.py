"""Threads that run jobs and are reused."""

import os
import threading
from functools import partial

import pytest

from sleuth.remote import THREADS
from sleuth.remote.threads import SharedThreads
from tests.commands import run_in_child
from tests.waiting import wait_until


def test_threads_wait_for_the_next_job() -> None:
    """A worker thread runs the next job too, and ends when it is idle."""
    workers = SharedThreads(idle_seconds=60.0)
    thread_ids: list[int] = []

    def note(is_over: threading.Event) -> None:
        thread_ids.append(threading.get_ident())
        is_over.set()

    before = threading.active_count()
    for number in range(4):
        if number == 3:
            workers._idle_seconds = 0.0  # after this job
        is_over = threading.Event()
        workers.submit(partial(note, is_over))
        assert is_over.wait(60)
        wait_until(lambda: workers._idle or threading.active_count() <= before)
    assert len(thread_ids) == 4
    assert len(set(thread_ids)) == 1
    wait_until(lambda: threading.active_count() <= before)


def test_a_job_says_when_it_is_over() -> None:
    """The event of a job is set when it is over, and the job no longer counts as running."""
    workers, may_end = SharedThreads(), threading.Event()
    job = workers.submit(may_end.wait)
    assert workers.running == 1
    assert not job.is_set()
    may_end.set()
    assert job.wait(60)
    assert workers.running == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork() -> None:
    """A forked child does not use threads that only its parent has."""
    assert THREADS.submit(int).wait(60)
    wait_until(lambda: THREADS._idle)  # the parent has threads waiting

    def work() -> None:
        assert THREADS.submit(int).wait(60)

    run_in_child(work)
