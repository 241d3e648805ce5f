"""The interface of an answer whose body is still being read, and failures, with messages that repeat no secret."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from sleuth.protocols import Closing


class Answer(Closing):
    """Status and headers of an answer, and its body as it comes. Close it, or use it in a `with` block.

    Attributes:
        status: of HTTP.
        headers: names in any case.
    """

    status: int
    headers: Mapping[str, str]

    @abstractmethod
    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives."""

    @abstractmethod
    def renew(self) -> None:
        """Restart the deadline, for streams whose silence it bounds."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


class BrokenError(Exception):
    """No whole answer came: reset, cut short, or not HTTP."""


class UnreachableError(BrokenError):
    """No connection was made, so nothing was sent."""


class LateError(BrokenError, TimeoutError):
    """The answer was not complete at the deadline."""


class CertificateError(Exception):
    """The server has no valid certificate for its name."""


class LargeError(Exception):
    """The answer is larger than allowed."""
