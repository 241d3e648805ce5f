"""Edits one entry of a JSON or TOML settings file and leaves every other byte as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sleuth.errors import ArgumentError

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}"/]+')


@dataclass(slots=True)
class _Value:
    """A value of a JSON document, or an object with its members.

    Attributes:
        start, end: of its text.
        members: by key; each with the start of its key.
    """

    start: int
    end: int = 0
    members: dict[str, tuple[int, _Value]] = field(default_factory=dict)
    is_object: bool = False


class _Scanner:
    """Finds where the values of a JSON document stand; comments and trailing commas are allowed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> _Value:
        node = self.value()
        self.blank()
        if self.at != len(self.text):
            self.fail()
        return node

    def value(self) -> _Value:
        self.blank()
        node = _Value(self.at)
        opening = self.text[self.at : self.at + 1]
        if opening in ("{", "["):
            node.is_object = opening == "{"
            self.at += 1
            self.inside(node, "}" if node.is_object else "]")
        else:
            self.scalar()
        node.end = self.at
        return node

    def inside(self, node: _Value, closing: str) -> None:
        while not self.take(closing):
            if node.is_object:
                begin = self.at
                key = json.loads(self.scalar())
                if not self.take(":"):
                    self.fail()
                node.members[key] = begin, self.value()
            else:
                self.value()
            if not self.take(",") and self.text[self.at : self.at + 1] != closing:
                self.fail()

    def scalar(self) -> str:
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            self.fail()
            raise AssertionError
        try:
            json.loads(match[0])
        except ValueError:
            self.fail()
        self.at = match.end()
        return match[0]

    def take(self, char: str) -> bool:
        self.blank()
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def fail(self) -> None:
        line = self.text.count("\n", 0, self.at) + 1
        raise ArgumentError(
            f"the settings must be JSON; line {line} is not: mend it, or add the entry by hand"
        )


def set_json(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the document with a value at a path of keys; objects on the way are made where they are missing.

    Raises:
        ArgumentError: not JSON, or the path leads through something else than objects.
    """
    if not text.strip():
        text = "{\n}\n"
    node, depth = _Scanner(text).document(), 0
    while node.is_object and depth < len(path) and path[depth] in node.members:
        _, node = node.members[path[depth]]
        depth += 1
    indent = "  "
    if depth == len(path):
        return text[: node.start] + _shown(value, indent * depth) + text[node.end :]
    if not node.is_object:
        raise ArgumentError(f"{'.'.join(path[:depth]) or 'the settings'} must be a JSON object")
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    entry = f"{json.dumps(path[depth])}: {_shown(value, indent * (depth + 1))}"
    line = f"\n{indent * (depth + 1)}{entry}"
    if node.members:
        last = max(child.end for _, child in node.members.values())
        if comma := re.match(r"\s*,", text[last:]):
            last += comma.end()
            return f"{text[:last]}{line},{text[last:]}"
        return f"{text[:last]},{line}{text[last:]}"
    rest = text[node.start + 1 : node.end - 1].strip()
    comment = f"\n{indent * (depth + 1)}{rest}" if rest else ""
    return f"{text[: node.start]}{{{comment}{line}\n{indent * depth}}}{text[node.end :]}"


def remove_json(text: str, path: Sequence[str]) -> str:
    """Return the document without the member at a path of keys; unchanged where there is none.

    Raises:
        ArgumentError: not JSON.
    """
    if not text.strip():
        return text
    node, begin = _Scanner(text).document(), 0
    for key in path:
        if key not in node.members:
            return text
        begin, node = node.members[key]
    before, after = text[:begin], text[node.end :]
    later = re.match(r"\s*,", after)
    if later is not None:
        return before.rstrip() + after[later.end() :]
    before = before.rstrip()
    return before.removesuffix(",") + after


def set_toml(text: str, table: str, value: Mapping[str, Any]) -> str:
    """Return the document with a table such as `mcp_servers.sleuth`; one that is there is replaced.

    Raises:
        ArgumentError: not TOML, or the table is written in a form that is not a header.
    """
    rest = remove_toml(text, table).rstrip("\n")
    lines = [
        f"[{table}]",
        *(f"{key} = {json.dumps(item, ensure_ascii=False)}" for key, item in value.items()),
    ]
    return "\n".join([*([rest, ""] if rest else []), *lines]) + "\n"


def remove_toml(text: str, table: str) -> str:
    """Return the document without a table and those below it; unchanged where there is none.

    Raises:
        ArgumentError: not TOML, or the table is written in a form that is not a header.
    """
    _load_toml(text)
    lines, remaining, inside = text.splitlines(keepends=True), [], False
    for line in lines:
        if line.lstrip().startswith("["):
            name = line.strip().split("#", 1)[0].strip().strip("[] ")
            inside = name == table or name.startswith(f"{table}.")
        if not inside:
            remaining.append(line)
    without = "".join(remaining)
    value: Any = _load_toml(without)
    for key in table.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is not None:
        raise ArgumentError(f"{table} must be a table with a header of its own, [{table}]: edit it by hand")
    return without


def _load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"the settings must be TOML, and are not: {error}") from None


def _shown(value: Mapping[str, Any], indent: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")
