"""Queues: short work in the event loop's thread is bounded and cancelled as work in threads is."""

from __future__ import annotations

import asyncio
from threading import current_thread

import pytest

from sleuth.surfaces.http import SHORT, Durations, Lane, Refusal


def signature(number: int) -> tuple[int, str]:
    """Return a number and the thread that it was asked in."""
    return number, current_thread().name


async def outcomes(lane: Lane, requests: int) -> list[object]:
    """Return what so many requests at once get from functions that name their number and thread."""
    work = (lane.run_here(signature, n) for n in range(requests))
    return await asyncio.gather(*work, return_exceptions=True)


def test_short_work_is_done_in_turn() -> None:
    """Requests are answered in order, in the thread of the loop; those that find the queue full are refused."""

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        results = await outcomes(lane, 6)
        name = current_thread().name
        assert results[:4] == [(n, name) for n in range(4)]
        assert [type(result) for result in results[4:]] == [Refusal, Refusal]
        assert (lane.running, lane.waiting) == (0, 0)
        assert len(await outcomes(lane, 4)) == 4

    asyncio.run(check())


def test_the_loop_reads_between_two_short_functions() -> None:
    """Other work of the event loop has its turn after each of them."""
    order: list[str] = []

    async def other() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            order.append("other")

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        await asyncio.gather(*(lane.run_here(order.append, "short") for _ in range(3)), other())

    asyncio.run(check())
    assert "other" in order[order.index("short") : -order[::-1].index("short")]


def test_work_of_nobody_is_not_done() -> None:
    """A request that was cancelled before its turn is skipped, and its place in the queue is free again."""
    numbers: list[int] = []

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        tasks = [asyncio.create_task(lane.run_here(numbers.append, n)) for n in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (lane.running, lane.waiting) == (0, 0)

    asyncio.run(check())
    assert numbers == [0, 2]


def test_errors_reach_the_request() -> None:
    """What a short function raises ends its own request alone."""

    def fail() -> None:
        raise KeyError("lost")

    async def check() -> None:
        lane = Lane("reads", threads=1, queue=3)
        with pytest.raises(KeyError, match="lost"):
            await lane.run_here(fail)
        assert await lane.run_here(int, "7") == 7

    asyncio.run(check())


def test_only_what_was_short_lately_is_short() -> None:
    """A kind is short once its searches were, and no longer after long ones."""
    durations = Durations()
    assert not durations.is_short("lexical")
    durations.note("lexical", SHORT / 2)
    assert durations.is_short("lexical")
    assert not durations.is_short("hybrid")
    durations.note("lexical", SHORT * 100)
    assert not durations.is_short("lexical")
    for _ in range(30):
        durations.note("lexical", SHORT / 2)
    assert durations.is_short("lexical")
