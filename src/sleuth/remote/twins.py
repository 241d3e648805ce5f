"""Makes the async twin of a call: the same arguments and the same result, without blocking the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def async_twin(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the coroutine function that runs `call` in another thread.

    Cancelling it ends the computation, and closes its connections to services. The twin of a method runs what a
    subclass makes of that method. In a class, write `aretrieve = async_twin(retrieve)` below `retrieve`.
    """
    function = getattr(call, "__func__", call)

    @wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        from sleuth.remote.cancellation import in_thread

        run, arguments = _bound(function, args)
        return await in_thread(run, *arguments, **kwargs)

    return _renamed(twin, function)


def async_pieces(call: Callable[P, Iterator[T]]) -> Callable[P, AsyncIterator[T]]:
    """Return the async generator function of a generator function; each piece is made in another thread.

    Leaving it early closes the generator and ends its request.
    """

    @wraps(call)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        from sleuth.remote.cancellation import Cancellation, context_of, in_thread

        cancellation = Cancellation()  # one for all pieces: the request is begun with the first
        context = context_of(cancellation)
        bound_call, arguments = _bound(call, args)
        run_in_context: Any = context.run
        exhausted = object()
        pieces = await in_thread(run_in_context, bound_call, *arguments, **kwargs)
        try:
            while (piece := await in_thread(run_in_context, next, pieces, exhausted)) is not exhausted:
                yield piece
        finally:
            cancellation.cancel()
            # `close` raises ValueError while another thread is inside the generator; that thread ends when its request
            # is cancelled.
            with suppress(ValueError):
                pieces.close()

    return _renamed(twin, call)


def _bound(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return a method of the object that it is called on, as its class has it now, and its other arguments."""
    if args and function.__code__.co_varnames[:1] in (("self",), ("cls",)):
        return getattr(args[0], function.__name__), args[1:]
    return function, args


def _renamed(twin: T, function: Any) -> T:
    """Name a twin as the function, with an "a" before it."""
    function_object: Any = twin
    name = function.__name__
    function_object.__name__ = f"a{name}"
    function_object.__qualname__ = f"{function.__qualname__.removesuffix(name)}a{name}"
    function_object.__doc__ = (
        f"`{name}`, without blocking the event loop.\n\n{function.__doc__ or ''}".rstrip()
    )
    return twin
