"""Infers the type of a variable from annotations and assignments within one function or class.

A reading of the text, not of the tree: it serves for all languages with types before or after the name, and says
nothing where it finds nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sleuth.code.parsing.kinds import CONTAINERS

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_TYPE = r"(?P<type>[\"']?(?:[A-Za-z_]\w*(?:\.|::))*[A-Z]\w*)"
_BEFORE_NAME = frozenset({"java", "csharp", "c", "cpp", "php", "go"})
_WRAPPERS = re.compile(
    r"^(?:Optional|Annotated|ClassVar|Final|Type|type|Rc|Arc|Box|Option|Promise|Awaitable)$"
)


def type_of(snapshot: Snapshot, file: FileRow, symbol: int, name: str) -> str:
    """Return the type of a variable, or of a member written `self.name`, inside a definition; "" where unknown."""
    symbols = snapshot.detail(file).symbols
    member_match = re.match(r"(?:self|this|\$this)(?:\.|->)(\w+)$", name)
    if member_match is None:
        if not name.lstrip("$").isidentifier():
            return ""
        at = symbol
        while at >= 0 and symbols[at].kind not in CONTAINERS:
            name_of_type = _in_text(
                snapshot.lines(file, symbols[at].start, symbols[at].end), name, file.language
            )
            if name_of_type:
                return name_of_type
            at = symbols[at].parent
        return ""
    at = symbol
    while at >= 0 and symbols[at].kind not in CONTAINERS:
        at = symbols[at].parent
    if at < 0:
        return ""
    text = snapshot.lines(file, symbols[at].start, symbols[at].end)
    return _of_member(text, member_match[1], file.language)


def _of_member(text: str, name: str, language: str) -> str:
    escaped = re.escape(name)
    declared = re.search(
        rf"(?:\bself\.|\bthis\.|->|^[ \t]++(?:[a-z]++[ \t]++)*){escaped}\??\s*:\s*(?P<all>[^=\n;,)]{{1,200}})",
        text,
        re.M,
    )
    if declared and (annotation := _named_type(declared["all"])):
        return annotation
    creation = re.search(
        rf"(?:\bself\.|\bthis\.|->){escaped}\s*=\s*(?:new\s+|await\s+)?{_TYPE}\s*[(\[]", text
    )
    if creation:
        return creation["type"].strip("\"'")
    parameter = re.search(
        rf"(?:\bself\.|\bthis\.|->){escaped}\s*=\s*\$?(?P<from>[a-z_]\w*)\s*(?:$|[;#])", text, re.M
    )
    if parameter:
        return _in_text(text, parameter["from"], language)
    return _in_text(text, name, language) if language in _BEFORE_NAME else ""


def _in_text(text: str, name: str, language: str) -> str:
    escaped = re.escape(name)
    declared = re.search(rf"(?<![\w.$]){escaped}\??\s*:\s*(?P<all>[&*]*(?:mut\s+)?[^=\n;,)]{{1,200}})", text)
    if declared and (annotation := _named_type(declared["all"])):
        return annotation
    creation = re.search(
        rf"(?<![\w.$]){escaped}\s*:?=\s*(?:new\s+|await\s+|&)?{_TYPE}(?:::new)?(?:<[^<>\n]*>)?\s*[({{]", text
    ) or re.search(rf"\bwith\s+{_TYPE}\s*\([^\n]{{0,200}}\)\s+as\s+{escaped}\b", text)
    if creation:
        return creation["type"].strip("\"'")
    if language in _BEFORE_NAME:
        if language == "go":
            typed = re.search(rf"(?<![\w.]){escaped}\s+\*?{_TYPE}", text)
        else:
            typed = re.search(
                rf"(?<![\w.])(?<!::)(?:::)?{_TYPE}(?:<[^<>\n]*>)?[\s*&]+{escaped}\s*[;=,):]", text
            )
        if typed:
            return typed["type"]
    return ""


def _named_type(annotation: str) -> str:
    """Return the first class of an annotation: `Foo` for `Foo | None` and `Optional[Foo]`, "" for `list[Foo]`."""
    for part in annotation.strip().strip("\"'&* ").removeprefix("mut ").split("|"):
        match = re.match(r"\s*[\"']?((?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w*)\s*([\[<])?", part)
        if match is None:
            continue
        name, inner = match[1], match[2]
        if inner and _WRAPPERS.match(name.rpartition(".")[2]):
            return _named_type(part.strip()[match.end() - match.start() :].strip(" \"'"))
        last = name.rpartition(".")[2].rpartition("::")[2]
        if (last[:1].isupper() and last not in ("None", "Any")) or (
            last.startswith("_") and last[1:2].isupper()
        ):
            return (
                ""
                if inner and last in ("Sequence", "Iterable", "Iterator", "Mapping", "Dict", "List")
                else name
            )
    return ""
