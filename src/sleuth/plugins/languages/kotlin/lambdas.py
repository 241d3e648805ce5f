"""Finds what `this` and `it` are in the lambdas of Kotlin: `with(x) { .. }`, `x.apply { .. }`, `items.map { it.y }`."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.code.language import (
    NameRules,
    Site,
    Type,
    element_of,
    parameter_types,
    split_outside,
    type_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, NameResolver, Reference

_TOKEN: Final = re.compile(
    r'"""[^"]*+(?>(?:"(?!"")[^"]*+)*)(?:"""|\Z)|"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"?|\'[^\'\\\n]*+(?>(?:\\.[^\'\\\n]*+)*)\'?'
    r"|//[^\n]*+|/\*[^*]*+(?>(?:\*(?!/)[^*]*+)*)(?:\*/|\Z)|[{}]"
)
"""Braces outside of strings and comments, which are matched whole."""
_WORD: Final = re.compile(r"(?<![\w.])\w++")
_NAME: Final = re.compile(r"\w++")
_RECEIVER: Final = re.compile(r"[\w\s.<>?,*]*+")
_PARAMETERS: Final = re.compile(r"[\w\s,:.<>?()]*+->")
_BLOCK: Final = re.compile(
    r"\(?(?:suspend\s++)?(?:(?P<this>[\w<>*?]++(?>(?:\.[\w<>*?]++)*))\.)?\((?P<it>[^()]*+)\)\s*+=>"
)
_HEAD: Final = 2_000
"""Characters before a lambda in which the call that takes it begins."""
_MOST_FILES: Final = 500
_OF_OBJECT: Final = {
    "apply": "this",
    "run": "this",
    "let": "it",
    "also": "it",
    "takeIf": "it",
    "takeUnless": "it",
}
"""Functions of any object, with what the object is called in their lambda."""
_OF_ELEMENT_NAMES: Final = """
all any associate associateBy associateWith count filter filterNot find first firstOrNull flatMap forEach groupBy
indexOfFirst last lastOrNull map mapNotNull maxBy minBy none onEach partition single sortedBy sumBy takeWhile
"""
_OF_ELEMENTS: Final = frozenset(_OF_ELEMENT_NAMES.split())
"""Functions of Kotlin's collections whose lambda takes an element."""


class Lambda(NamedTuple):
    """A lambda that a call takes.

    Attributes:
        start, end: places of its braces in the text.
        call: of the function that takes it; `argument` is the text in the brackets of the call.
        parameter: the name of its only parameter: `it` where it names none, "" where it names several.
    """

    start: int
    end: int
    call: Reference
    argument: str
    parameter: str


class Lambdas(NameRules):
    """The lambdas of one snapshot, with the types of `this` and of their parameter. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._text = lru_cache(_MOST_FILES)(self._read_text)

    def receivers(self, file: FileRow, line: int, word: str) -> Iterator[Type]:
        """Yield the types of `this` in the lambdas around the first use of a word in a line, innermost first."""
        for lambda_block in self._text(file).around(line, word):
            receiver = self._type(file, lambda_block, "this")
            if receiver is not None:
                yield receiver

    def parameter(self, site: Site, name: str, depth: int) -> Type | None:
        """Return the type of the parameter of a lambda, such as `it`, by its first use in a line."""
        for lambda_block in self._text(site.file).around(site.line, name):
            if lambda_block.parameter == name:
                return self._type(site.file, lambda_block, "it")
        return None

    def _read_text(self, file: FileRow) -> _Text:
        detail = self.snapshot.detail(file)
        return _Text(detail.source.decode("utf-8", "replace"), detail.references)

    def _type(self, file: FileRow, each: Lambda, name: str) -> Type | None:
        """Return the type of `this` or of `it` in a lambda; None where it depends on itself."""
        under_way, key = self.resolver.state.under_way, ("lambda", file.key, each.start, name)
        if key in under_way:
            return None
        under_way.add(key)
        try:
            return self._taken_by_call(file, each, name)
        finally:
            under_way.discard(key)

    def _taken_by_call(self, file: FileRow, each: Lambda, name: str) -> Type | None:
        """Return the type that the called function gives to `this` or to `it`."""
        call, site = each.call, Site(file, each.call.symbol, each.call.line)
        if not call.qualifier:
            if call.name == "with":
                return self.resolver.inference.type_of(each.argument, site) if name == "this" else None
        elif call.name in _OF_OBJECT:
            is_meant = name == _OF_OBJECT[call.name]
            return self.resolver.inference.type_of(call.qualifier, site) if is_meant else None
        elif name == "it" and call.name in _OF_ELEMENTS:
            items = self.resolver.inference.type_of(call.qualifier, site)
            return items._replace(text=element_of(items.text), owner=None) if items is not None else None
        return self._declared(file, each, name)

    def _declared(self, file: FileRow, each: Lambda, name: str) -> Type | None:
        """Return the type that the called function declares for the lambda, its last parameter."""
        target = self.resolver.resolve(file, each.call)
        if target is None or target.confidence < 0.5:
            return None
        called = target.definition
        signature = called.symbol.signature.replace("->", "=>")
        block = _BLOCK.match((parameter_types(signature) or [""])[-1])
        text = ((block[name] or "") if block is not None else "").strip()
        if not text:
            return None
        if text not in type_parameters(signature, called.symbol.name):
            return Type(text, Site(called.file, called.index, called.symbol.line))
        if each.call.qualifier and text == extended_type(signature, called.symbol.name):
            site = Site(file, each.call.symbol, each.call.line)
            return self.resolver.inference.type_of(each.call.qualifier, site)
        return None


class _Text:
    """The text of a file with its lambdas, by place."""

    def __init__(self, text: str, references: Sequence[Reference]) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._calls = {(use.line, use.name): use for use in references if use.role == "call"}
        self._lambdas = sorted(self._all())
        self._outer: list[int] = []  # of each lambda the one around it, or -1
        for at, lambda_block in enumerate(self._lambdas):
            outer = at - 1
            while outer >= 0 and self._lambdas[outer].end < lambda_block.start:
                outer = self._outer[outer]
            self._outer.append(outer)

    def around(self, line: int, word: str) -> list[Lambda]:
        """Return the lambdas around the first use of a word in a line, innermost first."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        words = _WORD.finditer(self._text, start, end)
        at = next((match.start() for match in words if match[0] == word), start)
        inner = bisect_right(self._lambdas, at, key=lambda lambda_block: lambda_block.start) - 1
        chain = []
        while inner >= 0:
            chain.append(self._lambdas[inner])
            inner = self._outer[inner]
        return [lambda_block for lambda_block in chain if at < lambda_block.end]

    def _all(self) -> Iterator[Lambda]:
        braces: list[int] = []
        for token in _TOKEN.finditer(self._text):
            if token[0] == "{":
                braces.append(token.start())
            elif token[0] == "}" and braces:
                yield from self._taken(braces.pop(), token.start())

    def _taken(self, start: int, end: int) -> Iterator[Lambda]:
        """Yield the lambda of a pair of braces, if a call takes it."""
        base = max(0, start - _HEAD)
        head, argument = self._text[base:start].rstrip(), ""
        if head.endswith(")"):
            opening = _opening_of(head, "(", ")")
            head, argument = head[:opening].rstrip(), head[opening + 1 : -1]
        if head.endswith(">"):
            head = head[: _opening_of(head, "<", ">")].rstrip()
        match = _NAME.match(head[::-1])
        if match is None:
            return
        name = match[0][::-1]
        prefix = head.removesuffix(name)
        _, function, receiver = prefix[-100:].rpartition("fun ")
        if function and _RECEIVER.fullmatch(receiver):  # the body of a function of that name
            return
        call = self._calls.get((bisect_right(self._starts, base + len(prefix)), name))
        if call is not None:
            names = _PARAMETERS.match(self._text[start + 1 : min(end, start + _HEAD)])
            parameter = "it" if names is None else names[0].partition(":")[0].removesuffix("->").strip()
            yield Lambda(start, end, call, argument, parameter if parameter.isidentifier() else "")


def _opening_of(text: str, opening: str, closing: str) -> int:
    """Return the place of the bracket that the last one closes; 0 where it is not there."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == closing) - (text[at] == opening)
        if not depth:
            return at
    return 0


def extended_type(signature: str, name: str) -> str:
    """Return the type that a function extends: `List<A>` of `fun List<A>.name(`, or ""."""
    head, bracket, _ = signature.partition(f".{name}(")
    words = split_outside(head.replace("->", "⇒"), " ")
    return words[-1] if bracket and len(words) > 1 else ""
