"""Fits answers into a budget of tokens: the best results with their text, the others by name."""

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
    """One result at two lengths, each a JSON object.

    Attributes:
        whole: with its text.
        name: with what is needed to ask for it.
    """

    whole: Fields
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
    """Choose a length for each result: as many names as fit in half of the room, then each whole that fits, best first.

    If the text of the first result does not fit, half of the room holds its first lines, with `lines_left_out`.

    Args:
        graded: best first.
        room: tokens.

    Raises:
        ArgumentError: there is no room for the first result.
    """
    names = [tokens_of(item.name) + 1 for item in graded]
    number, remaining = 0, room
    if graded and names[0] > room:
        raise ArgumentError(f"max_tokens must be {names[0] - room} more to hold the first result")
    while number < len(names) and (not number or room - remaining + names[number] <= room // 2):
        remaining -= names[number]
        number += 1
    results: list[Fields] = []
    for item, size in zip(graded[:number], names, strict=False):
        fields = item.whole
        cost = tokens_of(fields) + 1 - size
        if cost > remaining and not results:
            fields = _cut(fields, remaining // 2 + size - 1)
            cost = tokens_of(fields) + 1 - size
        if cost <= remaining:
            remaining -= cost
            results.append(fields)
        else:
            results.append(item.name)
    return FittingResults(results, len(graded) - number)


def _cut(whole: Fields, room: int) -> Fields:
    """Return a result with the first lines of its text that fit, and how many are left out; unchanged without text."""
    text = str(whole.get("text", ""))
    frame = {**whole, "text": "", "lines_left_out": len(text.splitlines())}
    end = fit_text(text, room - tokens_of(frame))
    if not end:
        return whole
    return {**whole, "text": text[:end], "lines_left_out": len(text[end:].splitlines())}


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
