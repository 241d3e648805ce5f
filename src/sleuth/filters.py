"""Which rows may answer? One filter tree for every backend.

A filter is a tree of `And`, `Or`, `Not` and `Compare`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Scalar: TypeAlias = str | int | float | bool
Operator: TypeAlias = Literal[
    "eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists", "prefix", "contains"
]


@dataclass(frozen=True, slots=True)
class Compare:
    """One key against one value.

    Attributes:
        value: a scalar; a tuple of scalars for "in" and "nin"; a bool for "exists".
    """

    key: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class And:
    """True where every part is; the empty one is always true."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where any part is; the empty one is never true."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True where its part is not."""

    part: Filter


Filter: TypeAlias = And | Or | Not | Compare
