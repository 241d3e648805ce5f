"""The backends that open what is more than one index folder of this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sleuth.extensions import loaded
from sleuth.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from sleuth.engine.index import Backend
    from sleuth.engine.opening import OpenOptions


class BackendKind(NamedTuple):
    """A kind of index.

    Attributes:
        fits: whether an index of this kind is at a path.
        open: opens it.
    """

    fits: Callable[[str | Path], bool]
    open: Callable[[str | Path, OpenOptions], Backend]


@cache
def _kinds() -> tuple[BackendKind, ...]:
    """Return the kinds of the cluster and of plugins."""
    return tuple(loaded("backends", BackendKind))


def opener_of(path: str | Path) -> Callable[[str | Path, OpenOptions], Backend] | None:
    """Return what opens the index at this path; None where it is one folder of this machine."""
    if Store.is_at(path):
        return None
    return next((kind.open for kind in _kinds() if kind.fits(path)), None)
