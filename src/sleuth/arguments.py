"""Checks of arguments that functions of many rooms take."""

from __future__ import annotations

import math
import operator
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from sleuth.errors import ArgumentError

P = ParamSpec("P")
T = TypeVar("T")

MOST_QUERY = 10_000
"""Characters of a query at most: what is longer is a document, and takes a search seconds."""

MOST_NAME = 200
"""Characters of a name in code at most: names that are like an unknown one take time by the square of its length."""

MOST_K = 10_000
"""Results of one search at most; pages of a search by one leg together hold as many."""

PER_DOCUMENT = 3
"""Passages of one document among the first ten, where nobody says how many."""


def check_query(query: Any) -> str:
    """Return the query unchanged if it is a valid one. Every public function that takes a query calls this.

    Raises:
        ArgumentError: not a string, or longer than `MOST_QUERY`.
    """
    if not isinstance(query, str):
        raise ArgumentError(f"query must be a string, got {query!r}")
    if len(query) > MOST_QUERY:
        raise ArgumentError(
            f"query must have at most {MOST_QUERY:,} characters, got {len(query):,}; search for a part of it"
        )
    return query


def check_kind(value: T, kind: Any, argument: str, rule: str) -> T:
    """Return a value unchanged if `isinstance` says that it is of a kind.

    Raises:
        ArgumentError: it is not; gives the rule.
    """
    if not isinstance(value, kind):
        raise ArgumentError(f"{argument} must be {rule}, got {value!r}")
    return value


def check_method(value: Any, name: str, argument: str, example: str) -> Callable[..., Any]:
    """Return a method of a value; raise ArgumentError for one without it, with an example of one that has it."""
    method: Callable[..., Any] | None = getattr(value, name, None)
    if not callable(method):
        raise ArgumentError(f"{argument} must have {name}, as {example} has, got {value!r}")
    return method


def check_strings(values: Any, argument: str) -> None:
    """Refuse what is no list of strings, as clients do before they send it to a model.

    Raises:
        ArgumentError: names the value that is not a string.
    """
    if isinstance(values, str) or not isinstance(values, Collection):
        mend = f"; write [{values!r}]" if isinstance(values, str) else ""
        raise ArgumentError(f"{argument} must be a list of strings, got {values!r}{mend}")
    for value in values:
        if not isinstance(value, str):
            raise ArgumentError(f"{argument} must hold strings, got {value!r}")


def check_name(value: Any, argument: str = "name", *, most: int = MOST_NAME) -> str:
    """Return a name unchanged if it is one. Every public function that looks up one of code calls this.

    Raises:
        ArgumentError: not a text, blank, or longer than `most`.
    """
    if not isinstance(value, str) or not value.strip():
        raise ArgumentError(f"{argument} must be a text that is not blank, got {value!r}")
    if len(value) > most:
        raise ArgumentError(f"{argument} must have at most {most:,} characters, got {len(value):,}")
    return value


def check_count(value: Any, argument: str = "k", *, least: int = 0, most: int | None = None) -> int:
    """Return a count as an int; integers of NumPy are accepted, booleans are not.

    Raises:
        ArgumentError: the value is not an integer, is below `least`, or above `most`.
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or (most is not None and number > most):
        rule = f"an int of {least} or more" if most is None else f"an int from {least} to {most:,}"
        raise ArgumentError(f"{argument} must be {rule}, got {reprlib.repr(value)}")
    return number


def fits_int64(value: int) -> bool:
    """Return whether an integer has at most 64 bits."""
    return -(2**63) <= value < 2**63


def check_positive(value: Any, argument: str) -> float:
    """Return a finite number above 0, such as seconds; booleans are not accepted.

    Raises:
        ArgumentError: another value.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ArgumentError(f"{argument} must be a finite number above 0, got {value!r}")
    return float(value)


def check_weight(value: Any, argument: str) -> float:
    """Return a finite number of 0 and more; booleans are not accepted.

    Raises:
        ArgumentError: another value.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= sys.float_info.max):
        raise ArgumentError(f"{argument} must be a number of 0 and more, got {value!r}")
    return float(value)


def check_mapping(value: Any, argument: str) -> dict[str, Any]:
    """Return a copy of a mapping, empty for None.

    Raises:
        ArgumentError: another value.
    """
    return dict(check_kind(value, Mapping | None, argument, "a mapping") or {})


def is_blank(query: str) -> bool:
    """Return whether a query has nothing to look for: spaces and quotes alone."""
    return not query.strip().strip(_QUOTES).strip()


_QUOTES = "\"'`´“”„‘’‚«»"


def check_score(value: Any) -> float | None:
    """Return a score as a float, or None; scalars of NumPy are accepted, booleans are not.

    Raises:
        ArgumentError: neither a finite number nor None.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ArgumentError(f"score must be a finite number or None, got {value!r}")
    return float(value)


_OF_OTHER_LIBRARIES = (
    dict.fromkeys(("top_k", "n_results", "num_results", "limit", "similarity_top_k", "top_n"), "k")
    | dict.fromkeys(("where", "filters", "metadata_filter", "pre_filter", "where_document"), "filter")
    | dict.fromkeys(("chunk_size", "chunk_overlap", "analyzer"), "settings")
    | {"embedding_function": "embedder", "embedding": "embedder", "score_threshold": "min_score"}
    | {"persist_directory": "path", "collection_name": "path"}
)
"""Names of arguments elsewhere, with the argument that means the same here."""


def spelling_hint(name: str, known: Collection[str]) -> str:
    """Return a question for the known name that is most like a misspelt one; "" where none is."""
    from difflib import get_close_matches

    near_names = get_close_matches(name, known, 1)
    return f"; did you mean {near_names[0]!r}?" if near_names else ""


def nearest_name(name: str, known: Collection[str], likeness: float = 0.6) -> str:
    """Return a question for the known name that a wrong one may mean; "" where none is near.

    Args:
        likeness: of names that are near, 0 to 1.
    """
    from difflib import get_close_matches

    foreign_name = _OF_OTHER_LIBRARIES.get(name)
    near_names = [foreign_name] if foreign_name in known else get_close_matches(name, known, 1, likeness)
    if not near_names:
        return ""
    value = f"settings={{{name!r}: ...}}" if near_names[0] == "settings" != name else repr(near_names[0])
    return f"; did you mean {value}?"


def hinted(function: Callable[P, T]) -> Callable[P, T]:
    """Let a call name the argument that a wrong keyword may mean, in its TypeError."""
    from inspect import signature

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError:
            known = signature(function).parameters
            if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in known.values()):
                for name in kwargs.keys() - known:
                    hint = nearest_name(name, known)
                    raise TypeError(f"{function.__qualname__}() has no argument {name!r}{hint}") from None
            raise

    return call


def check_names(
    names: Iterable[str], known: Collection[str], argument: str = "options", *, others: bool = False
) -> None:
    """Refuse names that nothing takes.

    Args:
        known: the names that are taken.
        others: further names may be taken too; then only those that look like a misspelt known one are refused.

    Raises:
        ArgumentError: a name is unknown; gives the nearest known one.
    """
    for name in names:
        if name in known:
            continue
        hint = nearest_name(name, known, 0.8 if others else 0.5)  # with others, near misses only
        if hint or not others:
            known_names = ", ".join(sorted(known)) or "none"
            raise ArgumentError(f"{argument} must be among {known_names}, got {name!r}{hint}")


def check_options(function: Callable[..., Any], options: Iterable[str]) -> None:
    """Refuse keyword options that `function` has no parameter for.

    A wrapper calls this before it forwards its `**options`. A function with `**options` of its own takes all.

    Raises:
        ArgumentError: an option is unknown; the message suggests the nearest one.
    """
    from inspect import signature

    parameters = signature(function).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        by_name = (parameter for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY)
        check_names(options, [parameter.name for parameter in by_name if parameter.name != "self"])
