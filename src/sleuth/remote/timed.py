"""How is a socket read so that no peer outlasts a deadline?

A socket's own timeout limits each read, and a peer that sends a byte a second outlasts any such limit. Here
every read gets what is left of the whole.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol

from sleuth.remote.deadline import Deadline

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LONGEST = 3600.0


class Connected(Protocol):
    """What is asked of a socket, plain or of TLS. This module opens none."""

    def settimeout(self, seconds: float, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def makefile(self, mode: Any = ..., /, buffering: Any = ...) -> Any: ...


class _Reader(io.RawIOBase):
    def __init__(self, sock: Connected, deadline: Deadline) -> None:
        self._sock = sock
        self._file: io.RawIOBase = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        left = self._deadline.remaining()
        if left == 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(left, _LONGEST))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class TimedSocket:
    """What `http.client` needs of a socket, with a deadline on all of it. Its owner closes the socket
    itself.
    """

    def __init__(self, sock: Connected, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        """Sends everything, or raises TimeoutError at the deadline."""
        self._sock.settimeout(min(self._deadline.remaining() or 0.001, _LONGEST))
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A file to read answers from."""
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        """Does nothing: an answer may still be read."""
