"""How is a pattern written in tree-sitter's query language read? As steps that `matches.h` tries at every node.

The part of the language that `queries.py` uses: nested nodes, fields, absent fields (`!name`), alternatives,
`"words"` of the grammar, captures, the anchor `.`, `(_)`, and the predicates `#eq?`, `#any-of?` and `#not-any-of?` over
captured texts. A capture whose name begins with `_` serves for its predicate alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sleuth.errors import CodeError

_TOKEN = re.compile(r'"[^"]*"|[()\[\].]|@[\w.]+|#[\w-]+\?|![\w]+|\w+:|\w+')


@dataclass(slots=True)
class Node:
    """A node of a pattern; `place` is its field, and each list of `children` holds the alternatives of one place."""

    symbol: str = ""
    place: str = ""
    absent: str = ""
    capture: str = ""
    first: bool = False
    children: list[list[Node]] = field(default_factory=list)
    words: tuple[bytes, ...] = ()
    forbids: bool = False


class Steps(NamedTuple):
    """Patterns, compiled.

    Attributes:
        rows: columns symbol, field, absent, capture, first, child, next, other, words.
        starts: per pattern its first row.
        words: lists of texts that a node may have, or where `words` is -2 and less, may not.
    """

    rows: list[list[int]]
    starts: list[int]
    words: list[tuple[bytes, ...]]


def read_patterns(text: str) -> list[Node]:
    """The patterns of a query, in order; what begins with alternatives is one pattern each."""
    reader = _Reader(_TOKEN.findall(text))
    out: list[Node] = []
    while reader.left:
        out += reader.item()
    return out


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]

    @property
    def left(self) -> bool:
        return bool(self._tokens)

    def _next(self) -> str:
        return self._tokens.pop()

    def _at(self, start: str) -> bool:
        return bool(self._tokens) and self._tokens[-1].startswith(start)

    def item(self) -> list[Node]:
        """A node or alternatives, with the captures after it."""
        opening = self._next()
        if opening == "(":
            found = [self._node()]
        elif opening == "[":
            found = []
            while not self._at("]"):
                found += self.item()
            self._next()
        elif opening.startswith('"'):
            found = [Node(opening)]
        else:
            raise CodeError(f"a pattern must begin with ( or [, got {opening!r}")
        while self._at("@"):
            capture = self._next()[1:]
            for node in found:
                node.capture = capture
        return found

    def _node(self) -> Node:
        node = Node(self._next())
        anchored = False
        texts: dict[str, tuple[bool, tuple[bytes, ...]]] = {}
        while not self._at(")"):
            if self._at("("):
                if self._tokens[-2].startswith("#"):
                    texts.update([self._predicate()])
                    continue
                self._child(node, "", first=anchored)
                anchored = False
            elif self._at("[") or self._at('"'):
                self._child(node, "", first=anchored)
                anchored = False
            elif self._at("."):
                self._next()
                anchored = True
            elif self._at("!"):
                node.absent = self._next()[1:]
            else:
                self._child(node, self._next()[:-1], first=anchored)
                anchored = False
        self._next()
        _restrict(node, texts)
        return node

    def _child(self, node: Node, name: str, *, first: bool) -> None:
        found = self.item()
        for child in found:
            child.place = name
            child.first = first
        node.children.append(found)

    def _predicate(self) -> tuple[str, tuple[bool, tuple[bytes, ...]]]:
        self._next()
        forbids = self._next().startswith("#not-")
        capture = self._next()[1:]
        words = []
        while not self._at(")"):
            words.append(self._next().strip('"').encode())
        self._next()
        return capture, (forbids, tuple(words))


def _restrict(node: Node, texts: Mapping[str, tuple[bool, tuple[bytes, ...]]]) -> None:
    """Gives the nodes that predicates speak of the texts that they may have, or may not."""
    for heads in node.children:
        for child in heads:
            if child.capture in texts:
                child.forbids, child.words = texts[child.capture]
                if child.capture.startswith("_"):
                    child.capture = ""
            _restrict(child, texts)


def compile_patterns(
    patterns: list[Node],
    symbol: Callable[[str], int],
    field: Callable[[str], int],
    captures: Mapping[str, int],
) -> Steps:
    """Patterns as rows of numbers.

    Args:
        symbol, field: numbers of the grammar by name, 0 where it has none.
        captures: bits by name.

    Raises:
        CodeError: a name that the grammar does not have.
    """

    def known(number: int, name: str, what: str) -> int:
        if not number:
            raise CodeError(f"the installed grammar has no {what} {name!r}; install another version of it")
        return number

    steps = Steps([], [], [])

    def add(heads: list[Node], after: list[list[Node]]) -> int:
        """Adds alternatives and what follows them among their siblings; the first one's row."""
        following = add(after[0], after[1:]) if after else -1
        other = -1
        for node in reversed(heads):
            child = add(node.children[0], node.children[1:]) if node.children else -1
            words = -1
            if node.words:
                words = -2 - len(steps.words) if node.forbids else len(steps.words)
                steps.words.append(node.words)
            steps.rows.append([
                0 if node.symbol == "_" else known(symbol(node.symbol), node.symbol, "node"),
                known(field(node.place), node.place, "field") if node.place else 0,
                known(field(node.absent), node.absent, "field") if node.absent else 0,
                captures[node.capture] if node.capture else -1,
                int(node.first), child, following, other, words,
            ])  # fmt: skip
            other = len(steps.rows) - 1
        return other

    for pattern in patterns:
        steps.starts.append(add([pattern], []))
    return steps
