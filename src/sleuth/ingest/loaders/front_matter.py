"""Reads the front matter of Markdown files: YAML between lines of `---`, or TOML between lines of `+++`.

Scalars and lists of scalars become metadata; deeper values are dropped. Words are read by the core schema of YAML
1.2: `no` and `2024-01-02` stay strings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from sleuth.arguments import fits_int64
from sleuth.types import RESERVED

_BLOCK: Final = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>.{0,65536}?\n)??(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL
)
_QUOTED: Final = r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"|\'[^\']*+(?>(?:\'\'[^\']*+)*)\''
_PAIR: Final = re.compile(
    rf"(?P<key>{_QUOTED}|[^\W\d][\w .-]{{0,99}}?)[ \t]*:(?:[ \t\n]+(?P<value>.*))?", re.DOTALL
)
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_REAL: Final = re.compile(r"[-+]?\d{1,17}\.\d{1,17}(?:[eE][-+]?\d{1,3})?")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None, "~": None, "": None}
_DEPTH: Final = 20
_DOTS: Final = 32
_TOML_HIDDEN: Final = re.compile(
    r'#[^\n]*|"""(?:[^\\]|\\.?)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"?|\'[^\'\n]*+\'?',
    re.DOTALL,
)
"""Comments and strings of TOML, longer marks first."""


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the metadata, and where the text after it starts (0 if there is no front matter)."""
    match = _BLOCK.match(text)
    if match is None:
        return {}, 0
    body = match["body"] or ""
    fields: dict[str, Any] | None = None
    if match["mark"] == "---":
        fields = _yaml(body)
    # Each part of a dotted key costs tomllib memory for all parts before it.
    elif all(line.count(".") <= _DOTS for line in _TOML_HIDDEN.sub("", body).split("\n")):
        import tomllib

        with suppress(ValueError, RecursionError):
            pairs = tomllib.loads(body).items()
            fields = {key: plain for key, value in pairs if (plain := _plain(value)) is not None}
    if fields is None:
        return {}, 0
    return {key: value for key, value in fields.items() if key not in RESERVED}, match.end()


def _yaml(body: str) -> dict[str, Any] | None:
    """Return the pairs of a block; None if it is not front matter but a horizontal rule and text.

    If the block as a whole is not YAML, its pairs are read one by one, and the value of a pair that is not YAML is
    read as plain text: `title: Rust: a guide` is common.
    """
    pairs = _load(body)
    if pairs is None:
        pairs = {}
        for entry in _entries(body):
            match = _PAIR.fullmatch(entry)
            if match is None:
                return None
            pairs_of_entry = _load(entry)
            key, value = _unquoted(match["key"].strip()), _unquoted(" ".join((match["value"] or "").split()))
            pairs.update({key: value} if pairs_of_entry is None else pairs_of_entry)
    plain = {key: _plain(value) for key, value in pairs.items()}
    return {key: value for key, value in plain.items() if value not in (None, "", [])} if pairs else None


def _entries(body: str) -> Iterator[str]:
    """Yield each pair that starts at the left margin, with the lines that belong to it, without comments."""
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


def _load(text: str) -> dict[str, Any] | None:
    """Return the scalars and lists of scalars of a YAML mapping; None if the text is not a mapping.

    It is built from PyYAML's events, so that aliases, tags and nesting cannot make it larger than the text.
    """
    import yaml

    pairs: dict[str, Any] = {}
    key: str | None = None
    items: list[Any] | None = None
    depth = documents = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent):
                if depth == 1 and key is None:
                    key = event.value
                elif depth == 1 and key is not None:
                    pairs[key], key = _word(event), None
                elif depth == 2 and items is not None:
                    items.append(_word(event))
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth == 2:
                    items = [] if isinstance(event, yaml.SequenceStartEvent) else None
                is_list = depth == 1 and not isinstance(event, yaml.MappingStartEvent)
                is_key = depth == 2 and key is None
                if depth > _DEPTH or is_list or is_key:
                    return None
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
                if depth == 1 and key is not None:
                    pairs[key], key = items, None
            elif isinstance(event, yaml.AliasEvent):
                return None
            documents += isinstance(event, yaml.DocumentStartEvent)
    except yaml.YAMLError:
        return None
    return pairs if documents == 1 and pairs else None


def _word(event: Any) -> str | int | float | bool | None:
    """Convert a scalar by the core schema: a plain word without a tag may be a number, a truth value or null."""
    text: str = event.value
    if not event.implicit[0] or event.tag is not None:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def _unquoted(text: str) -> str:
    """Strip the quotes around a whole text."""
    mark = text[:1]
    inner = text[1:-1]
    return (
        inner if mark in ("'", '"') and text.endswith(mark) and len(text) > 1 and mark not in inner else text
    )


def _plain(value: Any) -> Any:
    """Return the value if metadata can hold it, else None."""
    if isinstance(value, list):
        return [item for item in map(_scalar, value) if item is not None]
    return _scalar(value)


def _scalar(value: Any) -> str | int | float | bool | None:
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, dict | list):
        return None
    if isinstance(value, int) and not fits_int64(value):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else str(value)
