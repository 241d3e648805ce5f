"""Every regular expression reads a hostile text in time proportional to its length."""

import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from sleuth.files import ignore
from tests.patterns import SRC, Hostile, Use, files, hostile_texts, uses

_SHORT, _LONG = 1_500, 6_000
_MOST = 6.0
"""Times as long as for a quarter of the text."""
_FLOOR = 0.005
"""Seconds of CPU within which noise outweighs growth: 0.8 µs a character."""
_CLEAR = 0.1
"""Seconds of CPU from which on one call is timed; below, eight, since some clocks advance in steps of 4 ms."""

_LOCAL_VALUES: dict[str, list[dict[str, Any]]] = {
    "code/graph/bindings.py": [{"binding": SimpleNamespace(name="name")}],
    "code/graph/python.py": [{"name": "name"}],
    "code/graph/inference.py": [{"escaped": "name"}],
    "code/graph/resolve.py": [{"indent": 8}],
    "plugins/languages/kotlin/rules.py": [{"name": "engine"}],
    "plugins/languages/overloads.py": [{"name": "engine"}],
    "code/graph/walker.py": [{"stem": "engine"}],
    "code/parsing/imports.py": [{"name": "name", "module": "module"}],
    "code/search/signals.py": [{"a": b"retri", "b": b"limit"}],
    "files/ignore.py": [
        {"source": ignore._path_regex(ignore._parts(glob))} for glob in ("**/a/**/b*a", "*a*a*a*b", "a/*/b*")
    ],
    "columns/column.py": [{"text": "engine"}],
    "testing/aws.py": [{"pattern": "/knowledgebases/(?P<id>[^/]+)/retrieve/(?P<rest>.+)"}],
    "text/analyzers.py": [{"separators": " .,", "letter": "[^\\W\\d_]"}],
    "text/compounds.py": [{"letter": "[^\\W\\d_]", "separators": " ."}],
    "text/borders.py": [
        {"piece": r"\S{1,8}+", "abbreviation": r"(?<!\b[A-Z]\.)", "start": "[A-Z]", "fence": "```"}
    ],
    "text/detection.py": [dict.fromkeys(("script", "own_letters", "foreign"), "[\u3041-\u30ff]")],
}
"""Values of the local names that patterns are built of, by file."""


_SCANNERS = frozenset({"filters/text.py", "plugins/formats/bibtex.py"})
"""Files in which each match begins where the last one ended, and the first failure ends them."""


class TooSlowError(Exception):
    """A call takes longer than its limit."""


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlowError` once the process has used so much CPU; the engine of `re` looks for signals as it goes."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(call: Callable[[], object], limit: float, calls: int = 1) -> float:
    """Return the CPU seconds of some calls; infinity above the limit."""
    start = time.process_time()
    try:
        with _cpu_limit(limit):
            for _ in range(calls):
                call()
    except TooSlowError:
        return float("inf")
    return time.process_time() - start


def _call(pattern: re.Pattern[Any], method: str, text: Any) -> Callable[[], object]:
    match method:
        case "sub" | "subn":
            return lambda: pattern.sub(text[:0], text)
        case "finditer" | "findall":
            return lambda: deque(pattern.finditer(text), maxlen=0)
        case _:
            return lambda: getattr(pattern, method)(text)


def is_linear(call_with: Callable[[int], Callable[[], object]]) -> bool:
    """Return whether a call takes at most six times as long with a text four times as long.

    A call that takes far longer with a shorter text is stopped, so that an exponential one ends as well.
    """
    first = _seconds(call_with(_LONG), _CLEAR)
    if first <= _FLOOR:
        return True
    calls = 1 if first > _CLEAR else 8
    seconds = calls * _FLOOR
    for length in (_LONG >> 8, _LONG >> 6, _LONG >> 4, _SHORT):
        limit = max(calls * _FLOOR, 4 * _MOST * seconds)
        seconds = min(_seconds(call_with(length), limit, calls) for _ in range(2))
        if seconds > limit:
            return False
    limit = max(calls * _FLOOR, _MOST * seconds)
    return any(_seconds(call_with(_LONG), limit, calls) <= limit for _ in range(3))


def slow_uses(use: Use) -> Iterator[str]:
    """Yield each method of a pattern that is not linear, with a text that shows it."""
    is_text = isinstance(use.pattern.pattern, str)
    for method in sorted(use.methods):
        for hostile in hostile_texts(use.pattern):

            def call_with(
                length: int, method: str = method, hostile: Hostile = hostile
            ) -> Callable[[], object]:
                text = hostile.text(length)
                return _call(use.pattern, method, text if is_text else text.encode("latin-1"))

            # Other work disturbs one try, not five; a quadratic pattern takes 16 times as long in each.
            if not any(is_linear(call_with) for _ in range(5)):
                yield f"{use.place} {method}({hostile.prefix!r} + {hostile.pump!r} * n + {hostile.suffix!r})"
                break


@pytest.mark.parametrize("file", files())
def test_each_pattern_is_linear(file: str) -> None:
    """No pattern of a file takes more than six times as long with a hostile text that is four times as long."""
    patterns = uses(file, _LOCAL_VALUES.get(file, [{}]), is_scanner=file in _SCANNERS)
    assert patterns
    assert not [line for use in patterns for line in slow_uses(use)]


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"[\w\-./\\@+]*[\w\-]+\.(?:pyx?|c)\b", "findall"),
        (r"(?P<path>[\w\-./]*[\w\-]+\.(?:c|h))(?:#L|:)(?P<first>\d+)", "finditer"),
        (r"[ \t]*#{1,6}[ \t]|[ \t]*={3,}[ \t]*$", "search"),
        (r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+", "finditer"),
        (r"[ \t]*\|.*\|[ \t]*$", "search"),
        (r"(?:a|b|ab)+c", "match"),
        (r"(?:__?)(?=[^\s_])([^_]*\s[^_]*)_", "search"),
        (r"<!--.*?-->", "sub"),
    ],
)
def test_the_check_sees_a_pattern_that_is_not_linear(pattern: str, method: str) -> None:
    """Patterns of other projects and former ones of this one fail."""
    assert list(slow_uses(Use("", re.compile(pattern), frozenset({method}))))


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 goes on from the middle of a turn that failed; an atomic group does not."""
    possessive = re.compile(r"[)](?:[*+?]|[{][\d,]+[}])[+]")
    assert [file.name for file in SRC.rglob("*.py") if possessive.search(file.read_text())] == []
