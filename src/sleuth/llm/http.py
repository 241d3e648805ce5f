"""A JSON client over HTTP with deadlines, size limits, retries and clear failures.

It uses urllib and adds checks that urllib lacks: answers that never end, end too early or arrive byte by byte.
`timeout` bounds the silence of a server, and the time that a whole answer may take.
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
from sleuth.logs import logger_of
from sleuth.remote import (
    Answer,
    BrokenError,
    CertificateError,
    Deadline,
    LateError,
    Mask,
    UnreachableError,
    current_cancellation,
    endpoint_at,
    retry,
)

logger = logger_of("llm")

LIMIT = 64 * 1024 * 1024
"""Maximum bytes of an answer. 1,000 vectors of 4,096 numbers take about 50 MB."""

BACKOFF = 1.0
"""Seconds before the first retry, doubled with each."""

_PIECE = 64 * 1024
_MESSAGE = 500
_LONGEST = 1e6
"""Maximum timeout of a socket, in seconds."""


class StatusError(Exception):
    """An answer with another status than 200.

    Attributes:
        message: the server's own, shortened.
        after: seconds that its `Retry-After` asks for.
        structured: whether the message came as `{"error": …}`, so from the service and not from its router.
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
        """Why a retry may succeed."""
        return retry.Again(self.after, "rate" if self.status == 429 else "outage")


class AnswerError(Exception):
    """An answer with status 200 that is unusable: an error, not JSON, or cut short."""


Send = Callable[[str, "bytes | None", Mapping[str, str], Deadline], Any]
"""Takes url, body, secret headers and deadline; returns the open response, a context manager."""
FAILURES = (OSError, http.client.HTTPException, StatusError, AnswerError, BrokenError, CertificateError)


@dataclass(frozen=True)
class JsonClient:
    """A client of one service.

    Attributes:
        base_url: without a slash at its end.
        timeout: seconds.
        describe: builds the error for callers from the url and the exception raised here.
        secret_headers: sent to `base_url` only, not to redirect targets; never shown.
        send: makes one request; urllib's by default.
        again: decides whether a failed request may be sent again.
        retries: maximum number, all within `timeout`.
    """

    base_url: str
    timeout: float
    describe: Callable[[str, Exception], RemoteError]
    again: Callable[[Exception], retry.Again | None]
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = 3
    send: Send = field(default_factory=lambda: send)

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """Post `payload` and return the JSON of the answer."""
        return self._ask(
            path, payload, lambda response, deadline: parse(read_all(response, deadline), self.mask)
        )

    def get(self, path: str) -> Any:
        """Return the JSON at `path`."""
        return self._ask(
            path, None, lambda response, deadline: parse(read_all(response, deadline), self.mask)
        )

    def lines(self, path: str, payload: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the lines of a streamed answer as they arrive, without line ends. No retry once it answered."""
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
        logger.debug("asking %s, %d bytes", url, len(body or b""))

        def attempt(deadline: Deadline) -> Any:
            with ExitStack() as stack:
                response = stack.enter_context(self.send(url, body, self.secret_headers, deadline))
                if response.status != 200:
                    after = retry_after_of(response)
                    raise status_failure(response.status, response, after, deadline, self.mask)
                answer = read(response, deadline)
                if keep_open:
                    stack.pop_all()
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
        """Return the beginning of a value that the server sent, for a message."""
        return repr(self.mask.hide(str(value))[:80])


def send(url: str, body: bytes | None, secret_headers: Mapping[str, str], deadline: Deadline) -> Any:
    """Send a request and return the open response.

    Raises:
        StatusError: a status that urllib treats as an error.
    """
    # base_url is checked to be HTTP
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    for name, value in secret_headers.items():
        request.add_unredirected_header(name, value)
    # Cancelling an async call must close its connection; other calls use urlopen, as document 004 says.
    open_url = closable_opener().open if current_cancellation() is not None else urllib.request.urlopen
    try:
        return open_url(request, timeout=deadline.remaining())
    except urllib.error.HTTPError as error:
        after = error.headers.get("Retry-After") if error.headers else None
        with error.fp or BytesIO() as response:  # an error built by the program itself may have neither
            raise status_failure(error.code, response, after, deadline, Mask()) from None


def retry_after_of(response: Any) -> str | None:
    """Return the `Retry-After` of an answer, or None."""
    after = response.headers.get("Retry-After")
    return after if isinstance(after, str) else None


def status_failure(
    status: int, response: Any, after: str | None, deadline: Deadline, mask: Mask
) -> StatusError:
    """Return the error for an answer with this status, with as much of its body as arrives in time."""
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
    """Return the message of `{"error": "…"}` or `{"error": {"message": "…"}}`, or None if there is no error."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or json.dumps(error)
    return str(error)[:_MESSAGE] if error else None


def parse(body: bytes, mask: Mask | None = None) -> Any:
    """Parse the JSON of an answer.

    Args:
        mask: hides keys in messages.

    Raises:
        AnswerError: not JSON, or an error in place of an answer.
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
    """Yield a body as it arrives."""
    if isinstance(response, Answer):
        yield from response.pieces()
        return
    if not isinstance(response, BufferedIOBase):
        yield bytes(response.read())  # an opener installed by the program may answer without a socket
        return
    while piece := response.read1(_PIECE):
        yield piece


def read_all(response: Any, deadline: Deadline) -> bytes:
    """Read the whole body.

    Raises:
        AnswerError: longer than `LIMIT`.
        TimeoutError: the deadline passed before its end.
        IncompleteRead: it ended before the announced length.
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
    """Yield the lines of a body as they arrive, without blank ones.

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
    """Retry only requests that the server refused to begin: 429 and 503."""
    if isinstance(error, StatusError) and error.status in (429, 503):
        return error.again
    return None


def again_when_pure(error: Exception) -> retry.Again | None:
    """Retry requests without side effects: on 429, 5xx and broken connections, never after a timeout."""
    if isinstance(error, StatusError) and (error.status == 429 or error.status >= 500):
        return error.again
    return retry.Again() if is_broken(error) else None


def is_timeout(error: BaseException) -> bool:
    """Tell whether a request timed out."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, TimeoutError)


def is_broken(error: BaseException) -> bool:
    """Tell whether an established connection ended too early."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, (ConnectionRefusedError, UnreachableError, LateError)):
        return False
    return isinstance(reason, (ConnectionError, http.client.HTTPException, BrokenError))


def checked_secret(name: str, secret: str) -> str:
    """Return a key without blanks around it, checked to fit in a header. No message shows it.

    Raises:
        ArgumentError: a header cannot carry it.
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
    """Return a timeout, checked to be a positive number.

    Raises:
        ArgumentError: it is not.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ArgumentError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    return min(timeout, _LONGEST)
