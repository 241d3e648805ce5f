"""Connections to Ray."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sleuth.errors import StoreError
from sleuth.plugins.ray import session
from tests.waiting import free_port


@pytest.mark.parametrize("form", ["ray://127.0.0.1:{}", "127.0.0.1:{}", "auto"])
def test_ray_is_not_asked_where_nothing_listens(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would try for minutes, and a server would not answer meanwhile."""
    ray, port = SimpleNamespace(shutdown=lambda: None), free_port()  # it cannot be started
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(StoreError, match=r"cannot be reached: .*refused"):
        session.reconnect(ray, form.format(port))
