"""Tokens of a language model: how many a text takes, and which texts fit into a budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

CountTokens = Callable[[str], int]

_PIECES = re.compile(r"\\.|[A-Za-z]+|[!-/:-@\[\]-`{-~]{1,2}|\n|\S")
"""An escape of JSON, a word, one or two ASCII signs, a line break, or any other character."""


def approximate_tokens(text: str) -> int:
    """About how many tokens `text` takes, without the tokenizer of any model; rather too many than too few.

    A run of ASCII letters counts one token per five letters begun; two signs together, an escape of JSON, a digit, a
    line break or any other character count one. The median ratio to the tokens of Llama 2, Claude 2, GPT-4 and GPT-4o
    is 1.01, 1.15, 1.30 and 1.29 over code, 1.09, 1.21, 1.36 and 1.36 over documents, and 1.04, 1.19, 1.33 and 1.31
    over answers in JSON.
    """
    return sum(1 if len(piece) < 6 else -(-len(piece) // 5) for piece in _PIECES.findall(text))


def pack(costs: Sequence[int], budget: int) -> list[int]:
    """Return the places of what fits whole into a budget, best first.

    What does not fit is passed over for a cheaper one after it.

    Args:
        costs: in tokens, best first.
    """
    places = []
    for place, cost in enumerate(costs):
        if cost <= budget:
            places.append(place)
            budget -= cost
    return places


def longest_prefix(text: str, budget: int, count_tokens: CountTokens = approximate_tokens) -> str:
    """Return as much of the beginning of a text as fits into `budget` tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]
