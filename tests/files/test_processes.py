"""A process that reads files answers several requests, and each has all of the memory that is promised."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.files.processes import ProcessEndedError, Processes

MEMORY = 100 << 20


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    running = Processes("tests.files.hoarder", MEMORY)
    yield running
    running.close()


def ask(processes: Processes, size: int, *, ends: bool = False) -> dict[str, object]:
    return processes.ask({"bytes": size, "ends": ends}, b"", 10.0).head


def test_a_process_answers_several_requests(processes: Processes) -> None:
    assert [ask(processes, 1)["answered"] for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("ends", [False, True])
def test_a_request_is_not_refused_for_what_others_took(processes: Processes, ends: bool) -> None:
    """Memory that earlier requests have taken is not there for the next one: a new process answers it."""
    assert ask(processes, MEMORY * 2 // 3, ends=ends)["answered"] == 1
    assert ask(processes, MEMORY * 2 // 3, ends=ends)["answered"] == 1


def test_a_request_that_takes_too_much_is_told(processes: Processes) -> None:
    assert ask(processes, 1)["answered"] == 1
    assert ask(processes, 2 * MEMORY)["spent"]
    with pytest.raises(ProcessEndedError):
        ask(processes, 2 * MEMORY, ends=True)


@pytest.mark.parametrize(
    ("ends", "limit"),
    [
        (signal.SIGABRT, "memory"),
        pytest.param(
            signal.SIGSEGV,
            "memory",
            marks=pytest.mark.skipif(
                "asan" in os.environ.get("LD_PRELOAD", ""),
                reason="AddressSanitizer takes the signal for a report",
            ),
        ),
        (signal.SIGPROF, "time"),
        (signal.SIGKILL, "outside"),
        (signal.SIGUSR1, ""),
    ],
)
def test_the_signal_that_ends_a_process_names_the_limit(
    processes: Processes, ends: signal.Signals, limit: str
) -> None:
    """Libraries in C abort, or read what they were refused, where memory is spent; the limit of time has a signal."""
    assert ask(processes, 1)["answered"] == 1
    with pytest.raises(ProcessEndedError) as caught:
        processes.ask({"signal": ends}, b"", 10.0)
    assert (caught.value.limit, caught.value.ending) == (limit, ends.name)
    assert ask(processes, 1)["answered"] == 1


@pytest.fixture
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ends what sleeps for a second."""
    monkeypatch.setattr("sleuth.files.processes.PATIENCE", 0.0)


@pytest.mark.usefixtures("without_patience")
def test_the_clock_does_not_end_what_works(processes: Processes) -> None:
    """A request that takes less CPU time than its limit is answered, however long that takes by the clock."""
    assert processes.ask({"bytes": 1, "works": 1.0}, b"", 10.0).head["answered"] == 1


@pytest.mark.usefixtures("without_patience")
def test_the_clock_does_not_end_what_waits_for_a_processor(processes: Processes) -> None:
    """A request is answered by its first process, however little of a processor others leave to that one."""
    assert ask(processes, 1)["answered"] == 1
    (starved,) = processes.running
    core = {min(os.sched_getaffinity(0))}
    os.sched_setaffinity(starved, core)
    os.setpriority(os.PRIO_PROCESS, starved, 19)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        os.sched_setaffinity(busy.pid, core)
        try:
            assert processes.ask({"bytes": 1, "works": 0.01}, b"", 10.0).head["answered"] == 2
        finally:
            busy.kill()


@pytest.mark.usefixtures("without_patience")
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_sleeps_is_asked_again_elsewhere(processes: Processes, size: int) -> None:
    """A process that was stopped between two requests, or takes no bytes, is replaced, and the request answered."""
    assert ask(processes, 1)["answered"] == 1
    (stopped,) = processes.running
    os.kill(stopped, signal.SIGSTOP)
    assert processes.ask({"bytes": 1}, bytes(size), 10.0).head["answered"] == 1
    assert stopped not in processes.running


@pytest.mark.usefixtures("without_patience")
def test_what_always_sleeps_says_nothing_about_the_request(processes: Processes) -> None:
    with pytest.raises(ProcessEndedError) as caught:
        processes.ask({"signal": signal.SIGSTOP}, b"", 10.0)
    assert caught.value.limit == "outside"
