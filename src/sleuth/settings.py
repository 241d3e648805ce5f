"""Settings of an index, chosen once, at creation, and stored in the record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError

_DEFAULT_ANALYZER: Final = "english"
_LONGEST: Final = 1_000_000
"""Tokens in a passage at most: a book."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What shapes an index. Recorded in it; an index opened later is searched with what it was made with.

    Attributes:
        analyzer: how text becomes terms: "english", "plain" or "code".
        chunk_size: tokens of a passage, from 8.
        chunk_overlap: tokens that a passage shares with the one before it, up to a quarter of chunk_size.
        title_weight: how many words of the text a word of the title counts; 0 leaves the title out.
        heading_weight: the same for a word of the section heading.
        k1: BM25's saturation of term frequency, 0 or more.
        b: BM25's strength of length normalisation, 0 to 1.
        embedder: what makes vectors, by its spelling (`sleuth.engine.embedders`); "" for none.
        chunker: what cuts documents into passages: "" for the built-in one, the name of an installed one, or
            "custom:FINGERPRINT" (`docs/how-to/add-a-loader.md`).
        legs: ways to search that the index has beside the built-in ones, as "NAME" or "NAME:ARGUMENT", separated by
            commas (`docs/how-to/add-a-leg.md`).
    """

    analyzer: str = _DEFAULT_ANALYZER
    chunk_size: int = 400
    chunk_overlap: int = 40
    title_weight: int = 1
    heading_weight: int = 2
    k1: float = 1.5  # other values of both change nDCG by .002 (docs/decisions/rankings-tried.md)
    b: float = 0.75
    embedder: str = "wordllama"
    chunker: str = ""
    legs: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            accepted = (int, float) if kind is float else kind
            if isinstance(value, bool) or not isinstance(value, accepted):
                raise ArgumentError(f"{field.name} must be of type {kind.__name__}, got {value!r}")
        rules: tuple[tuple[str, bool, str], ...] = (
            ("chunk_size", 8 <= self.chunk_size <= _LONGEST, f"from 8 to {_LONGEST:,}"),
            (
                "chunk_overlap",
                0 <= self.chunk_overlap <= self.chunk_size // 4,
                "from 0 to a quarter of chunk_size",
            ),
            ("title_weight", 0 <= self.title_weight <= 100, "from 0 to 100"),
            ("heading_weight", 0 <= self.heading_weight <= 100, "from 0 to 100"),
            ("k1", 0 <= self.k1 < math.inf, "0 or more"),
            ("b", 0 <= self.b <= 1, "from 0 to 1"),
        )
        for name, holds, rule in rules:
            if not holds:
                raise ArgumentError(f"{name} must be {rule}, got {getattr(self, name)!r}")

    @property
    def tells_languages(self) -> bool:
        """Whether each document is read in its own language; an analyzer that a user names reads all documents."""
        return self.analyzer == _DEFAULT_ANALYZER

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> IndexSettings:
        """Settings from what `to_dict` gave, or from a user's mapping.

        Where that has a chunk_size so small that the default overlap does not fit it, the overlap is a quarter of it.

        Raises:
            ArgumentError: what is no mapping, an unknown name, or a value that its rule forbids.
        """
        check_kind(values, Mapping, "settings", "IndexSettings or a mapping of names to values")
        defaults: dict[str, Any] = {field.name: field.default for field in fields(cls)}
        for name in values:
            if name not in defaults:
                raise ArgumentError(f"settings must be among {', '.join(defaults)}, got {name!r}")
        size = values.get("chunk_size")
        if isinstance(size, int) and "chunk_overlap" not in values:
            values = {**values, "chunk_overlap": min(defaults["chunk_overlap"], size // 4)}
        return cls(**values)
