"""Threads of the server: lanes of requests, and what is loaded before the first one."""

import asyncio
import gc
from pathlib import Path
from threading import Event

import pytest
from fastapi import FastAPI

from sleuth.surfaces.http import Call, Extension, Refusal, Service
from sleuth.surfaces.http.app import Warmer
from sleuth.surfaces.http.lanes import Lane
from sleuth.surfaces.page.extension import page_extension
from tests.waiting import wait_until

from .conftest import make_index, serving


def test_a_full_queue_refuses() -> None:
    """Requests are answered in order; those that find the queue full are refused, and later ones are not."""

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        results = await asyncio.gather(*(lane.run(int, n) for n in range(6)), return_exceptions=True)
        assert results[:4] == [0, 1, 2, 3]
        assert [type(result) for result in results[4:]] == [Refusal, Refusal]
        assert (lane.running, lane.waiting) == (0, 0)
        assert await asyncio.gather(*(lane.run(int, n) for n in range(4))) == [0, 1, 2, 3]
        lane.close()

    asyncio.run(check())


def test_work_of_nobody_is_not_done() -> None:
    """A request that was cancelled before its turn is skipped; one that runs keeps its place until it returns."""
    numbers: list[int] = []
    going = Event()

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        running = asyncio.create_task(lane.run(going.wait, 30))
        tasks = [asyncio.create_task(lane.run(numbers.append, n)) for n in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert (lane.running, lane.waiting) == (1, 2)
        going.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (lane.running, lane.waiting) == (0, 0)
        lane.close()

    asyncio.run(check())
    assert numbers == [0, 2]


def test_errors_reach_the_request() -> None:
    """What a function raises ends its own request alone."""

    def fail() -> None:
        raise KeyError("lost")

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        with pytest.raises(KeyError, match="lost"):
            await lane.run(fail)
        assert await lane.run(int, "7") == 7
        lane.close()

    asyncio.run(check())


def test_an_error_that_nobody_waits_for_is_no_noise() -> None:
    """Work that fails after its request was cancelled leaves no complaint of the event loop, which would be logged."""
    going = Event()
    complaints: list[object] = []

    def fail() -> None:
        going.wait(30)
        raise ValueError("late")

    async def check() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        lane = Lane("reads", threads=1, queue=3)
        task = asyncio.create_task(lane.run(fail))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        going.set()
        while lane.running:
            await asyncio.sleep(0.01)
        del task
        gc.collect()
        lane.close()

    asyncio.run(check())
    assert complaints == []


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
            wait_until(lambda: started.client.get("/readyz").status_code == 200)
        finally:
            release.set()
    assert queries == ["A bucket holds at most fifty tokens."]
    failures = [record for record in caplog.records if record.getMessage() == "warming failed"]
    assert [str(record.exc_info[1]) for record in failures if record.exc_info] == ["no such model"]
