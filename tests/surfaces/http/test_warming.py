"""A server says that it is ready when what requests need is loaded."""

import time
from pathlib import Path
from threading import Event

import pytest
from fastapi import FastAPI

from sleuth.surfaces.http import Call, Extension, Service
from sleuth.surfaces.http.warming import Warmer
from sleuth.surfaces.page.extension import page_extension

from .conftest import Local, make_index, serving


def wait_until_ready(server: Local) -> None:
    """Ask until the server is ready, for a minute at most."""
    ends = time.monotonic() + 60
    while server.client.get("/readyz").status_code != 200:
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_ready_means_warm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """/readyz is 503 until all is loaded; searches are answered meanwhile; a warmer that fails is logged."""
    release = Event()
    queries: list[str] = []

    def wait(_: Call, query: str) -> None:
        queries.append(query)
        assert release.wait(60)

    def fail(_: Call, __: str) -> None:
        raise OSError("no such model")

    def install(warmer: Warmer) -> Extension:
        def add_nothing(_: FastAPI, __: Service) -> Warmer:
            return warmer

        return Extension(add_nothing)

    extensions = [page_extension(), install(wait), install(fail)]
    with serving(make_index(tmp_path / "index"), extensions=extensions) as started:
        try:
            ready = started.client.get("/readyz")
            assert (ready.status_code, ready.json()["code"]) == (503, "WarmingError")
            assert ready.headers["retry-after"] == "1"
            assert started.client.get("/livez").status_code == 200
            assert started.client.post("/v1/search", json={"query": "tokens"}).status_code == 200
            release.set()
            wait_until_ready(started)
        finally:
            release.set()
    assert queries == ["A bucket holds at most fifty tokens."]
    failures = [record for record in caplog.records if record.getMessage() == "warming failed"]
    assert [str(record.exc_info[1]) for record in failures if record.exc_info] == ["no such model"]
