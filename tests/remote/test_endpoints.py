"""The shared state of a service: its accepted rate, and its outages."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread
from time import monotonic

import pytest

from sleuth.remote import Deadline, retry
from sleuth.remote.cancellation import Cancellation
from sleuth.remote.endpoints import SLOWEST, Endpoint, Pace, TurnError, endpoint_at, forget_endpoints
from sleuth.remote.retry import Again
from tests.waiting import wait_until


def test_one_endpoint_per_address() -> None:
    """One address has one pace and guard until all are forgotten; another address has others."""
    first = endpoint_at("https://a")
    assert first is endpoint_at("https://a")
    assert first is not endpoint_at("https://b")
    forget_endpoints()
    assert first is not endpoint_at("https://a")


def test_no_limit_until_one_is_met() -> None:
    """Without a refusal no call waits, nor after one of a call whose retries need not wait."""
    pace = Pace()
    for _ in range(1000):
        pace.wait(Deadline(60.0))
        pace.accepted()
    pace.refused(pace.wait(Deadline(60.0)), 0.0, None)
    assert pace.rate == float("inf")


def test_refusals_of_one_burst_count_once() -> None:
    """Refusals of requests sent before the rate was lowered do not lower it again."""
    pace = Pace()
    moments = [pace.wait(Deadline(1.0)) for _ in range(8)]
    for moment in moments:
        pace.refused(moment, 0.01, None)
    assert pace.rate == 100


def test_turns_are_taken_in_order() -> None:
    """Waiting callers are served in order of arrival."""
    pace = Pace()
    pace.refused(pace.wait(Deadline(60.0)), 0.02, None)
    turns: dict[int, float] = {}

    def caller(number: int) -> None:
        turns[number] = pace.wait(Deadline(60.0))

    def has_arrived(number: int) -> bool:
        return len(turns) + len(pace._queue) > number

    threads = [Thread(target=caller, args=(number,)) for number in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        wait_until(partial(has_arrived, number))
    for thread in threads:
        thread.join(60.0)
    assert sorted(turns, key=lambda number: turns[number]) == list(range(8))


def test_a_turn_that_would_come_too_late() -> None:
    """A caller whose turn is past its deadline gets an error at once; a cancelled one leaves the queue."""
    pace = Pace()
    pace.refused(pace.wait(Deadline(60.0)), 1.0, 30.0)
    for _ in range(2):
        started = monotonic()
        with pytest.raises(TurnError, match="limits its rate"):
            pace.wait(Deadline(25.0))
        assert monotonic() - started < 25.0, "it waits for its deadline"
        pace.accepted()  # one that was sent before
    cancellation = Cancellation()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pace.wait, Deadline(60.0, cancellation))
        wait_until(lambda: pace._queue)
        cancellation.cancel()
        with pytest.raises(TurnError):
            waiting.result(timeout=60.0)


def test_a_rate_grows_slowly_where_it_was_refused() -> None:
    """A rate that was doubled once too often is halved again; from there it grows by little and falls by a third."""
    pace = Pace()
    pace.refused(pace.wait(Deadline(60.0)), 0.01, None)
    rates = []
    for happens in (
        pace.accepted,
        refuse := lambda: pace.refused(monotonic(), 0.01, None),
        pace.accepted,
        refuse,
    ):
        happens()
        rates.append(pace.rate)
    assert rates == pytest.approx([200, 100, 100 + Pace.INCREASE, (100 + Pace.INCREASE) * Pace.DECREASE])


def test_a_service_that_recovers_is_asked_as_before() -> None:
    """Refusals without a success halve the rate to a minimum; successes double it, until it is lifted."""
    pace = Pace()
    pace.refused(pace.wait(Deadline(60.0)), 0.1, None)
    for _ in range(20):
        pace.refused(monotonic(), 0.1, None)
    assert pace.rate == SLOWEST
    for _ in range(7):
        pace.accepted()
    assert pace.rate > 10
    pace = Pace()
    pace.refused(pace.wait(Deadline(60.0)), 1 / 500, None)
    pace.accepted()
    assert pace.rate == float("inf")


@pytest.mark.parametrize("calls", [30, pytest.param(3000, marks=pytest.mark.slow)])
def test_an_outage_under_twenty_threads(calls: int) -> None:
    """While a service is down, 20 threads make fewer than 1.3 attempts per request."""
    endpoint = Endpoint()
    requests: list[int] = []
    attempts: list[int] = []

    def attempt(deadline: Deadline) -> None:
        attempts.append(1)
        deadline.sleep(0.002)
        raise ConnectionError

    def caller(_: int) -> None:
        for _ in range(calls):
            requests.append(1)
            with pytest.raises(ConnectionError):
                retry.call(
                    attempt, again=lambda error: Again(), retries=3, base=0.002,
                    deadline=Deadline(60.0), endpoint=endpoint,
                )  # fmt: skip

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(caller, range(20)))
    assert len(attempts) / len(requests) < 1.3
