"""Fits answers into a budget of tokens: whole results, then outlines, then names, then the next page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.text.budget import approximate_tokens
from sleuth.text.clean import escape_json

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Graded:
    """One result at three lengths, each a JSON object.

    Attributes:
        whole: with its text.
        outline: with facts that show whether the text is worth reading.
        name: with what is needed to ask for it.
    """

    whole: Fields
    outline: Fields
    name: Fields


class FittingResults(NamedTuple):
    """The results that fit.

    Attributes:
        results: the first ones, in order.
        omitted: how many did not fit.
    """

    results: list[Fields]
    omitted: int


def write(value: Any) -> str:
    """Write compact JSON; invisible characters are escaped."""
    return escape_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def tokens_of(value: Any) -> int:
    """Return about how many tokens a value takes as JSON."""
    return approximate_tokens(write(value))


def fit(graded: Sequence[Graded], room: int) -> FittingResults:
    """Choose a length for each result: as many names as fit, then the best ones whole, the next as outlines.

    Args:
        graded: best first.
        room: tokens.

    Raises:
        ArgumentError: there is no room for the first result.
    """
    names = [tokens_of(item.name) + 1 for item in graded]
    number, remaining = 0, room
    while number < len(names) and names[number] <= remaining:
        remaining -= names[number]
        number += 1
    if graded and not number:
        raise ArgumentError(f"max_tokens must be {names[0] - room} more to hold the first result")
    results: list[Fields] = []
    lengths = ["whole", "outline", "name"]
    for item, size in zip(graded[:number], names, strict=False):
        while lengths[0] != "name":  # lengths never grow from one result to the next
            value: Fields = getattr(item, lengths[0])
            more = tokens_of(value) + 1 - size
            if more <= remaining:
                remaining -= more
                break
            lengths.pop(0)
        else:
            value = item.name
        results.append(value)
    return FittingResults(results, len(graded) - number)


def fit_text(text: str, room: int) -> int:
    """Return how many characters of a text fit as JSON: whole lines, or a part of the first line."""
    end = 0
    for line in text.splitlines(keepends=True):
        cost = tokens_of(line) - 2  # without the quotes
        if cost > room:
            break
        room -= cost
        end += len(line)
    if end or not text:
        return end
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_of(text[:middle]) - 2 <= room else (low, middle - 1)
    return low
