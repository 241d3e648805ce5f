"""Metadata that a Markdown file states at its top: YAML between lines of `---`, or TOML between lines of `+++`.

Scalars and lists of scalars become metadata; deeper values are left out. Words mean what the core schema of YAML 1.2
says: `no` and `2024-01-02` stay texts.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from sleuth.ingest.options import RESERVED

_BLOCK: Final = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>.{0,65536}?\n)??(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL
)
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+"|\'(?:[^\']|\'\')*+\''
_PAIR: Final = re.compile(
    rf"(?P<key>{_QUOTED}|[^\W\d][\w .-]{{0,99}}?)[ \t]*:(?:[ \t\n]+(?P<value>.*))?", re.DOTALL
)
_CORE: Final = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(?:0|[1-9]\d{0,17})", "-+0123456789"),
    "float": (r"[-+]?\d{1,17}\.\d{1,17}(?:[eE][-+]?\d{1,3})?", "-+0123456789"),
}
"""What plain words mean: pattern and first characters by tag."""
_DEPTH: Final = 20
_DOTS: Final = 32
_TOML_HIDDEN: Final = re.compile(
    r'#[^\n]*|"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'', re.DOTALL
)
"""Comments and strings, the longer marks first, as TOML reads them from the left."""


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the metadata, and where the text after it starts (0 where there is none)."""
    match = _BLOCK.match(text) if text.startswith(("---", "+++")) else None
    if match is None:
        return {}, 0
    body = match["body"] or ""
    fields = _toml(body) if match["mark"] == "+++" else _yaml(body)
    if fields is None:
        return {}, 0
    return {key: value for key, value in fields.items() if key not in RESERVED}, match.end()


def _toml(body: str) -> dict[str, Any] | None:
    # Each part of a dotted key costs tomllib memory for all parts before it.
    if any(line.count(".") > _DOTS for line in _TOML_HIDDEN.sub("", body).split("\n")):
        return None
    try:
        fields = tomllib.loads(body)
    except (ValueError, RecursionError):
        return None
    return {key: plain for key, value in fields.items() if (plain := _plain(value)) is not None}


def _yaml(body: str) -> dict[str, Any] | None:
    """The pairs of a block; None where it holds none, and is a rule and text rather than front matter.

    Where the block as a whole is not YAML, its pairs are read one by one, and one that is not YAML is a text as it
    stands: `title: Rust: a guide` is common.
    """
    pairs = _load(body)
    if pairs is None:
        pairs = {}
        for entry in _entries(body):
            match = _PAIR.fullmatch(entry)
            if match is None:
                return None
            alone = _load(entry)
            key, value = _unquoted(match["key"].strip()), _unquoted(" ".join((match["value"] or "").split()))
            pairs.update({key: value} if alone is None else alone)
    plain = {key: _plain(value) for key, value in pairs.items() if isinstance(key, str)}
    return {key: value for key, value in plain.items() if value not in (None, "", [])} if pairs else None


def _entries(body: str) -> Iterator[str]:
    """The lines from each pair at the left margin to the next one, without comments."""
    entry: list[str] = []
    for line in body.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if entry and not (line[0].isspace() or line.startswith(("- ", "]"))):
            yield "\n".join(entry)
            entry = []
        entry.append(line.rstrip())
    if entry:
        yield "\n".join(entry)


def _load(text: str) -> dict[Any, Any] | None:
    """The mapping that a text of YAML is; None where it is none, is nested too deeply, or holds aliases.

    Aliases can make gigabytes of a few lines, and nesting is bounded before anything follows it by recursion.
    """
    import yaml

    loader = _loader()
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH or isinstance(event, yaml.AliasEvent):
                return None
        pairs = yaml.load(text, Loader=loader)  # noqa: S506  # it makes plain values only
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        ArithmeticError,
    ):  # values that are not what their tag says
        return None
    return pairs if isinstance(pairs, dict) else None


@cache
def _loader() -> Any:
    """PyYAML's safe loader, in C where there is one, with the core schema alone: no dates, no merges, no other tags."""
    import yaml

    prefix = "tag:yaml.org,2002:"
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tags: list[str | None] = [None, *(prefix + name for name in (*_CORE, "str", "seq", "map"))]
    constructors = {tag: base.yaml_constructors[tag] for tag in tags}
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}, "yaml_constructors": constructors})
    for name, (pattern, first) in _CORE.items():
        loader.add_implicit_resolver(prefix + name, re.compile(rf"(?:{pattern})\Z"), ["", *first])
    return loader


def _unquoted(text: str) -> str:
    """A text without the quotes around all of it."""
    mark = text[:1]
    inner = text[1:-1]
    return (
        inner if mark in ("'", '"') and text.endswith(mark) and len(text) > 1 and mark not in inner else text
    )


def _plain(value: Any) -> Any:
    """A value that metadata can hold; None where it is none."""
    if isinstance(value, list):
        return [item for item in map(_scalar, value) if item is not None]
    return _scalar(value)


def _scalar(value: Any) -> str | int | float | bool | None:
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, dict | list):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else str(value)
