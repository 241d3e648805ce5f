"""What is taken out of a file, and why nothing is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file.

    Attributes:
        title: that the file states; "" where it states none.
        metadata: what else it says about itself, as JSON values.
    """

    text: str
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class ExtractionError(Exception):
    """A file that gives no text; the message is the reason.

    Attributes:
        limit: whether it went beyond a limit of time, memory or size.
    """

    def __init__(self, reason: str, *, limit: bool = False) -> None:
        super().__init__(reason)
        self.limit = limit


def within(text: str, limit: int) -> str:
    """Return a text, or raise where it is longer than a limit."""
    if len(text) > limit:
        raise ExtractionError(f"holds more than {limit:,} characters of text", limit=True)
    return text
