"""A JSON client over HTTP with deadlines, size limits, retries and clear failures.

`timeout` bounds the silence of a server, and the time that a whole answer may take.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import responses
from time import monotonic
from typing import Any, ClassVar

from sleuth.errors import ArgumentError, RemoteError
from sleuth.logs import logger_of
from sleuth.protocols import CutText
from sleuth.remote import Answer, BrokenError, CertificateError, Deadline, async_twin, retry
from sleuth.remote.answer import LateError, UnreachableError
from sleuth.remote.endpoints import TurnError, endpoint_at
from sleuth.remote.secrets import Mask
from sleuth.remote.twins import async_pieces

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


class AnswerError(Exception):
    """An answer with status 200 that is unusable: an error, not JSON, or cut short."""


Send = Callable[[str, "bytes | None", Mapping[str, str], Deadline], Answer]
"""Takes url, body, secret headers and deadline; sends one request and returns its answer, not read yet.

Raises BrokenError or CertificateError if there is no answer."""
FAILURES = (StatusError, AnswerError, BrokenError, CertificateError, TurnError)


@dataclass(frozen=True)
class Failures(ABC):
    """Turns failures of a service into errors that say what happened, where, and what mends it.

    Attributes:
        service: the name that errors have.
        error: their class.
        timeout: seconds.
        mask: hides keys in messages.
    """

    service: ClassVar[str]
    error: type[RemoteError]
    timeout: float
    mask: Mask = field(default_factory=Mask, repr=False)

    def __call__(self, url: str, cause: Exception) -> RemoteError:
        status = cause.status if isinstance(cause, StatusError) else None
        message = self.mask.hide(self.message(url, cause))
        failure = self.error(message, service=self.service, url=url, status=status)
        failure.after = cause.after if isinstance(cause, StatusError) else None
        return failure

    def message(self, url: str, cause: Exception) -> str:
        """Return one sentence."""
        place = self.place(url)
        if isinstance(cause, StatusError):
            return f"{place} {self.of_status(cause)}"
        if isinstance(cause, AnswerError):
            return f"{place} {self.of_answer(cause)}"
        if isinstance(cause, TurnError):
            return f"{place} answered too many requests: {cause}"
        if isinstance(cause, LateError):
            return f"{place} did not answer within {self.timeout:g} s; give a longer timeout"
        if is_broken(cause):
            return f"{place} broke the connection: {cause}"
        return self.of_unreachable(url, cause)

    def place(self, url: str) -> str:
        """Return what messages call the service at an address."""
        return url

    def of_answer(self, cause: AnswerError) -> str:
        """Say what is wrong with an answer."""
        return str(cause)

    @abstractmethod
    def of_status(self, cause: StatusError) -> str:
        """Say what another status than 200 means."""

    @abstractmethod
    def of_unreachable(self, url: str, cause: Exception) -> str:
        """Say in one sentence that nobody answers at an address."""


@dataclass(frozen=True)
class JsonClient:
    """A client of one service.

    Attributes:
        base_url: without a slash at its end.
        timeout: seconds.
        send: makes one request.
        describe: builds the error for callers from the url and the exception raised here.
        secret_headers: sent to `base_url` only, not to redirect targets; never shown.
        again: decides whether a failed request may be sent again.
        retries: maximum number, all within `timeout`.
    """

    base_url: str
    timeout: float
    send: Send
    describe: Callable[[str, Exception], RemoteError]
    again: Callable[[Exception], retry.Again | None]
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = 3

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """Post `payload` and return the JSON of the answer."""
        return self._ask(path, payload, self._read)

    def get(self, path: str) -> Any:
        """Return the JSON at `path`."""
        return self._ask(path, None, self._read)

    def _read(self, response: Answer, deadline: Deadline) -> Any:
        return parse(read_all(response, deadline), self.mask)

    def lines(self, path: str, payload: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the lines of a streamed answer as they arrive, without line ends. No retry once it answered."""
        response = self._ask(path, payload, lambda answer, _: answer, keep_open=True)
        with self.described(path), response:
            yield from read_lines(response, self.timeout)

    @contextmanager
    def described(self, path: str) -> Iterator[None]:
        """Raise a failure in a block as the error for callers, which `describe` builds."""
        try:
            yield
        except FAILURES as cause:
            failure = self.describe(self.base_url + path, cause)
            failure.__cause__ = cause
        else:
            return
        raise failure

    def _ask(
        self,
        path: str,
        payload: Mapping[str, Any] | None,
        reader: Callable[[Any, Deadline], Any],
        *,
        keep_open: bool = False,
    ) -> Any:
        url = self.base_url + path
        body = None if payload is None else json.dumps(payload).encode("utf-8")
        logger.debug("asking %s, %d bytes", url, len(body or b""))

        def attempt(deadline: Deadline) -> Any:
            with ExitStack() as stack:
                response = stack.enter_context(self.send(url, body, self.secret_headers, deadline))
                if response.status == 200:
                    answer = reader(response, deadline)
                    if keep_open:
                        stack.pop_all()
                    return answer
                error_body = b""  # as much of it as arrives in time
                with suppress(BrokenError):
                    for piece in response.pieces():
                        error_body += piece
                        if len(error_body) >= _PIECE or deadline.passed():
                            break
                text = error_body.decode("utf-8", "replace").strip()
                try:
                    message = error_message(json.loads(text))
                except (ValueError, RecursionError):
                    message = None
                text = text or responses.get(response.status, "no message")
                wait = retry.retry_after(response.headers.get("Retry-After"))
                reason = self.mask.hide(text if message is None else message)[:_MESSAGE]
                raise StatusError(response.status, reason, after=wait, structured=message is not None)

        with self.described(path):
            return retry.call(
                attempt,
                again=self.again,
                retries=self.retries,
                base=BACKOFF,
                deadline=Deadline(self.timeout),
                endpoint=endpoint_at(self.base_url),
            )

    @property
    def mask(self) -> Mask:
        """Hides the keys of this client."""
        return Mask.of_headers(self.secret_headers)

    def shown(self, value: Any) -> str:
        """Return the beginning of a value that the server sent, for a message."""
        return repr(self.mask.hide(str(value))[:80])


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


def without_thoughts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of an answer without the thoughts that some models write before it, between two marks."""
    begin, end, longest = "<think>", "</think>", 80
    rest, text = iter(pieces), ""
    for piece in rest:
        text += piece
        if not begin.startswith(text.strip()) or len(text) > longest:
            break
    if text.lstrip().startswith(begin):
        while end not in text and (piece := next(rest, "")):
            text = text[-len(end) :] + piece
        text = text.partition(end)[2].lstrip()
    if text:
        yield text
    yield from rest


def ended(text: str, reason: Any) -> str:
    """Return a text as a `CutText` if the reason of its end is the limit of tokens."""
    return CutText(text) if reason == "length" else text


class ServiceModel:
    """A model of a service, by its name there and the address of the service."""

    model: str
    base_url: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, base_url={self.base_url!r})"


class RemoteGenerator(ServiceModel, ABC):
    """A model of a service that writes text: a `Generator`."""

    def complete(self, prompt: str) -> str:
        """Return the whole answer, without thoughts in `<think>` before it.

        Raises:
            GenerationError: no service, no model, an error, a timeout, or an answer without a text.
        """
        text, reason = self._reply(prompt)
        return ended("".join(without_thoughts([text])), reason)

    def stream(self, prompt: str) -> Iterator[str]:
        """Yield the answer in pieces as the model writes them.

        Raises:
            GenerationError: as `complete`, after the pieces that arrived; also if the stream ends too early.
        """
        return without_thoughts(self._pieces(prompt))

    acomplete, astream = async_twin(complete), async_pieces(stream)

    @abstractmethod
    def _reply(self, prompt: str) -> tuple[str, Any]:
        """Return the whole answer, and why it ended."""

    @abstractmethod
    def _pieces(self, prompt: str) -> Iterator[str]:
        """Yield the pieces of an answer."""


def vectors(rows: Any, count: int) -> list[list[float]]:
    """Return `rows` as vectors of one length, shape (count, dimension).

    Raises:
        AnswerError: another number of vectors, vectors of several lengths, or one that holds something else than
            finite numbers.
    """
    if not isinstance(rows, list):
        raise AnswerError(f"answered without vectors: {str(rows)[:80]!r}")
    if rows or count:
        from sleuth.vectors import checked_vectors

        try:
            checked_vectors(rows, count)
        except ValueError as error:
            raise AnswerError(f"must answer {error}") from error
    return rows


def read_all(response: Answer, deadline: Deadline) -> bytes:
    """Read the whole body.

    Raises:
        AnswerError: longer than `LIMIT`.
        LateError: the deadline passed before its end.
        BrokenError: it ended before the announced length.
    """
    body = bytearray()
    for piece in response.pieces():
        body += piece
        if len(body) > LIMIT:
            raise AnswerError(f"answered with more than {LIMIT:,} bytes")
        if deadline.passed():
            raise LateError("timed out")
    announced = response.headers.get("Content-Length")
    if announced and announced.isascii() and announced.isdigit() and len(body) < int(announced):
        raise BrokenError(f"the body ended after {len(body):,} of {int(announced):,} bytes")
    return bytes(body)


def read_lines(response: Answer, timeout: float) -> Iterator[bytes]:
    """Yield the lines of a body as they arrive, without blank ones.

    Raises:
        AnswerError: more than `LIMIT` bytes.
        LateError: no whole line within `timeout` seconds.
    """
    unfinished_line, total_size, line_time = b"", 0, monotonic()
    response.renew()
    for piece in response.pieces():
        total_size += len(piece)
        if total_size > LIMIT:
            raise AnswerError(f"answered with more than {LIMIT:,} bytes")
        *complete_lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        lines_of_text = [line for line in complete_lines if line.strip()]
        yield from lines_of_text
        if lines_of_text:
            line_time = monotonic()
            response.renew()
        elif monotonic() - line_time > timeout:
            raise LateError("timed out")
    if unfinished_line.strip():
        yield unfinished_line


def again_when_refused(error: Exception) -> retry.Again | None:
    """Retry only requests that the server refused to begin: 429 and 503."""
    if isinstance(error, StatusError) and error.status in (429, 503):
        return retry.again_after(error.status, error.after)
    return None


def again_when_pure(error: Exception) -> retry.Again | None:
    """Retry requests without side effects: on 429, 5xx and broken connections, never after a timeout."""
    if isinstance(error, StatusError):
        return retry.again_after(error.status, error.after)
    return retry.Again() if is_broken(error) else None


def never_again(_: Exception) -> None:
    """Retry nothing."""


def is_broken(error: BaseException) -> bool:
    """Return whether an established connection ended too early."""
    return isinstance(error, BrokenError) and not isinstance(error, (UnreachableError, LateError))


def checked_secret(name: str, secret: str) -> str:
    """Return a key without blanks around it, checked to fit in a header. No message shows it.

    Raises:
        ArgumentError: a header cannot carry it.
    """
    key = secret.strip() if isinstance(secret, str) else None
    if key is None:
        raise ArgumentError(f"{name} must be a string, got {type(secret).__name__}")
    place = next((i for i, char in enumerate(key) if not char.isprintable() or ord(char) > 255), None)
    if place is not None:
        raise ArgumentError(
            f"{name} must hold printable Latin-1 characters only, got U+{ord(key[place]):04X} at place {place + 1} "
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
