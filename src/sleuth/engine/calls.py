"""Lets a facade offer the calls of the objects that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sleuth.arguments import hinted

P = ParamSpec("P")
T = TypeVar("T")


def forwarded(part: str, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that calls one of a part, with the same arguments, result and documentation.

    Args:
        part: the attribute that holds the part.
    """
    name = method.__name__

    @hinted
    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = getattr(getattr(self, part), name)(*args, **kwargs)
        return result

    forward: Any = call
    return forward  # type: ignore[no-any-return]
