"""Retries: their number and their waits."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.remote import Deadline, retry
from sleuth.remote.cancellation import Cancellation
from sleuth.remote.endpoints import Endpoint, Guard
from sleuth.remote.retry import Again


class Failing:
    """A call that fails a number of times, then answers."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.calls = 0

    def __call__(self, deadline: Deadline) -> str:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise ConnectionError(str(self.left))
        return "answer"


def run(attempt: Failing, retries: int = 3, again: Again | None = Again(), **more: object) -> str:  # noqa: B008
    values: dict[str, object] = {"base": 0.0001, "deadline": Deadline(60.0), **more}
    return retry.call(attempt, again=lambda error: again, retries=retries, **values)  # type: ignore[arg-type]


@given(times=st.integers(0, 6), retries=st.integers(0, 4))
def test_attempts(times: int, retries: int) -> None:
    """There is one attempt and at most `retries` more; then the last failure is raised."""
    attempt = Failing(times)
    if times <= retries:
        assert run(attempt, retries) == "answer"
        assert attempt.calls == times + 1
    else:
        with pytest.raises(ConnectionError):
            run(attempt, retries)
        assert attempt.calls == retries + 1


@pytest.mark.parametrize(
    "again",
    [None, *(Again(retry.RETRY_AFTER_CAP + 0.5, reason) for reason in ("outage", "rate", "conflict"))],
)
def test_final_failures(again: Again | None) -> None:
    """A permanent failure is not retried, nor a call of a service that asks to wait longer than the cap."""
    attempt = Failing(1)
    with pytest.raises(ConnectionError):
        run(attempt, again=again)
    assert attempt.calls == 1


@given(calls=st.integers(1, 60), capacity=st.integers(0, 8))
def test_the_guard_bounds_an_outage(calls: int, capacity: int) -> None:
    """In any number of calls, no more retries are made than the guard allows; conflicts and rate limits use none."""
    endpoint = Endpoint()
    endpoint.guard = Guard(capacity, per_request=0.0)
    attempt = Failing(10**6)
    for _ in range(calls):
        with pytest.raises(ConnectionError):
            run(attempt, 2, endpoint=endpoint)
    assert attempt.calls == calls + min(capacity, 2 * calls)
    assert run(Failing(2), 2, Again(reason="conflict"), endpoint=endpoint) == "answer"


def test_an_outage_gets_the_retries_of_one_call_and_one_more() -> None:
    """A service that is down gets four retries at first; one that answers, and an unguarded call, get all of theirs."""
    endpoint, attempt = Endpoint(), Failing(99)
    for _ in range(4):
        with pytest.raises(ConnectionError):
            run(attempt, endpoint=endpoint)
    assert attempt.calls == 4 + 4
    endpoint = Endpoint()
    for _ in range(20):
        assert run(Failing(3), 3, endpoint=endpoint) == "answer"
    endpoint = Endpoint()
    for _ in range(5):
        attempt = Failing(9)
        with pytest.raises(ConnectionError):
            run(attempt, 5, endpoint=endpoint, guarded=False)
        assert attempt.calls == 6


def test_a_wait_that_the_deadline_ends_is_the_last() -> None:
    """A wait as long as the time left is not begun, however it came to be, and no attempt follows it."""
    for after, base in ((None, 5.0), (5.0, 0.0001)):
        attempt = Failing(9)
        deadline = Deadline(4.0)
        with pytest.raises(ConnectionError):
            run(attempt, again=Again(after), base=base, deadline=deadline)
        assert attempt.calls == 1
        assert not deadline.passed()


def test_a_cancelled_wait_ends() -> None:
    """A wait lasts as long as it should; cancelling ends it, and its deadline has passed."""
    cancellation, started = Cancellation(), monotonic()
    Deadline(60.0, cancellation).sleep(0.05)
    assert monotonic() - started >= 0.05
    deadline = Deadline(60.0, cancellation)
    waiting = Thread(target=deadline.sleep, args=(60.0,))
    waiting.start()
    cancellation.cancel()
    waiting.join(30.0)
    assert not waiting.is_alive()
    assert deadline.passed()


class EndedByItsWait(Cancellation):
    """A call that is cancelled while it waits."""

    def wait(self, seconds: float) -> None:
        self.cancel()


def test_no_attempt_follows_a_wait_that_the_deadline_ended() -> None:
    """What a wait leaves of the time decides: a call that ended while it waited makes no further attempt."""
    attempt = Failing(9)
    with pytest.raises(ConnectionError):
        run(attempt, deadline=Deadline(60.0, EndedByItsWait()))
    assert attempt.calls == 1


def test_parts_of_a_deadline() -> None:
    """A part ends with the whole at the latest; a deadline of None never passes."""
    assert Deadline(10.0).within(1.0).remaining() <= 1.0
    assert Deadline(1.0).within(10.0).remaining() <= 1.0
    assert not Deadline(None).passed()


def test_retry_after() -> None:
    """The header is a number of seconds or a date; a past date is 0, and what is neither is ignored."""
    assert retry.retry_after(" 7 ") == 7.0
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=3600), usegmt=True)
    assert 3000 < (retry.retry_after(soon) or 0) <= 3600
    assert retry.retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    for text in (None, "", "soon", "-1", "1.5", "x" * 1000, "Wed, 99 Foo 2020"):
        assert retry.retry_after(text) is None


@given(number=st.integers(0, 6), base=st.floats(0.001, 10), after=st.none() | st.floats(0, 60))
def test_a_wait_doubles_with_jitter(number: int, base: float, after: float | None) -> None:
    """A wait is the doubled base and at most half as much more, or what the service asks for if that is longer."""
    least = base * 2**number
    assert max(least, after or 0) <= retry.backoff(number, base, after) <= max(1.5 * least, after or 0)
