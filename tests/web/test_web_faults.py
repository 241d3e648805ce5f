"""R16: faulty peers cost no more than the deadline, and leave nothing behind."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from sleuth.errors import WebError
from sleuth.testing.faults import FAULTS, Fault, FaultServer
from sleuth.testing.tavily import TavilyServer, page
from sleuth.web import asearch_web, fetch_page, search_web, service
from tests.examples import examples
from tests.waiting import latest, settle

LOOPBACK = ["127.0.0.0/8"]
LATEST = latest(1.0)


@pytest.mark.parametrize("fault", FAULTS)
def test_search_keeps_its_deadline(faults: FaultServer, fault: Fault) -> None:
    """With any fault of the peer, a search returns no results by its deadline and 10 %."""
    started = monotonic()
    docs = search_web("climate", 3, api_key="k", base_url=faults.url(fault), timeout=1.0)
    assert monotonic() - started <= LATEST
    assert docs["results"] == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "wrong-type"])
def test_fetch_keeps_its_deadline(faults: FaultServer, fault: Fault) -> None:
    """With any fault of the peer, fetching a page raises an error by the deadline and 10 %."""
    started = monotonic()
    with pytest.raises(WebError):
        fetch_page(faults.url(fault), timeout=1.0, obey_robots=False, allow_networks=LOOPBACK)
    assert monotonic() - started <= LATEST


def test_what_is_no_data_may_be_a_page(faults: FaultServer) -> None:
    """A page in place of data is still readable as a page."""
    page = fetch_page(faults.url("wrong-type"), obey_robots=False, allow_networks=LOOPBACK)
    assert "hotel" in page.text


def test_a_hanging_try_leaves_time_for_another(faults: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt has its own time limit, so that a second one can succeed."""
    monkeypatch.setattr(service, "ATTEMPT_TIMEOUT", 5.0)
    with TavilyServer([page(0)]) as server:
        server.next(10.0)
        assert search_web("climate", 1, api_key="tvly-local", base_url=server.url)["num_docs"] == 1
        assert len(server.requests) == 2


def test_nothing_leaks_in_many_calls(faults: FaultServer) -> None:
    """Hundreds of searches, most of faulty peers, leave no thread and no descriptor."""

    async def call(server: TavilyServer, number: int) -> None:
        kind = number % (len(FAULTS) + 3)
        base = faults.url(FAULTS[kind]) if kind < len(FAULTS) else server.url
        await asearch_web("climate", 3, api_key="tvly-local", base_url=base, timeout=0.1)

    async def storm(server: TavilyServer, calls: int) -> None:
        await asyncio.gather(*(call(server, number) for number in range(calls)))

    with TavilyServer([page(number) for number in range(5)]) as server:
        asyncio.run(storm(server, 50))  # pools and lazy imports come into being
        before = settle()
        asyncio.run(storm(server, examples(1000)))
        after = settle(before)
        assert after.is_within(before), (after, before)
