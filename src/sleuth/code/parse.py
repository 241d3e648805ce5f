r"""What does this file define, what does it refer to, and where may it be cut?

`parse_source` turns text into symbols, references and imports; `sleuth.code.chunks` cuts it. Lines are those that
`\n` ends, numbered from 1. A tree with errors is used for what it still shows: tree-sitter keeps the sound parts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sleuth.code.imports import Import, imports_of
from sleuth.code.languages import LANGUAGES, Language, parser, query

if TYPE_CHECKING:
    from tree_sitter import Node

CONTAINERS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "module"})
_TYPES = CONTAINERS - {"module", "impl"}
_CALLS_WITH_PARTS = frozenset(
    {"method_invocation", "call", "member_call_expression", "scoped_call_expression"}
)
_SEPARATORS = re.compile(r"\.|::|->|\\|\?\.")
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_MAX_SIGNATURE = 300
_MAX_QUALIFIER = 80


class Symbol(NamedTuple):
    """A definition.

    Attributes:
        name: as written; `qualified` joins it to its containers with dots.
        kind: class, interface, struct, enum, trait, impl, module, function, method, property, constant, attribute,
            type or macro.
        signature: the head of the definition on one line, at most 300 characters.
        doc: its docstring or the comment before it, without comment marks.
        start, end: lines, 1-based, inclusive; decorators and the comment before it belong to it.
        line: where its name stands.
        parent: position of its container in the list of symbols, -1 where it has none.
        labels: what kind of code this is, for people and filters.
    """

    name: str
    qualified: str
    kind: str
    signature: str
    doc: str
    start: int
    end: int
    line: int
    parent: int
    labels: tuple[str, ...]


class Reference(NamedTuple):
    """A name that is used.

    Attributes:
        name: the last part, such as `charge`; `qualifier` is what stands before it, such as `stripe` or `self`.
        role: call, instantiation, inheritance, import or reference.
        symbol: position of the definition it stands in, -1 at the file's top.
    """

    name: str
    qualifier: str
    role: str
    line: int
    symbol: int


@dataclass(slots=True)
class Parsed:
    """A file, taken apart.

    Attributes:
        sound: False where the tree holds errors.
        cuts, root: per symbol the node it came from, and the tree's root, for cutting.
    """

    language: str
    symbols: list[Symbol] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    sound: bool = True
    cuts: list[Node] = field(default_factory=list)
    root: Node | None = None


class _Definition(NamedTuple):
    start: int
    end: int
    kind: str
    node: Node
    name: str
    name_byte: int


def parse_source(source: bytes, language: str, path: str = "") -> Parsed:
    """The symbols, references and imports of a file in a language that has a grammar.

    Args:
        source: UTF-8.
        language: a name in `LANGUAGES` with a package.
        path: decides what counts as a test or an entry point.
    """
    from tree_sitter import QueryCursor

    root = parser(language).parse(source).root_node
    captures = QueryCursor(query(language)).captures(root)
    lines = LineIndex(source)
    definitions = _definitions(captures, source, LANGUAGES[language])
    docs = [(n.start_byte, source[n.start_byte : n.end_byte]) for n in captures.get("doc", ())]
    parsed = Parsed(language, sound=not root.has_error, root=root)
    spans = _symbols(parsed, definitions, docs, source, lines, path)
    _references(parsed, captures, spans, source, lines)
    return parsed


class LineIndex:
    """Byte offsets to lines and back."""

    __slots__ = ("size", "starts")

    def __init__(self, source: bytes) -> None:
        self.starts: list[int] = [0, *(np.flatnonzero(np.frombuffer(source, np.uint8) == 10) + 1).tolist()]
        self.size = len(source)

    def line(self, byte: int) -> int:
        """The line of a byte, 1-based."""
        return bisect_right(self.starts, byte)

    def start(self, line: int) -> int:
        """The first byte of a line."""
        return self.starts[line - 1]

    def stop(self, line: int) -> int:
        """One past the last byte of a line, its newline left out."""
        return self.starts[line] - 1 if line < len(self.starts) else self.size

    def __len__(self) -> int:
        last = len(self.starts)
        return last - 1 if self.starts[-1] == self.size else last


def _definitions(captures: dict[str, list[Node]], source: bytes, language: Language) -> list[_Definition]:
    names = sorted((n.start_byte, n.end_byte) for n in captures.get("name", ()))
    name_starts = [start for start, _ in names]
    found: dict[tuple[int, int], _Definition] = {}
    for capture, nodes in captures.items():
        if not capture.startswith("def."):
            continue
        kind = capture[4:]
        for node in nodes:
            start, end = node.start_byte, node.end_byte
            earlier = found.get((start, end))
            if earlier is not None and (kind in ("constant", "type", "attribute") or earlier.kind == kind):
                continue
            at = _name_span(node, kind)
            if at is None:
                i = bisect_right(name_starts, start - 1)
                if i == len(names) or names[i][0] >= end:
                    continue
                at = names[i]
            text = source[at[0] : at[1]].decode("utf-8", "replace").strip("\"'`@")
            found[start, end] = _Definition(start, end, kind, node, text, at[0])
    out = []
    for d in found.values():
        start, end = d.start, d.end
        parent = d.node.parent if language.wrappers else None
        while parent is not None and parent.type in language.wrappers and _sole(parent, start):
            start, end = parent.start_byte, max(end, parent.end_byte)
            parent = parent.parent
        out.append(d._replace(start=start, end=end))
    out.sort(key=lambda d: (d.start, -d.end))
    return out


def _sole(wrapper: Node, start: int) -> bool:
    """Whether the definition at `start` is what the wrapper wraps: no other definition stands before it."""
    return not any(
        child.end_byte <= start and child.type.endswith(("_spec", "declarator", "_declaration"))
        for child in wrapper.named_children[:8]
    )


def _name_span(node: Node, kind: str) -> tuple[int, int] | None:
    name = node.child_by_field_name("name")
    if name is None and kind == "impl":
        name = node.child_by_field_name("type")
    if name is None and node.type == "companion_object":
        return node.start_byte, node.start_byte + 9
    if name is None:
        name = node.child_by_field_name("declarator") if node.type == "function_definition" else None
        while name is not None:
            inner = name.child_by_field_name("declarator")
            if inner is None and name.type == "reference_declarator":
                inner = name.named_children[-1] if name.named_children else None
            if inner is None:
                break
            name = inner
    return None if name is None else (name.start_byte, name.end_byte)


def _symbols(  # noqa: PLR0917 - one pass over what parsing gave
    parsed: Parsed,
    definitions: list[_Definition],
    docs: list[tuple[int, bytes]],
    source: bytes,
    lines: LineIndex,
    path: str,
) -> list[tuple[int, int]]:
    """Fills symbols and cuts; the byte span of each symbol, in order."""
    from sleuth.code.labels import labels_of

    spans = [(d.start, d.end) for d in definitions]
    doc_of = _docs_by_symbol(spans, docs)
    comment = LANGUAGES[parsed.language].comment
    stack: list[int] = []
    for i, d in enumerate(definitions):
        while stack and definitions[stack[-1]].end < d.end:
            stack.pop()
        parent = stack[-1] if stack else -1
        outer = parsed.symbols[parent] if parent >= 0 else None
        kind, name, qualified = _named(d, outer, source, parsed.language)
        first, lead = _leading_comment(source, lines, d.start, comment)
        doc = clean_doc(doc_of[i]) if i in doc_of else clean_comment(lead)
        signature = _signature(d, source)
        end = lines.line(max(d.start, d.end - 1))
        head = source[d.start : d.name_byte]
        labels = labels_of(kind, name, parsed.language, path, head, outer, signature)
        parsed.symbols.append(
            Symbol(name, qualified, kind, signature, doc, first, end, lines.line(d.name_byte), parent, labels)
        )
        parsed.cuts.append(d.node)
        stack.append(i)
    return spans


def _named(d: _Definition, outer: Symbol | None, source: bytes, language: str) -> tuple[str, str, str]:
    """Kind, name and qualified name of a definition inside `outer`."""
    kind = d.kind
    parts = [p for p in _SEPARATORS.split(_GENERIC.sub("", d.name)) if p and p not in ("prototype", "self")]
    name = parts[-1] if parts else d.name
    scope = ".".join(parts[:-1])
    if kind == "function" and outer is not None and outer.kind in _TYPES | {"impl"}:
        kind = "method"
    if kind == "function" and language == "ruby" and outer is not None and outer.kind == "module":
        kind = "method"
    if language == "go" and kind == "method":
        receiver = d.node.child_by_field_name("receiver")
        if receiver is not None:
            words = re.findall(rb"\w+", source[receiver.start_byte : receiver.end_byte].split(b"[")[0])
            scope = words[-1].decode() if words else ""
    elif scope and kind == "function" and language == "cpp":
        kind = "method"
    prefix = outer.qualified if outer is not None else ""
    return kind, name[:120], ".".join(p for p in (prefix, scope, name) if p)[:300]


def _docs_by_symbol(spans: list[tuple[int, int]], docs: list[tuple[int, bytes]]) -> dict[int, bytes]:
    """The innermost symbol around each docstring."""
    starts = [s for s, _ in spans]
    out: dict[int, bytes] = {}
    for at, text in docs:
        i = bisect_right(starts, at) - 1
        while i >= 0 and spans[i][1] < at:
            i -= 1
        if i >= 0:
            out.setdefault(i, text)
    return out


def _signature(d: _Definition, source: bytes) -> str:
    body = d.node.child_by_field_name("body")
    if body is None and d.kind in ("function", "method"):
        value = d.node.child_by_field_name("value") or d.node.child_by_field_name("right")
        body = value.child_by_field_name("body") if value is not None else None
    end = body.start_byte if body is not None else d.end
    start = d.node.start_byte
    text = source[start : min(end, start + 4 * _MAX_SIGNATURE)]
    if body is None:
        text = text.split(b"\n", 1)[0] if d.kind not in CONTAINERS else text.split(b"{", 1)[0]
    return " ".join(text.decode("utf-8", "replace").split()).rstrip("{:= ")[:_MAX_SIGNATURE]


def _leading_comment(source: bytes, lines: LineIndex, start: int, comment: str) -> tuple[int, list[str]]:
    """The first line of the comment that ends right above the line of byte `start`, and its text."""
    line = lines.line(start)
    if line < 2 or source[lines.start(line) : start].strip():
        return line, []
    mark = comment.encode()
    found: list[str] = []
    block = False
    first = line
    while first > 1 and line - first < 80:
        text = source[lines.start(first - 1) : lines.stop(first - 1)].strip()
        if block:
            block = not text.startswith(b"/*")
        elif text.endswith(b"*/") and mark == b"//":
            block = not text.startswith(b"/*")
            if block and not text.startswith(b"*"):
                break
        elif not (text.startswith((mark, b"///", b"#[", b"@")) and not text.startswith((b"#!", b"#include"))):
            break
        found.append(text.decode("utf-8", "replace"))
        first -= 1
    return (line, []) if block else (first, found[::-1])


_MARKS = re.compile(r"^\s*(?:/\*\*?|\*/|\*|///?!?|#|--)?\s?|\*/\s*$")


def clean_comment(text: list[str]) -> str:
    """Comment lines without their marks; attributes and decorators left out."""
    kept = [_MARKS.sub("", line).strip() for line in text if not line.startswith(("#[", "@"))]
    return "\n".join(kept).strip()


def clean_doc(text: bytes) -> str:
    """A string literal's text, without quotes and common indentation."""
    import inspect

    doc = text.decode("utf-8", "replace").lstrip("rRuUbBfF").strip("\"'")
    return inspect.cleandoc(doc).strip()


def _references(
    parsed: Parsed,
    captures: dict[str, list[Node]],
    spans: list[tuple[int, int]],
    source: bytes,
    lines: LineIndex,
) -> None:
    owner = _Owner(spans)
    seen: set[tuple[int, int]] = set()
    capitals = parsed.language in ("python", "kotlin", "scala")
    for capture, role in _ROLES:
        for node in captures.get(capture, ()):
            start = node.start_byte
            place = (start, node.end_byte)
            if place in seen:
                continue
            seen.add(place)
            name, qualifier = _used_name(node, source)
            if name:
                real = role
                if role == "call" and capitals and name[0].isupper() and not name.isupper():
                    real = "instantiation"
                elif role == "call" and name == "new" and parsed.language == "ruby" and qualifier:
                    qualifier, _, name = qualifier.rpartition("::")
                    real = "instantiation"
                parsed.references.append(Reference(name, qualifier, real, lines.line(start), owner(start)))
    nodes = captures.get("import", []) + captures.get("require", [])
    for node in sorted(nodes, key=lambda n: n.start_byte):
        scope = node.parent if node.type == "call_expression" else node
        text = source[(scope or node).start_byte : node.end_byte].decode("utf-8", "replace")
        line = lines.line(node.start_byte)
        at = owner(node.start_byte)
        for item in imports_of(text, parsed.language):
            parsed.imports.append(item._replace(line=line))
            name = item.name or item.module
            parsed.references.append(Reference(name, item.module if item.name else "", "import", line, at))
    parsed.references.sort(key=lambda r: r.line)


_ROLES = (
    ("ref.base", "inheritance"),
    ("ref.new", "instantiation"),
    ("ref.call", "call"),
    ("ref.name", "reference"),
)


class _Owner:
    """The innermost span around a byte; spans are sorted by start and nest."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._starts = [start for start, _ in spans]

    def __call__(self, byte: int) -> int:
        i = bisect_right(self._starts, byte) - 1
        steps = 0
        while i >= 0 and self._spans[i][1] <= byte:
            i -= 1
            steps += 1
            if steps > 400:
                return -1
        return i


def _used_name(node: Node, source: bytes) -> tuple[str, str]:
    """The last part of a used name and what stands before it."""
    if node.type in _CALLS_WITH_PARTS:
        part = node.child_by_field_name("name") or node.child_by_field_name("method")
        if part is None:
            return "", ""
        before = node.child_by_field_name("object") or node.child_by_field_name("receiver")
        before = before or node.child_by_field_name("scope")
        name = source[part.start_byte : part.end_byte].decode("utf-8", "replace")
        return name, "" if before is None else _short(source[before.start_byte : before.end_byte])
    text = source[node.start_byte : node.end_byte]
    if text.isalnum():
        return text.decode("utf-8", "replace"), ""
    whole = _short(text) if len(text) <= _MAX_QUALIFIER else _short(text[-_MAX_QUALIFIER:])
    whole = _GENERIC.sub("", whole) if "<" in whole else whole
    separators = list(_SEPARATORS.finditer(whole))
    last = separators[-1] if separators else None
    if last is None:
        return (whole, "") if whole.isidentifier() or (whole.isprintable() and " " not in whole) else ("", "")
    name = whole[last.end() :].strip()
    return (name, whole[: last.start()].strip()) if name.replace("_", "a").isalnum() else ("", "")


def _short(text: bytes) -> str:
    return " ".join(text[-_MAX_QUALIFIER:].decode("utf-8", "replace").split())
