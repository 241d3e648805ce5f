"""Fixtures of the answer tests: items and generators."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sleuth.types import RetrievedItem

SAMPLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf8"))
"""Texts, and what is read in them."""


def item(id: str, text: str, score: float | None = None, **metadata: Any) -> RetrievedItem:
    return RetrievedItem(id=id, text=text, score=score, metadata=metadata)


class Scripted:
    """A generator that returns scripted texts and records its prompts."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def complete(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0)

    def stream(self, prompt: str) -> Iterator[str]:
        text = self.complete(prompt)
        for start in range(0, len(text), 5):
            yield text[start : start + 5]
