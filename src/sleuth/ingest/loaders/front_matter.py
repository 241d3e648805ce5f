"""Which metadata does a Markdown file state at its top?

Front matter is YAML between lines of `---`, or TOML between lines of `+++`. Of YAML, what front matter holds in
practice is read: scalars, and lists of scalars in either spelling; deeper values are left out.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from typing import Any, Final

from sleuth.ingest.options import RESERVED

_BLOCK: Final = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>.{0,65536}?\n)??(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL
)
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+"|\'(?:[^\']|\'\')*+\''
_PAIR: Final = re.compile(
    rf"(?P<key>{_QUOTED}|[^\W\d][\w .-]{{0,99}}?)[ \t]*:(?:[ \t]+(?P<value>.*))?", re.DOTALL
)
_SCALAR: Final = re.compile(rf"({_QUOTED})(?:\s+#.*)?", re.DOTALL)
_LIST: Final = re.compile(r"\[(.*)\](?:\s+#.*)?", re.DOTALL)
_ITEM: Final = re.compile(rf"\s*(?:({_QUOTED})\s*|([^,]*+))(?:,|\Z)")
_FOLDED: Final = re.compile(r"[|>][-+\d]{0,2}")
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_REAL: Final = re.compile(r"[-+]?\d{1,17}\.\d{1,17}(?:[eE][-+]?\d{1,3})?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The metadata, and where the text after it starts (0 where there is none)."""
    match = _BLOCK.match(text) if text.startswith(("---", "+++")) else None
    if match is None:
        return {}, 0
    body = match["body"] or ""
    fields = _toml(body) if match["mark"] == "+++" else _yaml(body)
    if fields is None:
        return {}, 0
    return {key: value for key, value in fields.items() if key not in RESERVED}, match.end()


def _toml(body: str) -> dict[str, Any] | None:
    try:
        fields = tomllib.loads(body)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return {key: plain for key, value in fields.items() if (plain := _plain(value)) is not None}


def _plain(value: Any) -> Any:
    """A value that metadata can hold; None where it is none."""
    if isinstance(value, list):
        return [item for item in map(_plain, value) if item is not None and not isinstance(item, list)]
    if isinstance(value, dict) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)


def _yaml(body: str) -> dict[str, Any] | None:
    """Pairs at the left margin; None where the block holds none, and is a rule and text rather than front matter."""
    fields: dict[str, Any] = {}
    key = ""
    for line in body.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("- ") and key:
            _append(fields, key, _scalar(stripped[2:]))
        elif line[0] in " \t" or (stripped == "]" and key):
            _continue(fields, key, stripped)
        elif match := _PAIR.fullmatch(line.rstrip()):
            key = match["key"].strip()
            key = str(_scalar(key)) if key[0] in "\"'" else key
            fields[key] = _value((match["value"] or "").strip())
        else:
            return None
    return {name: value for name, value in fields.items() if value not in (None, "", [])} if fields else None


def _append(fields: dict[str, Any], key: str, item: Any) -> None:
    values = fields.get(key)
    if isinstance(values, list) and item is not None:
        values.append(item)
    elif values is None and item is not None:
        fields[key] = [item]


def _continue(fields: dict[str, Any], key: str, line: str) -> None:
    """A string or a list that goes on over lines; nested pairs are left out."""
    before = fields.get(key)
    if not isinstance(before, str):
        return
    if not before or _FOLDED.fullmatch(before):
        fields[key] = line
    elif before.startswith("["):
        fields[key] = _value(f"{before} {line}")
    else:
        fields[key] = f"{before} {line}"


def _value(value: str) -> Any:
    if match := _LIST.fullmatch(value):
        parts = (found[1] or found[2].strip() for found in _ITEM.finditer(match[1]))
        return [item for part in parts if (item := _scalar(part)) is not None]
    if value.startswith("{"):
        return None
    return _scalar(value)


def _scalar(value: str) -> Any:
    value = value.strip()
    if match := _SCALAR.fullmatch(value):
        return _unquoted(match[1])
    value = value.partition(" #")[0].rstrip()
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if _INTEGER.fullmatch(value):
        return int(value)
    return _plain(float(value)) if _REAL.fullmatch(value) else value


def _unquoted(value: str) -> str:
    """The text between quotes. Escapes between double ones are those of JSON, and a few more that are left alone."""
    if value[0] == "'":
        return value[1:-1].replace("''", "'")
    try:
        text: str = json.loads(value)
        text.encode()
    except ValueError:
        return value[1:-1].replace('\\"', '"')
    return text
