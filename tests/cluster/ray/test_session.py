"""Connections to Ray."""

from __future__ import annotations

import pytest

from sleuth.cluster.ray import session
from sleuth.errors import StoreError


class SlowRay:
    """A Ray whose processes do not start in time: it raises what Ray 2.60 raises then."""

    def shutdown(self) -> None:
        """End nothing."""

    def init(self, **options: object) -> None:
        raise Exception("The current node timed out during startup.\nMore.")  # noqa: TRY002


def test_a_ray_that_starts_too_slowly_is_named() -> None:
    """Its error has no kind of its own, and is one of the storage or the cluster all the same."""
    with pytest.raises(
        StoreError, match=r"^Ray at ray://head:1 cannot be reached: The current node timed out"
    ):
        session.reconnect(SlowRay(), "ray://head:1")
