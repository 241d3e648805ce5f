"""The names of fusions and the constant of one, apart from their code, so that options are read without numpy."""

from __future__ import annotations

from typing import Literal, TypeAlias

Method: TypeAlias = Literal["minmax", "rrf", "max"]

RANK_CONSTANT = 60
