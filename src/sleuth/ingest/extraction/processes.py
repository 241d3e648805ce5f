"""Processes that extract text from files, each under limits of time and memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, Final

from sleuth.ingest.extraction.result import Extracted, ExtractionError

_PATIENCE: Final = 3
"""Limit of wall time, as a multiple of the limit of CPU time: other programs use the CPU too."""


class Extractors:
    """Starts one process for each concurrent caller, and reuses it for the next file. Thread-safe.

    Args:
        seconds: of CPU for each file.
        memory: bytes of address space for each process.
    """

    def __init__(self, seconds: int, memory: int) -> None:
        self.seconds = seconds
        self.memory = memory
        self.processes: set[subprocess.Popen[bytes]] = set()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False

    def extract(self, kind: str, data: bytes, limit: int) -> Extracted:
        """Extract the text of a file.

        Args:
            kind: "pdf", "docx" or "html"; data of "html" is UTF-8.
            data: all of the file.
            limit: most bytes of an unpacked archive, and most characters of text.

        Raises:
            ExtractionError: no text, or a limit of time or memory exceeded; the message says which.
        """
        process = self._take()
        timer = threading.Timer(_PATIENCE * self.seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            head, body = _ask(process, kind, data, limit)
        except (OSError, ValueError):
            raise self._ended(process) from None
        finally:
            timer.cancel()
        if head.get("limit"):  # its memory may still hold the unfinished file
            self._end(process)
        else:
            with self._lock:
                self._idle.append(process)
        if "error" in head:
            raise ExtractionError(head["error"], limit=head["limit"])
        return Extracted(body.decode("utf-8", "surrogatepass"), head["title"], head["metadata"])

    def close(self) -> None:
        """End all processes, also in the middle of a file."""
        with self._lock:
            self._closed = True
            processes = list(self.processes)
        for process in processes:
            self._end(process)

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise ExtractionError("reading was ended")
            if self._idle:
                return self._idle.pop()
            # -P: a module in the current folder must not shadow one of ours.
            process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "sleuth.ingest.extraction.worker",
                    str(self.seconds),
                    str(self.memory),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C reaches only the program, which then ends its processes
            )
            self.processes.add(process)
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> ExtractionError:
        """Return the error for a process that ended without an answer."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        self._end(process)
        status = -process.returncode
        if status in (signal.SIGXCPU, signal.SIGKILL):
            return ExtractionError(f"took more than {self.seconds} s to read", limit=True)
        name = signal.Signals(status).name if status in set(signal.Signals) else f"status {-status}"
        memory = f"{self.memory >> 20:,} MB"
        return ExtractionError(
            f"needed more than {memory} of memory, or crashed its reader ({name})", limit=True
        )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        with self._lock:
            self.processes.discard(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError, ValueError):  # unflushed data has no reader
                    pipe.close()


def _ask(
    process: subprocess.Popen[bytes], kind: str, data: bytes, limit: int
) -> tuple[dict[str, Any], bytes]:
    """Return the answer of a process. Raises OSError or ValueError if it ends before it has answered."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("a process without pipes")
    request = {"kind": kind, "size": len(data), "limit": limit}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.write(data)
    process.stdin.flush()
    head: dict[str, Any] = json.loads(process.stdout.readline())
    body = process.stdout.read(head["size"])
    if len(body) != head["size"]:
        raise ValueError("a process that broke off")
    return head, body
