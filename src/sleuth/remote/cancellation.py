"""Ends the waits and connections of a call: at the deadline that its attempts share, or where its async caller is
cancelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar, copy_context
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from sleuth.errors import SleuthError
from sleuth.remote.threads import THREADS

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
T = TypeVar("T")


class Cancellation:
    """A request from another thread to stop: it ends waits and runs the registered closers."""

    def __init__(self) -> None:
        self._event = Event()
        self._lock = Lock()
        self._closers: dict[object, Callable[[], None]] = {}

    @property
    def requested(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """End every wait and run every registered closer, once each."""
        self._event.set()
        with self._lock:
            closers = list(self._closers.values())
            self._closers.clear()
        for close in closers:
            close()

    def wait(self, seconds: float) -> None:
        """Wait for `seconds` or until cancelled."""
        self._event.wait(seconds)

    def register(self, close: Callable[[], None]) -> Callable[[], None]:
        """Run `close` in the thread that calls `cancel`, or now if it was called; return a function to undo this."""
        entry = object()
        with self._lock:
            self._closers[entry] = close
        if self.requested:
            self.cancel()

        def forget() -> None:
            with self._lock:
                self._closers.pop(entry, None)

        return forget

    @contextmanager
    def closing(self, close: Callable[[], None]) -> Iterator[None]:
        """Register `close` for the length of a block."""
        forget = self.register(close)
        try:
            yield
        finally:
            forget()


current_cancellation: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)
"""The cancellation of the async call that this code runs for, or None."""


def check_cancelled() -> None:
    """End a computation whose async caller was cancelled; nobody waits for what it raises.

    Raises:
        SleuthError: it was cancelled.
    """
    cancellation = current_cancellation.get()
    if cancellation is not None and cancellation.requested:
        raise SleuthError("the caller was cancelled")


@contextmanager
def ended_if_cancelled(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` where the async caller of a block is cancelled, also before it; raises as `check_cancelled` after."""
    cancellation = current_cancellation.get()
    with nullcontext() if cancellation is None else cancellation.closing(end):
        try:
            yield
        finally:
            check_cancelled()


def context_of(cancellation: Cancellation) -> Context:
    """Copy the current context; in the copy `cancellation` ends every deadline."""
    context = copy_context()
    context.run(current_cancellation.set, cancellation)
    return context


class Deadline:
    """A point in time that a whole call shares.

    Args:
        seconds: from now on; None never passes.
        cancellation: ends waits and makes the deadline pass; by default that of the current async call.

    Attributes:
        seconds, cancellation: as given.
    """

    __slots__ = ("_end", "cancellation", "seconds")

    def __init__(self, seconds: float | None, cancellation: Cancellation | None = None) -> None:
        self.seconds = seconds
        self.cancellation = cancellation or current_cancellation.get() or Cancellation()
        self._end = math.inf
        self.renew()

    def renew(self) -> None:
        """Restart the deadline: `seconds` from now. For streams, where a deadline bounds silence."""
        self._end = math.inf if self.seconds is None else monotonic() + self.seconds

    def remaining(self) -> float:
        """Return the remaining seconds, 0 after the deadline; infinite without a limit."""
        return 0.0 if self.cancellation.requested else max(0.0, self._end - monotonic())

    def passed(self) -> bool:
        """Tell whether no time is left."""
        return self.remaining() == 0.0

    def check(self, *, late: bool = False) -> None:
        """Raise TimeoutError where no time is left, or what was waited for is late."""
        if late or self.passed():
            raise TimeoutError(f"no answer within {self.seconds:g} s")

    def within(self, seconds: float) -> Deadline:
        """Return a deadline for a part of the call: `seconds` from now, but not later than this one."""
        return Deadline(min(seconds, self.remaining()), self.cancellation)

    def sleep(self, seconds: float) -> None:
        """Wait, but not past the deadline."""
        self.cancellation.wait(min(seconds, self.remaining()))


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in another thread, with the caller's context variables, and return its result.

    Cancelling the awaiting task makes every deadline in `function` expire at once, and closes its connections. Neither
    the task nor `asyncio.run` then waits for the thread; with `asyncio.to_thread`, `asyncio.run` would.
    """
    import asyncio

    cancellation = Cancellation()
    context = context_of(cancellation)
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is None:
            result.set_result(value)  # type: ignore[arg-type]
        else:
            result.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(function, *args, **kwargs)
        except BaseException as failure:  # noqa: BLE001 - whatever ends the thread is the caller's
            error = failure
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    THREADS.submit(work)
    try:
        return await result
    except asyncio.CancelledError:
        cancellation.cancel()
        raise
