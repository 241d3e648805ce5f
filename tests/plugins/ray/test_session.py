"""Connections to Ray."""

from __future__ import annotations

import socket

import pytest

from sleuth.errors import StoreError
from sleuth.plugins.ray import session
from tests.waiting import free_port


class SlowRay:
    """A Ray whose processes do not start in time: it raises what Ray 2.60 raises then.

    Attributes:
        tries: how often it was to start.
    """

    tries = 0

    def shutdown(self) -> None:
        """End nothing."""

    def init(self, **options: object) -> None:
        self.tries += 1
        raise Exception("The current node timed out during startup.\nMore.")  # noqa: TRY002


def test_a_ray_that_starts_too_slowly_is_named() -> None:
    """Its error has no kind of its own, and is one of the storage or the cluster all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"ray://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(
            StoreError, match=rf"^Ray at {address} cannot be reached: The current node timed out"
        ):
            session.reconnect(SlowRay(), address)


@pytest.mark.parametrize("form", ["ray://127.0.0.1:{}", "127.0.0.1:{}", "auto"])
def test_ray_is_not_asked_where_nothing_listens(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would try for minutes, and a server would not answer meanwhile."""
    ray, port = SlowRay(), free_port()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(StoreError, match=r"cannot be reached: .*refused"):
        session.reconnect(ray, form.format(port))
    assert ray.tries == 0
