"""No test uses a connection that an earlier one left."""

from collections.abc import Iterator

import pytest

from sleuth.remote.connections import close_idle


@pytest.fixture(autouse=True)
def no_kept_connection() -> Iterator[None]:
    """Close what is kept before and after a test, since another server may get the port of the last."""
    close_idle()
    yield
    close_idle()
