"""Edits one entry of a JSON or TOML settings file and leaves every other byte as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError, MissingPackageError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tree_sitter import Node, Parser

_INDENT = "  "
_JSON_NODES = {
    *("program", "expression_statement", "parenthesized_expression", "comment", "object", "pair", "array"),
    *("string", "string_fragment", "escape_sequence", "number", "unary_expression", "true", "false", "null"),
}
"""Node types of the JavaScript grammar that occur in JSON with comments."""


def set_json(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the document with a value at a path of keys; missing objects on the path are created.

    Comments and trailing commas are allowed.

    Raises:
        ArgumentError: not JSON, or the path leads through something other than objects.
    """
    settings = _JsonText(text if text.strip() else "{\n}\n")
    node = settings.value
    for depth, key in enumerate(path):
        if node.type != "object":
            raise ArgumentError(f"{'.'.join(path[:depth]) or 'the settings'} must be a JSON object")
        pair = settings.pairs(node).get(key)
        if pair is None:
            return settings.with_member(node, path[depth:], value, depth)
        node = _value_of(pair)
    return settings.replace(node.start_byte, node.end_byte, _dump(value, len(path)))


def read_json(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path of keys; None if there is no such member, its text if comments are in it.

    Raises:
        ArgumentError: not JSON.
    """
    if not text.strip():
        return None
    settings = _JsonText(text)
    pair = settings.member(path)
    return None if pair is None else settings.read(_value_of(pair))


def remove_json(text: str, path: Sequence[str]) -> str:
    """Return the document without the member at a path of keys; unchanged if there is no such member.

    Raises:
        ArgumentError: not JSON.
    """
    if not text.strip():
        return text
    settings = _JsonText(text)
    pair = settings.member(path)
    return text if pair is None else settings.without(pair)


def set_toml(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return the document with a table at a path of keys; an existing table is replaced.

    Raises:
        ArgumentError: not TOML, the path leads through something other than tables, or the entry is written with dotted
            keys, which tomlkit replaces by a table that also takes the lines after it.
    """
    import tomlkit

    document = _parse_toml(text)
    node: Any = document
    for depth, key in enumerate(path[:-1]):
        if key not in node:
            node.add(key, tomlkit.table(is_super_table=True))
        node = node[key]
        if not isinstance(node, Mapping):
            raise ArgumentError(f"{'.'.join(path[: depth + 1])} must be a TOML table")
    if node.get(path[-1]) != value:
        node[path[-1]] = dict(value)
    new_text = document.as_string()
    if tomllib.loads(new_text) != document.unwrap():
        raise ArgumentError(
            f"{'.'.join(path)} must be a table with a header of its own, [{'.'.join(path)}]: edit it by hand"
        )
    return new_text


def read_toml(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path of keys; None if there is no such table.

    Raises:
        ArgumentError: not TOML.
    """
    value: Any = _parse_toml(text).unwrap()
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def remove_toml(text: str, path: Sequence[str]) -> str:
    """Return the document without the table at a path of keys; unchanged if there is no such table.

    Raises:
        ArgumentError: not TOML.
    """
    document = _parse_toml(text)
    node: Any = document
    for key in path[:-1]:
        node = node.get(key) if isinstance(node, Mapping) else None
    if not isinstance(node, dict) or path[-1] not in node:
        return text
    del node[path[-1]]
    return document.as_string()


class _JsonText:
    """JSON with comments as text, and the places of its values.

    tree-sitter's grammar of JavaScript reads the text as an expression in parentheses: it knows comments and trailing
    commas, which the grammar of JSON does not.

    Attributes:
        value: the node of the one value of the document.
    """

    def __init__(self, text: str) -> None:
        self._source = f"({text}\n)".encode()
        root = _parser().parse(self._source).root_node
        for node in _walk(root):
            is_wrong = node.is_error or node.is_missing or (node.is_named and node.type not in _JSON_NODES)
            if is_wrong or (node.type == "string" and not self._text(node).startswith(b'"')):
                line = node.start_point.row + 1
                raise ArgumentError(
                    f"the settings must be JSON; line {line} is not: mend it, or add the entry by hand"
                )
        values = [
            node for node in _walk(root) if node.parent and node.parent.type == "parenthesized_expression"
        ]
        self.value = next(node for node in values if node.is_named and node.type != "comment")

    def pairs(self, node: Node) -> dict[str, Node]:
        """Return the members of an object by key; none for another value."""
        if node.type != "object":
            return {}
        pairs = [child for child in node.named_children if child.type == "pair"]
        return {json.loads(self._text(pair.child_by_field_name("key"))): pair for pair in pairs}

    def member(self, path: Sequence[str]) -> Node | None:
        """Return the member at a path of one or more keys; None if there is no such member."""
        node, pair = self.value, None
        for key in path:
            pair = self.pairs(node).get(key)
            if pair is None:
                return None
            node = _value_of(pair)
        return pair

    def read(self, node: Node) -> Any:
        """Return a value; its text if comments or trailing commas are in it."""
        text = self._text(node).decode()
        try:
            return json.loads(text)
        except ValueError:
            return text

    def _text(self, node: Node | None) -> bytes:
        return self._source[node.start_byte : node.end_byte] if node else b""

    def replace(self, start: int, end: int, text: str) -> str:
        """Return the document with other text in place of the bytes from `start` to `end`."""
        source = self._source[:start] + text.encode() + self._source[end:]
        return source[1:-2].decode()

    def with_member(self, node: Node, path: Sequence[str], value: Mapping[str, Any], depth: int) -> str:
        """Return the document with a new last member of an object that lies `depth` objects deep."""
        for key in reversed(path[1:]):
            value = {key: value}
        line = f"\n{_INDENT * (depth + 1)}{json.dumps(path[0])}: {_dump(value, depth + 1)}"
        pairs = list(self.pairs(node).values())
        if not pairs:
            inside = self._source[node.start_byte + 1 : node.end_byte - 1].decode().strip()
            comment = f"\n{_INDENT * (depth + 1)}{inside}" if inside else ""
            return self.replace(node.start_byte, node.end_byte, f"{{{comment}{line}\n{_INDENT * depth}}}")
        comma = pairs[-1].next_sibling
        if comma is not None and comma.type == ",":
            return self.replace(comma.end_byte, comma.end_byte, f"{line},")
        end = pairs[-1].end_byte
        return self.replace(end, end, f",{line}")

    def without(self, pair: Node) -> str:
        """Return the document without a member of an object, and without the space and one comma around it."""
        start = len(self._source[: pair.start_byte].rstrip())
        comma = pair.next_sibling
        if comma is not None and comma.type == ",":
            return self.replace(start, comma.end_byte, "")
        return self.replace(start - self._source[:start].endswith(b","), pair.end_byte, "")


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


def _walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it."""
    nodes = [node]
    while nodes:
        current = nodes.pop()
        yield current
        nodes.extend(current.children)


def _value_of(pair: Node) -> Node:
    """Return the value of a member; the grammar puts it last."""
    return pair.named_children[-1]


def _dump(value: Mapping[str, Any], depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{_INDENT * depth}")


def _parse_toml(text: str) -> TOMLDocument:
    try:
        import tomlkit
    except ImportError as error:
        raise MissingPackageError("tomlkit", "mcp", "sleuth mcp install codex") from error
    try:
        return tomlkit.parse(text)
    except tomlkit.exceptions.ParseError as error:
        raise ArgumentError(f"the settings must be TOML, and are not: {error}") from None
