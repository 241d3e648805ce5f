"""Servers on loopback, no key in the environment, and waits too short to notice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth.extensions import own_extensions
from sleuth.remote.endpoints import forget_endpoints
from sleuth.testing.tavily import TavilyServer, page
from sleuth.web import robots, service


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(service, "BACKOFF", 0.005)
    forget_endpoints()
    robots._rules_by_site.clear()
    for name in own_extensions("web"):
        for variable in (f"{name.upper()}_API_KEY", f"{name.upper()}_BASE_URL"):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("SLEUTH_WEB_SERVICES", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[TavilyServer]:
    with TavilyServer([page(number) for number in range(30)]) as running:
        yield running


@pytest.fixture
def options(server: TavilyServer) -> dict[str, Any]:
    return {"api_key": "tvly-local", "base_url": server.url}
