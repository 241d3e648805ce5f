"""Sleuth in DSPy: a retriever for `dspy.configure(rm=...)` and for programs.

import dspy
from sleuth.plugins.frameworks.dspy import SleuthRM

dspy.configure(rm=SleuthRM(engine))
passages = dspy.Retrieve(k=3)("how often is a bucket refilled").passages
"""

from __future__ import annotations

from typing import Any

from sleuth.errors import requires
from sleuth.remote import async_twin

with requires("dspy", "dspy", "a retriever of DSPy"):
    from dspy import Prediction


class SleuthRM:
    """Any retriever of Sleuth as one of DSPy: `rm(query, k)` returns passages with their `long_text`.

    Args:
        source: has `retrieve(query, k, ...)`: an `Engine`, a `CodeRetriever`, `Sources`, a client of Chroma.
        k: how many passages, where a call does not say.
        options: further arguments of every `source.retrieve`, such as `filter`.
    """

    def __init__(self, source: Any, k: int = 10, **options: Any) -> None:
        self.source, self.k, self.options = source, k, options

    def __call__(self, query: str, k: int | None = None, **options: Any) -> list[Prediction]:
        """Return the best passages, each with `long_text`, `id`, `score` and `metadata`."""
        ranking = self.source.retrieve(query, self.k if k is None else k, **{**self.options, **options})
        return [
            Prediction(long_text=item.text, id=item.id, score=item.score, metadata=dict(item.metadata))
            for item in ranking
        ]

    acall = async_twin(__call__)
