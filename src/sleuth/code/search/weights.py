"""How much each leg of a code search counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sleuth.arguments import check_kind, check_weight
from sleuth.errors import ArgumentError

if TYPE_CHECKING:
    from sleuth.code.search.vectors import EmbeddingProvider

LEGS: Final = ("keyword", "vector")
LITTLE: Final = 0.001
"""A weight of the ranks of vectors up to which words alone order what they find."""
OWN_WEIGHT: Final = 0.25
"""Of the ranks of vectors, where an embedder has no `code_weight` (table: code.md at 885da4c9)."""


def read_weights(weights: Mapping[str, float] | str | None) -> dict[str, float]:
    """Return the weights of legs that a mapping or a text such as "keyword=1,vector=0.25" names.

    Raises:
        ArgumentError: an unknown leg, or a weight that is not a number of 0 and more.
    """
    values: Mapping[str, Any] | str = {} if weights is None else weights
    if isinstance(values, str):
        parts = (part.partition("=") for part in values.split(","))
        values = {name.strip(): _number(value) for name, _, value in parts}
    check_kind(values, Mapping, "weights", "a mapping of legs to numbers")
    for name, value in values.items():
        if name not in LEGS:
            raise ArgumentError(f"weights must be of {', '.join(LEGS)}, got {name!r}")
        check_weight(value, f"weights[{name!r}]")
    return dict(values)


def weights_of(
    provider: EmbeddingProvider | None, *choices: Mapping[str, float] | str | None
) -> Mapping[str, float]:
    """Return the weight of each leg: what was chosen, or else 1 for words and the embedder's `code_weight` for vectors.

    Args:
        choices: later ones count more.

    Raises:
        ArgumentError: as `read_weights`; or no weight is above 0.
    """
    weights = {"keyword": 1.0, "vector": float(getattr(provider, "code_weight", OWN_WEIGHT))}
    for choice in choices:
        weights |= read_weights(choice)
    if not any(weights.values()):
        raise ArgumentError(f"weights must have one above 0, got {weights!r}")
    return weights


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
