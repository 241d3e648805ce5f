"""The interface of an answer whose body is still being read."""

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
