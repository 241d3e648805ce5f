"""Streams: an answer that reaches its reader while it is being written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from queue import Empty, Full, Queue
from threading import Event

from sleuth.errors import SleuthError
from sleuth.protocols import Closing
from sleuth.remote import THREADS, in_thread
from sleuth.remote.cancellation import Cancellation, context_of
from sleuth.results import SearchResult

_POLL = 0.1
"""Seconds between looks at whether the reader is gone."""


class StreamClosedError(SleuthError):
    """The reader of a stream is gone; it ends the work in the writing thread."""


class SearchStream(Closing):
    """Pieces of a response as they are written; `result` once they are through. Read it once, from one thread
    or task.

    Args:
        work: writes the answer, calling what it is given with each piece; runs in another thread, from
            the first read on.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], SearchResult]) -> None:
        self._work = work
        # Bounded: a reader that is slow slows the model down instead of filling memory.
        self._pieces: Queue[str | None] = Queue(maxsize=64)
        self._closed = Event()
        self._cancellation = Cancellation()
        self._started = False
        self._error: BaseException | None = None
        self._result: SearchResult | None = None
        self._streamed = False
        self._finished = False

    @property
    def result(self) -> SearchResult:
        """What `execute_search` returns; reads the pieces that nobody has read."""
        for _ in self:
            pass
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise StreamClosedError("result must be read before the stream is closed")
        return self._result

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next piece; the first call starts the writing thread.

        None in the queue marks the end: the reader closed the stream (stop), the writer failed (raise its error), or
        the answer is complete (stop).
        """
        if self._finished or self._closed.is_set():
            raise StopIteration
        if not self._started:
            self._started = True
            THREADS.submit(partial(context_of(self._cancellation).run, self._write))
        piece = self._pieces.get()
        if piece is not None:
            return piece
        if self._closed.is_set():
            raise StopIteration
        self._finished = True
        if self._error is not None:
            raise self._error
        raise StopIteration

    async def __aiter__(self) -> AsyncIterator[str]:
        end = object()
        try:
            while (piece := await in_thread(next, self, end)) is not end:
                yield str(piece)
        finally:
            if not self._finished:
                self.close()

    def close(self) -> None:
        """Ends the work: its requests to services at once, else at its next piece.

        Closing twice, or after the end, does nothing.
        """
        self._closed.set()
        self._cancellation.cancel()
        while True:
            try:
                self._pieces.get_nowait()
            except Empty:
                break
        self._pieces.put_nowait(None)  # wakes a reader that waits in another thread

    def _put(self, piece: str | None) -> None:
        while not self._closed.is_set():
            try:
                return self._pieces.put(piece, timeout=_POLL)
            except Full:
                continue
        raise StreamClosedError("the stream was closed by its reader")

    def _text(self, piece: str) -> None:
        if piece:
            self._streamed = True
            self._put(piece)

    def _write(self) -> None:
        try:
            self._result = self._work(self._text)
            if not self._streamed and self._result.response:
                self._put(self._result.response)
        except BaseException as error:  # noqa: BLE001 - raised again in the reader's thread
            self._error = error
        try:
            self._put(None)
        except StreamClosedError:
            return
