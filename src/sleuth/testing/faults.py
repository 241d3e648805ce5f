"""A server that misbehaves, in one way per path.

Any path below a fault's own shows it, so that `server.url("drip")` can stand for a service's base address.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Literal, Self, get_args

Fault = Literal[
    "refuse", "hang", "drip", "drip-body", "reset", "truncate", "wrong-type", "garbage", "endless", "redirect"
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
"""refuse: nothing listens. hang: accepts, never answers. drip: one byte a second, from the first.
drip-body: the head at once, then one byte a second. reset: a TCP reset in the body. truncate: a body
shorter than it said. wrong-type: 200 with a page instead of data. garbage: not HTTP. endless: a body
without end. redirect: to itself, for ever.
"""

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_FOUND = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n"
_PAGE = b"<html><body>Sign in to the hotel network</body></html>"


class FaultServer:
    """A server of bad manners on a free port of 127.0.0.1, up inside its `with` block.

    Attributes:
        connections: how many were accepted.
    """

    def __init__(self) -> None:
        self.connections = 0
        self._ready = Event()
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, fault: Fault) -> str:
        """Return the address that shows this fault, without a slash at the end."""
        port = self._silent.getsockname()[1] if fault == "refuse" else self._port
        return f"http://127.0.0.1:{port}/{fault}"

    @property
    def open(self) -> int:
        """How many connections no side has closed."""
        return len(self._tasks)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, daemon=True)
        self._silent = socket.socket()  # bound, never listening: connecting to it is refused
        self._silent.bind(("127.0.0.1", 0))
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._silent.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256))
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._part(server))
        self._loop.close()

    async def _part(self, server: asyncio.Server) -> None:
        """Ends every connection; those only just accepted come into being first."""
        await asyncio.sleep(0.01)
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # sockets are closed in the round after

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        # The client leaves in the midst of it, as it should, or the test is over.
        with suppress(ConnectionError, TimeoutError, asyncio.CancelledError):
            first = await reader.readline()
            path = first.split(b" ")[1].decode() if first.count(b" ") == 2 else "/"
            name = path.split("/")[1].partition("?")[0]
            if name == "hang":
                await reader.read()  # until the client has enough of it
            elif name in _BEHAVIOURS:
                await _BEHAVIOURS[name](writer, path)
        writer.transport.abort()


async def _slowly(writer: asyncio.StreamWriter, data: bytes, at_once: bytes = b"") -> None:
    writer.write(at_once)
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(1.0)


async def _reset(writer: asyncio.StreamWriter, path: str) -> None:
    writer.write(_OK + b'Content-Length: 4096\r\n\r\n{"results": [')
    await writer.drain()
    await asyncio.sleep(0.01)
    # Zero linger makes closing a reset instead of an orderly end.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def _endless(writer: asyncio.StreamWriter, path: str) -> None:
    writer.write(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()


_BEHAVIOURS: dict[str, Callable[[asyncio.StreamWriter, str], Awaitable[None]]] = {
    "drip": lambda writer, _: _slowly(writer, _OK + b"Content-Length: 2\r\n\r\n{}"),
    "drip-body": lambda writer, _: _slowly(writer, b"[" + b" " * 3599, _OK + b"Content-Length: 3600\r\n\r\n"),
    "reset": _reset,
    "truncate": lambda writer, _: _send(writer, _OK + b'Content-Length: 4096\r\n\r\n{"results": []}'),
    "wrong-type": lambda writer, _: _send(
        writer, _OK.replace(b"application/json", b"text/html") + b"\r\n" + _PAGE
    ),
    "garbage": lambda writer, _: _send(writer, b"\x00\xff\x16\x03\x01 SSH-2.0-nothing\r\n" * 8),
    "endless": _endless,
    "redirect": lambda writer, path: _send(writer, _FOUND % path.encode()),
}
