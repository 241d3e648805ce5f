"""Processes that take files apart, each under limits of time and memory, and replaced when a file ends one.

A request and an answer are JSON and bytes: nothing that crosses the pipe can run code. The other end is
`sleuth.files.serving`.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from sleuth import platform

PATIENCE: Final = 3.0
"""Times its limit of CPU time that a process may sleep, by the clock: a disk or a program may keep it waiting."""
_SLEEPING: Final = 0.01
"""Share of the clock below which the CPU time of a process says that it sleeps, unless it waits for a processor."""
_START_SECONDS: Final = 60.0
_FRAME: Final = struct.Struct("<QQ")
_AT_ONCE: Final = 1 << 16


class ProcessReply(NamedTuple):
    """What a process answers.

    Attributes:
        head: as JSON; "more" where another answer to the same request follows.
    """

    head: dict[str, Any]
    body: bytes


class ProcessStartError(Exception):
    """A process cannot be started; the message says which command shows why."""


class ProcessEndedError(Exception):
    """A process ended before it had answered.

    Attributes:
        limit: "time" or "memory" where it exceeded that limit; "outside" where it slept or was ended by a signal of
            others, which says nothing about the request; else "".
        status: with which it ended, as of `subprocess`.
    """

    def __init__(self, limit: str, status: int) -> None:
        super().__init__(f"status {status}")
        self.limit = limit
        self.status = status

    @property
    def ending(self) -> str:
        """The name of the signal that ended it, or its status."""
        is_signal = -self.status in set(signal.Signals)
        return signal.Signals(-self.status).name if is_signal else f"status {self.status}"


class _Process:
    """One process and the pipes to it.

    Attributes:
        is_used: whether it has answered a request; it may still hold memory for that one.
    """

    def __init__(self, command: list[str]) -> None:
        self.is_used = False
        self._received = bytearray()
        self._cpu = 0.0  # that it had used when the program last looked
        # The other process finds this very package, and threads of OpenBLAS would reserve memory that counts.
        paths = filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")))
        self.popen = platform.start_apart(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
        )
        assert self.popen.stdin is not None  # noqa: S101 - a pipe
        assert self.popen.stdout is not None  # noqa: S101 - a pipe
        self._into, self._out = self.popen.stdin.fileno(), self.popen.stdout.fileno()
        self._takes = platform.readiness(self._into, for_writing=True)
        self._gives = platform.readiness(self._out)

    def send(self, head: Mapping[str, Any], body: bytes, patience: float) -> None:
        """Write a request. Raises as `receive`."""
        encoded = json.dumps(head).encode()
        self._cpu, _ = platform.cpu_of(self.popen.pid)
        for part in (_FRAME.pack(len(encoded), len(body)) + encoded, body):
            remaining = memoryview(part)
            while remaining:
                self._wait(self._takes, patience)
                remaining = remaining[os.write(self._into, remaining) :]

    def receive(self, patience: float) -> ProcessReply:
        """Return the next answer.

        Args:
            patience: seconds by the clock that the process may sleep.

        Raises:
            TimeoutError: it slept longer.
            OSError, ValueError: it ended.
        """
        head, body = _FRAME.unpack(self._read(_FRAME.size, patience))
        return ProcessReply(json.loads(self._read(head, patience)), self._read(body, patience))

    def _wait(self, is_ready: Callable[[float], bool], patience: float) -> None:
        """Wait for a pipe as long as the process works or would; its limit of CPU time ends that."""
        while not is_ready(patience):
            cpu_before = self._cpu
            self._cpu, is_runnable = platform.cpu_of(self.popen.pid)
            if not is_runnable and self._cpu - cpu_before < _SLEEPING * patience:
                raise TimeoutError

    def _read(self, size: int, patience: float) -> bytes:
        received = self._received
        while len(received) < size:
            self._wait(self._gives, patience)
            part = os.read(self._out, _AT_ONCE)
            if not part:
                raise ValueError("it broke off")
            received += part
        data = bytes(memoryview(received)[:size])
        del received[:size]
        return data

    def end(self) -> int:
        """Kill the process if it still runs, close its pipes, and return its exit status (negative: the signal)."""
        if self.popen.poll() is None:
            self.popen.kill()
        status = self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return status


class Processes:
    """Starts one process for each concurrent caller, and reuses it for the next request. Thread-safe.

    Args:
        module: is run; it calls `sleuth.files.serving.serve`.
        memory: bytes that each process may take in addition to its size when it is ready.

    Attributes:
        running: their ids.
    """

    def __init__(self, module: str, memory: int) -> None:
        self.module = module
        self.memory = memory
        self.running: set[int] = set()
        self._idle: list[_Process] = []
        self._lent: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def ask(self, head: Mapping[str, Any], body: bytes, seconds: float) -> ProcessReply:
        """Return the last answer to a request. Raises as `answers`."""
        *_, answer = self.answers(head, body, seconds)
        return answer

    def answers(self, head: Mapping[str, Any], body: bytes, seconds: float) -> Iterator[ProcessReply]:
        """Yield the answers to a request.

        A request is refused for what it takes itself: another process is asked where one slept, was ended from outside,
        or had spent its memory on others, before its first answer.

        Args:
            seconds: of CPU time for all of them.

        Raises:
            ProcessStartError: no process can be started.
            ProcessEndedError: the process ended, as where it exceeded a limit. Another one answers the next request.
        """
        with self._lock:
            if self._closed.is_set():
                raise ProcessStartError("reading was ended")
            idle_process = self._idle.pop() if self._idle else None
            if idle_process is not None:
                self._lent.add(idle_process)
        process = idle_process or self._start()
        is_used, is_answered = process.is_used, False
        try:
            for answer in self._exchange(process, head, body, seconds):
                if is_used and not is_answered and answer.head.get("spent"):
                    break
                is_answered = True
                yield answer
            else:
                return
        except ProcessEndedError as error:
            if is_answered or (error.limit != "outside" and not (is_used and error.limit == "memory")):
                raise
        yield from self._exchange(self._start(), head, body, seconds)

    def close(self) -> None:
        """End all processes, also in the middle of a request. Closing twice is fine."""
        with self._lock:
            self._closed.set()
            idle, self._idle = self._idle, []
            lent = list(self._lent)
        for process in lent:  # its borrower notices, and returns it
            process.popen.kill()
        for process in idle:
            self._end(process)

    def _exchange(
        self, process: _Process, head: Mapping[str, Any], body: bytes, seconds: float
    ) -> Iterator[ProcessReply]:
        """Yield the answers of a process that was borrowed, and give it back. Raises ProcessEndedError."""
        finished, timed_out = False, False
        patience = PATIENCE * seconds + 1
        try:
            process.send({**head, "seconds": seconds}, body, patience)
            while not finished:
                answer = process.receive(patience)
                finished = not answer.head.get("more")
                yield answer
        except TimeoutError:
            timed_out = True
        except (OSError, ValueError):
            pass
        finally:
            status = self._give_back(process, reusable=finished and not answer.head.get("spent"))
        if not finished:
            raise ProcessEndedError("outside" if timed_out else platform.limit_of(status), status)

    def _start(self) -> _Process:
        # -P: a module in the current folder must not shadow a module of Sleuth.
        process = _Process([sys.executable, "-P", "-m", self.module, str(self.memory)])
        with self._lock:
            self._lent.add(process)
            self.running.add(process.popen.pid)
        if self._closed.is_set():
            process.popen.kill()
        try:
            process.receive(_START_SECONDS)
        except (OSError, ValueError):
            status = self._give_back(process, reusable=False)
            raise ProcessStartError(
                f"a process that reads files could not be started: {sys.executable} -m {self.module} {self.memory} "
                f"ended with status {status}; run it to see why"
            ) from None
        return process

    def _give_back(self, process: _Process, *, reusable: bool) -> int:
        """Take a process back, and end it unless it can answer the next request; return its status then."""
        with self._lock:
            self._lent.discard(process)
            if reusable and not self._closed.is_set():
                process.is_used = True
                self._idle.append(process)
                return 0
        return self._end(process)

    def _end(self, process: _Process) -> int:
        status = process.end()
        with self._lock:
            self.running.discard(process.popen.pid)
        return status
