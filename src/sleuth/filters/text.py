"""Filters as compact text, for command lines and search boxes.

    year>=2020 lang:en,de -draft:true path:docs/ title:"a b" (author:Ann OR author:Bob)

Grammar, in order of binding; blanks separate and otherwise mean nothing:

    filter   = all {"OR" all}                     any of
    all      = term {["AND"] term}                all of
    term     = {"-" | "NOT"} (compare | "(" filter ")")
    compare  = key ":" pattern
             | key ("=" | "!=") value {"," value} [","]
             | key (">" | ">=" | "<" | "<=") value
             | key "!=" "*"                       the key is missing or null
    pattern  = value {"," value} [","]            equal to it, or to one of them; "a," is a list of one
             | "*"                                the key exists
             | value "*"                          begins with value
             | value that ends in "/"             lies in that folder: begins with it
             | "~" value                          equal without case
             | "*" value "*"                      has it as a substring
             | "[" value "]"                      is a list with that element
    value    = true | false | number as in JSON | word | string in double quotes, with JSON's escapes
    key      = word | string in double quotes

A word has no blanks and none of `"()[]{},*`, and does not begin with one of `<>=!`; as a key it has no
`:=!<>` and begins neither with `-` nor with `AND-`, `OR-` or `NOT-`. After a colon, a value that begins with `~` is
quoted. Quoted values are always strings: `year:2020` is the number, `year:"2020"` the string. A sign may follow a
colon (`year:>=2020`). Text that begins with `{` is read as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NoReturn

from sleuth.errors import FilterError
from sleuth.filters.tree import MAX_DEPTH, REVERSED_ORDERS, And, Compare, Filter, Not, Operator, Or, Scalar

_BLANK: Final = re.compile(r"\s*")
_KEY: Final = re.compile(r'[^\s"()\[\]{},*:=!<>\-][^\s"()\[\]{},*:=!<>]*')
_KEYWORD: Final = re.compile("(?:AND|OR|NOT)-")
_WORD: Final = re.compile(r'[^\s"()\[\]{},*<>=!][^\s"()\[\]{},*]*')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OPERATOR: Final = re.compile(r":?(>=|<=|!=|>|<|=)|:")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DIGITS: Final = 100
"""Characters of an integer that is read at all; 20 hold one of 64 bits."""
_NAMES: Final[Mapping[str, Operator]] = {
    "=": "eq",
    "!=": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
}
_SIGNS: Final = {name: sign for sign, name in _NAMES.items()}


@lru_cache(maxsize=32)
def from_text(text: str) -> Filter:
    """Return the tree of a non-blank text.

    Raises:
        FilterError: it is not a filter; `where` is the column, counted from 1.
    """
    return _Reader(text).read()


def to_text(filter: Filter) -> str:
    """Return the text that `from_text` reads as exactly this tree."""
    if isinstance(filter, And | Or):
        return (" " if isinstance(filter, And) else " OR ").join(map(_grouped, filter.parts))
    if isinstance(filter, Not):
        return "-" + _grouped(filter.part)
    key = filter.key
    if not _KEY.fullmatch(key) or _KEYWORD.match(key):
        key = json.dumps(key, ensure_ascii=False)
    return key + _condition(filter)


def negation_refused(test: Compare) -> str:
    """Why a system without "not" and "exists" refuses the negation of a comparison, and what it takes instead."""
    why = f"the negation of {test.operator!r}, which holds where the key is missing"
    if test.operator not in REVERSED_ORDERS:
        return why
    instead = Compare(test.key, REVERSED_ORDERS[test.operator], test.value)
    return f"{why} ({to_text(instead)} does not)"


class _Reader:
    """A recursive descent over the text; `at` is the offset of the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip_blanks()

    def read(self) -> Filter:
        tree = self.any(1)
        if self.at < len(self.text):
            self.fail("filter must end here or go on with a comparison")
        return tree

    def any(self, level: int) -> Filter:
        parts = [self.all(level)]
        while self.keyword("OR"):
            parts.append(self.all(level))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def all(self, level: int) -> Filter:
        parts = [self.term(level)]
        while self.keyword("AND") or not self.at_end_of_all():
            parts.append(self.term(level))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def at_end_of_all(self) -> bool:
        return self.at >= len(self.text) or self.text[self.at] == ")" or self.sees("OR")

    def term(self, level: int) -> Filter:
        if level > MAX_DEPTH:
            self.fail(f"filter must be nested at most {MAX_DEPTH} deep")
        if self.take("-") or self.keyword("NOT"):
            return Not(self.term(level + 1))
        start = self.at
        if self.take("("):
            tree = self.any(level + 1)
            if not self.take(")"):
                self.fail("a parenthesis that opens here must be closed", start)
            return tree
        tree = self.compare()
        self.skip_blanks()
        return tree

    def compare(self) -> Filter:
        start = self.at
        key = self.quoted() if self.text[self.at : self.at + 1] == '"' else self.match(_KEY)
        sign = self.match(_OPERATOR) if key is not None else None
        if key is None or sign is None:
            rule = (
                'a comparison must be written as key:value, key>=value or the like, with blanks in "quotes"'
            )
            self.fail(rule, start)
        try:
            if sign == ":":
                return self.pattern(key)
            return self.signed(key, _NAMES[sign.removeprefix(":")])
        except FilterError as error:
            if error.where:
                raise
            raise FilterError(str(error), where=f"column {start + 1}") from None

    def signed(self, key: str, name: Operator) -> Compare:
        """Read what follows a sign; a list makes = and != test membership, and only != accepts a star."""
        if name == "ne" and self.text[self.at : self.at + 1] == "*":
            self.at += 1
            return Compare(key, "exists", False)
        if name in ("eq", "ne"):
            return self.listed(key, name, self.value())
        return Compare(key, name, self.value())

    def pattern(self, key: str) -> Compare:
        if self.match_char("*"):
            if self.at >= len(self.text) or self.text[self.at] in ") " or self.text[self.at].isspace():
                return Compare(key, "exists", True)
            text = self.string()
            if not self.match_char("*"):
                self.fail("a substring must be written with a star on both sides, *like this*")
            return Compare(key, "substring", text)
        if self.match_char("~"):
            return Compare(key, "ieq", self.string())
        if self.match_char("["):
            element = self.value()
            if not self.match_char("]"):
                self.fail("a bracket must hold one value and be closed")
            return Compare(key, "contains", element)
        start = self.at
        text, is_quoted = self.string(), self.text[start] == '"'
        if self.match_char("*") or (text.endswith("/") and not is_quoted):
            if self.text[self.at : self.at + 1] == ",":
                self.fail("a prefix must stand alone, as in (path:docs/ OR path:src/)", start)
            return Compare(key, "prefix", text)
        self.at = start
        return self.listed(key, "eq", self.value())

    def listed(self, key: str, name: Operator, first: Scalar) -> Compare:
        """Read a comparison with one value, or with the list that goes on after a comma."""
        values = [first]
        is_list = False
        while self.match_char(","):
            is_list = True
            if self.at < len(self.text) and not self.text[self.at].isspace() and self.text[self.at] != ")":
                values.append(self.value())
        if not is_list:
            return Compare(key, name, first)
        return Compare(key, "in" if name == "eq" else "nin", tuple(values))

    def value(self) -> Scalar:
        is_quoted = self.text[self.at : self.at + 1] == '"'
        text = self.string()
        return text if is_quoted else _scalar(text)

    def string(self) -> str:
        word = self.quoted() if self.text[self.at : self.at + 1] == '"' else self.match(_WORD)
        if word is None:
            self.fail('a value must be a word or a "quoted" string')
        return word

    def quoted(self) -> str:
        start, literal = self.at, self.match(_QUOTED)
        if literal is None:
            self.fail("a quote that opens here must be closed")
        try:
            return str(json.loads(literal, strict=False))
        except ValueError:
            self.fail("escapes in quotes must be those of JSON", start)

    def match(self, pattern: re.Pattern[str]) -> str | None:
        result = pattern.match(self.text, self.at)
        if result is None:
            return None
        self.at = result.end()
        return result.group()

    def match_char(self, char: str) -> bool:
        is_there = self.text.startswith(char, self.at)
        self.at += is_there
        return is_there

    def take(self, char: str) -> bool:
        is_there = self.match_char(char)
        self.skip_blanks()
        return is_there

    def sees(self, word: str) -> bool:
        """Return whether this keyword stands here: the word alone, since `OR:5` compares a key."""
        sign_after = self.text[self.at + len(word) : self.at + len(word) + 1]
        return self.text.startswith(word, self.at) and (
            not sign_after or sign_after.isspace() or sign_after in '()-"'
        )

    def keyword(self, word: str) -> bool:
        is_there = self.sees(word)
        if is_there:
            self.at += len(word)
            self.skip_blanks()
        return is_there

    def skip_blanks(self) -> None:
        self.match(_BLANK)

    def fail(self, rule: str, at: int | None = None) -> NoReturn:
        start = self.at if at is None else at
        unread = self.text[start : start + 20]
        raise FilterError(f"{rule}, got {unread!r}", where=f"column {start + 1}")


def _scalar(word: str) -> Scalar:
    if word in ("true", "false"):
        return word == "true"
    number = _NUMBER.fullmatch(word)
    if number is None:
        return word
    if any(number.groups()):
        return float(word)
    return integer(word)


def integer(digits: str) -> int:
    """Return the integer that these digits spell; refuse more digits than Python converts."""
    if len(digits) > _DIGITS:
        raise FilterError(
            f"a number must be an integer of at most 64 bits, got one of {len(digits):,} digits"
        )
    return int(digits)


def _grouped(filter: Filter) -> str:
    text = to_text(filter)
    return f"({text})" if isinstance(filter, And | Or) else text


def _condition(test: Compare) -> str:
    name, value = test.operator, test.value
    if isinstance(value, tuple):
        values = ",".join(map(_value, value)) + ("," if len(value) == 1 else "")
        return (":" if name == "in" else "!=") + values
    if name == "exists":
        return ":*" if value else "!=*"
    if name == "contains":
        return f":[{_value(value)}]"
    if name in ("ieq", "prefix", "substring"):
        return _part(name, str(value))
    return (":" if name == "eq" else _SIGNS[name]) + _value(value)


def _part(name: str, text: str) -> str:
    is_plain = _WORD.fullmatch(text) and not text.startswith("~")
    word = text if is_plain else json.dumps(text, ensure_ascii=False)
    if name == "ieq":
        return f":~{word}"
    if name == "substring":
        return f":*{word}*"
    return f":{word}" if word.endswith("/") else f":{word}*"


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    is_special = value.endswith("/") or value.startswith("~")
    is_plain = _WORD.fullmatch(value) and not is_special and isinstance(_scalar(value), str)
    return value if is_plain else json.dumps(value, ensure_ascii=False)
