"""How the rankings of several legs become one: the fusion of a query and its printed form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sleuth.arguments import check_count, check_kind, check_weight
from sleuth.compose.methods import RANK_CONSTANT, Method
from sleuth.errors import ArgumentError

MOST = 1 << 40
"""As many passages as no index holds."""

_NUMBERS = ("pool", "tokens", "rank_constant")
_SPELLING = re.compile(r"(\w+)(?:\(([^()]*)\))?")


def _default_weights() -> Mapping[str, float]:
    """Return the weights of the built-in legs."""
    from sleuth.engine.legs import WEIGHTS

    return WEIGHTS


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the rankings of several legs become one. Prints as `minmax(lexical=1,dense=0.4,pool=200,tokens=0.25)`.

    Attributes:
        method: "minmax" (default), "rrf" or "max"; see `sleuth.compose.fuse`.
        weights: by leg, 0 and more; 1 where not named; those of the built-in legs are then named.
        pool: how many hits of each leg are fused, an int from 1 to 2**40; further ones follow by their rank.
        rank_constant: of "rrf", above 0.
        tokens: of the best score, what the best match of tokens gains among the best hits, 0 for none; where None,
            what was measured best for "minmax" over the default embedder, and none otherwise.
        is_default: whether no weight is named, so that each leg has its own, such as the estimate of the index.
    """

    method: Method = "minmax"
    weights: Mapping[str, float] = field(default_factory=_default_weights)
    pool: int = 200
    rank_constant: float = RANK_CONSTANT
    tokens: float | None = None
    is_default: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from sleuth.compose.fuse import fuse_hits

        check_kind(self.weights, Mapping, "weights", "a mapping of legs to numbers")
        for leg, weight in self.weights.items():
            if not _is_ranking(leg):
                raise ArgumentError(f"fusion must weigh legs among {', '.join(_legs())}, got {leg!r}")
            check_weight(weight, f"fusion weight of {leg}")
        if self.tokens is not None:
            check_weight(self.tokens, "tokens")
        if check_count(self.pool, "pool", least=1) > MOST:
            raise ArgumentError(f"pool must be an int from 1 to {MOST}, got {self.pool!r}")
        fuse_hits({}, None, self.method, 0, rank_constant=self.rank_constant)
        object.__setattr__(self, "is_default", self.weights is _default_weights())
        if not self.is_default:
            object.__setattr__(self, "weights", {**dict.fromkeys(_default_weights(), 1.0), **self.weights})

    def __str__(self) -> str:
        weights = {} if self.is_default and self.method == "minmax" else self.weights
        settings: dict[str, float] = {**weights, "pool": self.pool}
        if self.tokens is not None:
            settings["tokens"] = self.tokens
        if self.method == "rrf" or self.rank_constant != RANK_CONSTANT:
            settings["rank_constant"] = self.rank_constant
        texts = (  # each the shortest that reads as the number
            f"{name}={int(value) if value == int(value) else repr(float(value))}"
            for name, value in settings.items()
        )
        return f"{self.method}({','.join(texts)})"

    @classmethod
    def parse(cls, text: str) -> Fusion:
        """Return a fusion from its printed form; what is not named has its default, weights apart: they are 1.

        Raises:
            ArgumentError: shows the form.
        """
        match = _SPELLING.fullmatch(text.strip())
        values: dict[str, Any] = {}
        for part in (match[2] or "").split(",") if match and (match[2] or "").strip() else ():
            name, _, value = (word.strip() for word in part.partition("="))
            try:
                number = int(value) if name == "pool" else float(value)
            except ValueError:
                match = None
                break
            if name in values or not (name in _NUMBERS or _is_ranking(name)):
                names = ", ".join((*_legs(), *_NUMBERS))
                raise ArgumentError(
                    f"fusion must name each of {names} once at most, got {name!r} in {text!r}"
                )
            values[name] = number
        if match is None:
            raise ArgumentError(
                f"fusion must be written as in 'minmax(lexical=1,dense=0.4,pool=200)', got {text!r}"
            )
        numbers = {name: values.pop(name) for name in _NUMBERS if name in values}
        weights = values or (_default_weights() if match[1] == "minmax" else {})
        return cls(match[1], weights, **numbers)  # type: ignore[arg-type]


def _is_ranking(leg: str) -> bool:
    """Return whether a leg of this name ranks."""
    from sleuth.engine.legs import leg_kind
    from sleuth.store import RankingLeg

    try:
        return issubclass(leg_kind(leg), RankingLeg)
    except ArgumentError:
        return False


def _legs() -> Sequence[str]:
    """Return the names of all legs that rank; they are loaded when a fusion is made, not to read the help."""
    from sleuth.engine.legs import ranking_legs

    return ranking_legs()


@cache
def _default() -> Fusion:
    return Fusion()


def as_fusion(value: Fusion | str | None) -> Fusion:
    """Return the fusion that a user names: a Fusion, its printed form, or None for the default."""
    if value is None:
        return _default()
    if isinstance(value, str):
        return Fusion.parse(value)
    return check_kind(value, Fusion, "fusion", "a Fusion, its printed form or None")
