"""Opens published indexes for tests."""

from sleuth import Engine
from sleuth.cluster import Cache
from sleuth.cluster.published import published_backend
from sleuth.engine.opening import OpenOptions


def open_published(address: str, cache: Cache) -> Engine:
    """Open a published index over a cache of the test's own; `Engine.open` uses that of the user."""
    return Engine(published_backend(address, OpenOptions(), cache=cache))
