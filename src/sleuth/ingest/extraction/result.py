"""The result of extracting a file: its text, or the reason why it has no text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file.

    Attributes:
        title: stated by the file; "" if it states none.
        metadata: other facts that the file states, as JSON values.
    """

    text: str
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class ExtractionError(Exception):
    """No text could be extracted; the message is the reason.

    Attributes:
        kind: of the `LoadError`: "limits" where it exceeded a limit of memory or size, else "invalid".
    """

    def __init__(self, reason: str, *, limit: bool = False) -> None:
        super().__init__(reason)
        self.kind: Literal["limits", "invalid"] = "limits" if limit else "invalid"


def within(text: str, limit: int) -> str:
    """Return a text; raise ExtractionError if it is longer than a limit."""
    if len(text) > limit:
        raise ExtractionError(f"holds more than {limit:,} characters of text", limit=True)
    return text
