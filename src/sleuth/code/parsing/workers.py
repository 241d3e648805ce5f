"""Processes that parse, each under limits of time and memory.

A worker runs this module and parses one source at a time; only bytes and arrays travel between it and the program. A
source that exceeds the limits, or makes the parser abort, ends its worker. That costs the source alone: it is cut as
plain text, the reason is kept, and a new worker goes on with the rest.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from sleuth.code.parsing.facts import Facts, Source, facts_of, facts_of_text
from sleuth.code.parsing.limits import MEMORY, seconds_for
from sleuth.errors import CodeError

_OUT_OF_MEMORY: Final = f"not parsed: it takes more than {MEMORY >> 20} MB of memory; searched as plain text"


class Workers:
    """Parses batches of sources in processes, which are started when they are needed."""

    def __init__(self, count: int) -> None:
        """Use up to `count` processes at once."""
        self.count = count
        self._processes: list[subprocess.Popen[bytes]] = []
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="sleuth-parse")

    def submit(self, sources: Sequence[Source]) -> Future[list[Facts]]:
        """Hand over a batch; its result has the facts of each source, in order.

        The result raises CodeError where a grammar does not fit or no worker can be started.
        """
        return self._threads.submit(self._parse, sources)

    def close(self) -> None:
        """End the processes, whatever they are doing. Closing twice is fine."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.kill()
        self._threads.shutdown(wait=True)
        for process in self._processes:
            _end(process)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _parse(self, sources: Sequence[Source]) -> list[Facts]:
        results: list[Facts] = []
        while len(results) < len(sources):
            process = self._process()
            assert process.stdin is not None and process.stdout is not None  # noqa: S101 - both are pipes
            rest = sources[len(results) :]
            try:
                pickle.dump(rest, process.stdin, protocol=5)
                process.stdin.flush()
                for _ in rest:
                    answer = pickle.load(process.stdout)  # noqa: S301 - our own process, over our own pipe
                    if isinstance(answer, CodeError):
                        raise answer
                    results.append(answer)
            except (OSError, EOFError, pickle.UnpicklingError):
                _end(process)
                culprit = sources[len(results)]
                results.append(facts_of_text(culprit, _why_ended(process.returncode, len(culprit.text))))
        return results

    def _process(self) -> subprocess.Popen[bytes]:
        """Return this thread's worker, started where there is none.

        Raises:
            CodeError: it cannot be started.
        """
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is not None and process.poll() is None:
            return process
        # -P: a module in the current folder must not take the place of one of ours.
        process = subprocess.Popen(  # our own interpreter and module
            [sys.executable, "-P", "-m", "sleuth.code.parsing.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            process_group=0,  # Ctrl-C is for the program, which then ends its workers
        )
        self._processes.append(process)
        self._own.process = process
        assert process.stdout is not None  # noqa: S101 - a pipe
        if not process.stdout.read(1):
            _end(process)
            raise CodeError(
                f"a process that parses could not be started: {sys.executable} -m sleuth.code.parsing.workers "
                f"ended with status {process.returncode}; run it to see why"
            )
        return process


def _environment() -> dict[str, str]:
    """Return this process's environment, in which a worker finds this very package."""
    paths = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OPENBLAS_NUM_THREADS": "1",  # its threads reserve memory that counts
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not flushed has nobody to read it
                pipe.close()


def _why_ended(status: int, size: int) -> str:
    """Return why a worker ended, which says what is wrong with the source it was parsing."""
    if -status == signal.SIGPROF:
        return f"not parsed: it takes more than {seconds_for(size):.0f} s of CPU time; searched as plain text"
    if -status in (signal.SIGABRT, signal.SIGSEGV):  # what tree-sitter does where memory is refused
        return _OUT_OF_MEMORY
    return f"not parsed: the process that parsed it ended with status {status}; searched as plain text"


def serve() -> None:
    """Parse the batches that come in at standard input until it ends, and write the facts of each source."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not land among the answers
    _limit_memory()
    gc.disable()  # nothing here makes cycles; looking for them would cost a fifth of the time
    gc.freeze()
    answers.write(b"+")
    answers.flush()
    while True:
        try:
            sources: Sequence[Source] = pickle.load(requests)  # noqa: S301 - written by `Workers`
        except EOFError:
            return
        for source in sources:
            signal.setitimer(signal.ITIMER_PROF, seconds_for(len(source.text)))  # its signal ends the process
            answer = _answer(source)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pickle.dump(answer, answers, protocol=5)
            answers.flush()
        gc.collect()


def _answer(source: Source) -> Facts | CodeError:
    try:
        return facts_of(source)
    except MemoryError:
        return facts_of_text(source, _OUT_OF_MEMORY)
    except CodeError as error:
        return error


def _limit_memory() -> None:
    """Let this process take `MEMORY` more than it has, and leave no core behind where that ends it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # a system that does not say, or does not limit
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    serve()
