"""How is JSON asked for over HTTP, and how does a request that fails end?

The standard library's urllib, with what it leaves out: an answer that never ends, one that ends too early,
one that comes a byte at a time. `timeout` bounds the silence of a server, and the time that a whole answer
may take.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from io import BufferedIOBase, BytesIO
from time import monotonic
from typing import Any

from sleuth.errors import ArgumentError, RemoteError
from sleuth.llm.closable import closable_opener
from sleuth.remote import retry
from sleuth.remote.answer import Answer
from sleuth.remote.cancellation import current_cancellation
from sleuth.remote.deadline import Deadline
from sleuth.remote.endpoints import endpoint_at
from sleuth.remote.failures import BrokenError, CertificateError, LateError, UnreachableError
from sleuth.remote.secrets import Mask

LIMIT = 64 * 1024 * 1024
"""Bytes: an answer longer than this is cut off as endless. 1,000 vectors of 4,096 numbers take about 50
MB."""

BACKOFF = 1.0
"""Seconds before the first retry, doubled with each."""

_PIECE = 64 * 1024
_MESSAGE = 500
_LONGEST = 1e6
"""Seconds: no socket waits longer than some years."""


class StatusError(Exception):
    """An answer with another status than 200.

    Attributes:
        message: the server's own, shortened.
        after: seconds its `Retry-After` asks for.
        structured: whether the message came as `{"error": …}`, so from the service and not from a router
            before it.
    """

    def __init__(
        self, status: int, message: str, *, after: float | None = None, structured: bool = False
    ) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.after = after
        self.structured = structured

    @property
    def again(self) -> retry.Again:
        """Why another try may do."""
        return retry.Again(self.after, "rate" if self.status == 429 else "outage")


class AnswerError(Exception):
    """An answer with status 200 that is not what was asked for: an error, no JSON, an end too early."""


Send = Callable[[str, "bytes | None", Mapping[str, str], Deadline], Any]
"""Takes url, body, secret headers and deadline; returns the open response, a context manager."""
FAILURES = (OSError, http.client.HTTPException, StatusError, AnswerError, BrokenError, CertificateError)


@dataclass(frozen=True)
class JsonClient:
    """Asks one service.

    Attributes:
        base_url: without a slash at its end.
        timeout: seconds.
        describe: makes the error that callers see of the url and what was raised here.
        secret_headers: sent to `base_url` only, not where it redirects to; never shown.
        send: makes one request; urllib's by default.
        again: says of a failure whether the request may be sent once more.
        retries: at most so many, all within `timeout`.
    """

    base_url: str
    timeout: float
    describe: Callable[[str, Exception], RemoteError]
    again: Callable[[Exception], retry.Again | None]
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = 3
    send: Send = field(default_factory=lambda: send)

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """The JSON that answers `payload`."""
        return self._ask(
            path, payload, lambda response, deadline: parse(read_all(response, deadline), self.mask)
        )

    def get(self, path: str) -> Any:
        """The JSON at `path`."""
        return self._ask(
            path, None, lambda response, deadline: parse(read_all(response, deadline), self.mask)
        )

    def lines(self, path: str, payload: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines of a streamed answer as they come, without their ends. Not asked again once it
        answered.
        """
        url = self.base_url + path
        response = self._ask(path, payload, lambda response, deadline: response, keep_open=True)
        try:
            with response:
                yield from read_lines(response, self.timeout)
        except FAILURES as cause:
            failure = self.describe(url, cause)
            failure.__cause__ = cause
        else:
            return
        raise failure

    def _ask(
        self,
        path: str,
        payload: Mapping[str, Any] | None,
        read: Callable[[Any, Deadline], Any],
        *,
        keep_open: bool = False,
    ) -> Any:
        url = self.base_url + path
        body = None if payload is None else json.dumps(payload).encode("utf-8")

        def attempt(deadline: Deadline) -> Any:
            with ExitStack() as held:
                response = held.enter_context(self.send(url, body, self.secret_headers, deadline))
                if response.status != 200:
                    after = retry_after_of(response)
                    raise status_failure(response.status, response, after, deadline, self.mask)
                answer = read(response, deadline)
                if keep_open:
                    held.pop_all()
                return answer

        try:
            return retry.call(
                attempt,
                again=self.again,
                retries=self.retries,
                base=BACKOFF,
                deadline=Deadline(self.timeout),
                endpoint=endpoint_at(self.base_url),
            )
        except FAILURES as cause:
            failure = self.describe(url, cause)
            failure.__cause__ = cause
        raise failure

    @property
    def mask(self) -> Mask:
        """Hides the keys of this client."""
        return Mask.of_headers(self.secret_headers)

    def shown(self, value: Any) -> str:
        """The beginning of something that the server sent, for a message."""
        return repr(self.mask.hide(str(value))[:80])


def send(url: str, body: bytes | None, secret_headers: Mapping[str, str], deadline: Deadline) -> Any:
    """Sends a request and returns the open response.

    Raises:
        StatusError: a status that urllib takes for an error.
    """
    # base_url is checked to be HTTP
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    for name, value in secret_headers.items():
        request.add_unredirected_header(name, value)
    # An async call is sent over a connection that cancelling closes; any other, as document 004 says, by urlopen.
    open_url = closable_opener().open if current_cancellation() is not None else urllib.request.urlopen
    try:
        return open_url(request, timeout=deadline.remaining())
    except urllib.error.HTTPError as error:
        after = error.headers.get("Retry-After") if error.headers else None
        with error.fp or BytesIO() as response:  # an error that a program made itself may have neither
            raise status_failure(error.code, response, after, deadline, Mask()) from None


def retry_after_of(response: Any) -> str | None:
    """The `Retry-After` of an answer, or None."""
    after = response.headers.get("Retry-After")
    return after if isinstance(after, str) else None


def status_failure(
    status: int, response: Any, after: str | None, deadline: Deadline, mask: Mask
) -> StatusError:
    """The failure that an answer with this status stands for, with what its body says in time."""
    body = b""
    with suppress(OSError, http.client.HTTPException, BrokenError):
        for piece in read_pieces(response):
            body += piece
            if len(body) >= _PIECE or deadline.passed():
                break
    text = body.decode("utf-8", "replace").strip()
    try:
        message = error_message(json.loads(text))
    except (ValueError, RecursionError):
        message = None
    said = message if message is not None else text or http.client.responses.get(status, "no message")
    return StatusError(
        status, mask.hide(said)[:_MESSAGE], after=retry.retry_after(after), structured=message is not None
    )


def error_message(answer: Any) -> str | None:
    """What `{"error": "…"}` or `{"error": {"message": "…"}}` says; None for an answer that is no error."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or json.dumps(error)
    return str(error)[:_MESSAGE] if error else None


def parse(body: bytes, mask: Mask | None = None) -> Any:
    """The JSON of an answer.

    Args:
        mask: hides keys in messages.

    Raises:
        AnswerError: no JSON, or an error in place of an answer.
    """
    hide = (mask or Mask()).hide
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        start = hide(body[:_MESSAGE].decode("utf-8", "replace"))[:80]
    else:
        message = error_message(answer)
        if message is None:
            return answer
        raise AnswerError(f"answered with an error: {hide(message)[:_MESSAGE]}")
    raise AnswerError(f"answered with something that is not JSON: {start!r}")


def read_pieces(response: Any) -> Iterator[bytes]:
    """A body as it comes."""
    if isinstance(response, Answer):
        yield from response.pieces()
        return
    if not isinstance(response, BufferedIOBase):
        yield bytes(response.read())  # an opener that the program installed may answer without a socket
        return
    while piece := response.read1(_PIECE):
        yield piece


def read_all(response: Any, deadline: Deadline) -> bytes:
    """The whole body.

    Raises:
        AnswerError: longer than `LIMIT`.
        TimeoutError: still coming at the deadline.
        IncompleteRead: ended before the length that was announced.
    """
    body = bytearray()
    for piece in read_pieces(response):
        body += piece
        if len(body) > LIMIT:
            raise AnswerError(f"answered with more than {LIMIT:,} bytes")
        if deadline.passed():
            raise TimeoutError
    announced = response.headers.get("Content-Length")
    if announced and announced.isascii() and announced.isdigit() and len(body) < int(announced):
        raise http.client.IncompleteRead(bytes(body[:80]), int(announced) - len(body))
    return bytes(body)


def read_lines(response: Any, timeout: float) -> Iterator[bytes]:
    """The lines of a body as they come; blank ones are left out.

    Raises:
        AnswerError: more than `LIMIT` bytes.
        TimeoutError: no whole line within `timeout` seconds.
    """
    rest, total, last = b"", 0, monotonic()
    if isinstance(response, Answer):
        response.renew()
    for piece in read_pieces(response):
        total += len(piece)
        if total > LIMIT:
            raise AnswerError(f"answered with more than {LIMIT:,} bytes")
        *whole, rest = (rest + piece).split(b"\n")
        said = [line for line in whole if line.strip()]
        yield from said
        if said:
            last = monotonic()
            if isinstance(response, Answer):
                response.renew()
        elif monotonic() - last > timeout:
            raise TimeoutError
    if rest.strip():
        yield rest


def again_when_refused(error: Exception) -> retry.Again | None:
    """Send again only what the server refused to begin: 429 and 503."""
    if isinstance(error, StatusError) and error.status in (429, 503):
        return error.again
    return None


def again_when_pure(error: Exception) -> retry.Again | None:
    """Send again what changes nothing, however far it came: 429, 5xx, broken connections. Never after a
    timeout.
    """
    if isinstance(error, StatusError) and (error.status == 429 or error.status >= 500):
        return error.again
    return retry.Again() if is_broken(error) else None


def is_timeout(error: BaseException) -> bool:
    """Whether nothing came in time."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, TimeoutError)


def is_broken(error: BaseException) -> bool:
    """Whether a connection that had been made ended too early."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, (ConnectionRefusedError, UnreachableError, LateError)):
        return False
    return isinstance(reason, (ConnectionError, http.client.HTTPException, BrokenError))


def checked_secret(name: str, secret: str) -> str:
    """A key without blanks around it, fit for a header. It is never shown.

    Raises:
        ArgumentError: it cannot stand in a header.
    """
    key = secret.strip() if isinstance(secret, str) else None
    if key is None:
        raise ArgumentError(f"{name} must be a string, got {type(secret).__name__}")
    bad = next((i for i, char in enumerate(key) if not char.isprintable() or ord(char) > 255), None)
    if bad is not None:
        raise ArgumentError(
            f"{name} must hold printable Latin-1 characters only, got U+{ord(key[bad]):04X} at place {bad + 1} "
            f"of {len(key)}: copy the key again"
        )
    return key


def checked_timeout(timeout: float) -> float:
    """A timeout that is a positive number.

    Raises:
        ArgumentError: it is not.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ArgumentError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    return min(timeout, _LONGEST)
