"""Parses a query: its title, its prose, and the names, paths and stack frames in it.

A query may be a few words, an identifier, a piece of code, a stack trace or a long report. One reading serves all: its
title, its prose, and the things it names by path, module, frame or identifier.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sleuth.text.analyzers import get_analyzer

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_SENTENCE = re.compile(r"(?<=[^.]{12})(?:\. |  )")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#|->)[A-Za-z_]\w*)*")
_STEPS = re.compile(r"\.|::|#|->")
_FILE = re.compile(
    r"(?<![\w\-./\\@+])[\w\-./\\@+]*(?<=[\w\-])\.(?:pyx?|pyi|rb|go|java|scala|[cm]?[jt]sx?|c|h|cc|cpp|hpp|rs|kts?|cs|php|sh|md|rst|toml|ya?ml|json)\b"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*|[0-9]+|[^\W\d_a-zA-Z]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_FRAMES = (
    re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>[\w<>]+))?'),
    re.compile(r"\bat (?P<name>[\w$.<>]+) ?\((?P<path>[\w\-./$]+\.\w+):(?P<line>\d+)(?::\d+)?\)"),
    re.compile(
        r"(?<![\w\-./])(?P<path>[\w\-./]+\.(?:rb|go|rs|cs|php|ts|js)):(?P<line>\d+)(?::\d+)?"
        r"(?::in [`'](?P<name>[^'`]+)')?"
    ),
)
_MAX_TITLE = 200
_MOST_PAIRS = 24
_FEW_WORDS = 12
"""Words of a question, as most people type it: of 977 questions of a public benchmark, 6 have more."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a stack trace."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query, read.

    Attributes:
        terms: of all of it, by token, each weighing 1 + log(times); `title` and `prose` of those parts alone.
        pairs: neighbouring words of the title, as stems.
        names: dotted names it mentions, with how often.
        told_names: those of them that look like identifiers and stand in the prose, outside code that was pasted.
        files: paths that it mentions.
        frames: of stack traces, in the order of the text.
        wants_tests: whether it asks for tests; `wants_docs` for documentation.
    """

    text: str
    terms: Mapping[str, float]
    title: Mapping[str, float]
    prose: Mapping[str, float]
    pairs: tuple[Pair, ...]
    names: Mapping[str, int]
    told_names: Mapping[str, int]
    files: tuple[str, ...]
    frames: tuple[Frame, ...]
    wants_tests: bool
    wants_docs: bool

    @property
    def is_short(self) -> bool:
        """Whether it has a few words, so that its title is all of it."""
        return len(self.text.split()) <= _FEW_WORDS


@lru_cache(maxsize=64)
def read_query(text: str) -> Query:
    """Read a query."""
    title = title_of(text)
    lines = _FENCE.sub(" ", text).split("\n")  # without blocks of code, transcripts and traces
    prose = "\n".join(line for line in lines if not line.startswith(("    ", "\t", ">>>", "In [", "...")))
    names = Counter(_DOTTED.findall(text))
    words = set(re.findall(r"[a-z]+", title.lower()))
    analyzer = get_analyzer("code-english")
    parts = [part for word in _WORD.findall(title) for part in _PART.findall(word)]  # of identifiers, too
    frames = [  # of stack traces of Python, Java, JavaScript, Ruby and Go
        (m.start(), Frame(m["path"].replace("\\", "/"), int(m["line"]), m["name"] or ""))
        for pattern in _FRAMES
        for m in pattern.finditer(text)
    ]
    return Query(
        text,
        weigh(text),
        weigh(title),
        weigh(prose),
        pairs_of([next(iter(analyzer.tokens(part.lower())), None) for part in parts]),
        dict(names),
        {n: times for n, times in Counter(_DOTTED.findall(prose)).items() if _names_something(n, prose)},
        tuple(dict.fromkeys(_FILE.findall(text))),
        tuple(frame for _, frame in sorted(frames, key=lambda entry: entry[0])),
        bool(words & {"test", "tests", "testing", "spec", "specs", "unittest"}),
        bool(words & {"doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial"}),
    )


def title_of(text: str) -> str:
    """Return the first line, or its first sentence."""
    first = text.strip().split("\n", 1)[0].strip()
    end = _SENTENCE.search(first)
    return (first[: end.start()] if end else first)[:_MAX_TITLE]


def weigh(text: str) -> dict[str, float]:
    """Terms of a text, each weighing 1 + log(times)."""
    counts = Counter(get_analyzer("code-english").tokens(text))
    return {token: 1.0 + math.log(times) for token, times in counts.items()}


def parts_of(name: str) -> list[str]:
    """Split a dotted name into its steps."""
    return [part for part in _STEPS.split(name) if part]


def _names_something(name: str, text: str) -> bool:
    """Return whether people write such a word, or write it so in a text, only for something in code."""
    return (  # an underscore or a capital inside
        "_" in name.strip("_")
        or re.search(r"[a-z][A-Z]", name) is not None
        or len(parts_of(name)) > 1
        or name[0].isupper()
        or f"`{name}" in text
        or f"{name}(" in text
        or text.strip() == name
    )


def pairs_of(words: Sequence[str | None]) -> tuple[Pair, ...]:
    """Neighbouring words, each pair once.

    Args:
        words: stems in the order of the text, None for a word that says too little.
    """
    pairs = dict.fromkeys((a, b) for a, b in pairwise(words) if a and b and len(a) + len(b) > 4)
    return tuple(pairs)[:_MOST_PAIRS]
