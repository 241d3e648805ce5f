"""Definitions and lines that a query, or an argument, is the name of: a qualified name, a path, a path with lines.

A question is ranked by many signals. A name is not a question: a person who types
`Model.save` or `app/views.py:40` wants that definition or that line first, before other mentions of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.search.stems import Twins
from sleuth.code.snapshots.places import module_steps

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition, Snapshot

MOST = 10
"""Pieces that a query can name."""
_MOST_OF_A_WORD = 4
"""A word in lower case that more definitions are called is a word of a question rather than a name."""
_PART = r"[^\W\d](?:[\w$]|-(?!>))*[?!=]?"
"""A step of a name; hyphens are in ids of HTML and names of CSS."""
_NAME = re.compile(rf"(?:--)?{_PART}(?:(?:\.|::|#|->|\\|/)~?{_PART})*")
_STEP = re.compile(r"\.|::|#|->|\\|/")
_PLACE = re.compile(r"(?P<path>[^\s:]+?)(?:(?::|#L|\()(?P<line>\d+)(?:(?:-|:|, ?)L?\d+)?\)?)?")
_LINES = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?(?:@[0-9a-f]{12})?")
_CALL = re.compile(r"\([^()]*\)$")
_NO_LETTER = re.compile(r"[_$-]")
"""What a name has and the name of its file may lack: `token_bucket.rs` of `TokenBucket`."""


class Place(NamedTuple):
    """A file of a snapshot, and the first and last of some lines; None for the whole file."""

    file: FileRow
    lines: tuple[int, int] | None


class Spot(NamedTuple):
    """A chunk: position of its file, and its place there."""

    file: int
    chunk: int


def spots_of(snapshot: Snapshot, query: str) -> list[Spot]:
    """Return the chunks that the query as a whole names, the likeliest first; none where it is a question."""
    text = query.strip().strip("`'\"").strip()
    if not text or len(text) > 300 or "\n" in text:
        return []
    if spots := _spots_at(snapshot, text):
        return spots[:MOST]
    name = _CALL.sub("", text)
    if _NAME.fullmatch(name) is None:
        return []
    definitions = definitions_named(snapshot, [step for step in _STEP.split(name) if step])
    if name.isalpha() and name.islower() and len(definitions) > _MOST_OF_A_WORD:
        return []
    # A chunk may hold several definitions, so more of them are looked at than chunks are returned.
    for definition in definitions[: 4 * MOST]:
        file, line = definition.file, definition.symbol.line  # where its name stands
        places = (i for i, c in enumerate(snapshot.detail(file).chunks) if c.start <= line <= c.end)
        spots += [Spot(snapshot.by_path[file.path], place) for place in islice(places, 1)]
    return list(dict.fromkeys(spots))[:MOST]


def _spots_at(snapshot: Snapshot, text: str) -> list[Spot]:
    """Return the chunk at a path with a line, or the first chunks of the files that a path means."""
    place = _PLACE.fullmatch(text)
    if place is None:
        return []
    steps = [step for step in re.split(r"[\\/]", place["path"]) if step not in ("", ".")]
    path = "/".join(steps)
    if path in snapshot.by_path:
        files = [snapshot.by_path[path]]
    elif "." in path:
        files = snapshot.endings.get(path)
    else:
        files = []
    spots = []
    for file in files:
        chunks = snapshot.detail(snapshot.files[file]).chunks
        line = int(place["line"] or 0)
        if line:
            spots += [Spot(file, i) for i, chunk in enumerate(chunks) if chunk.start <= line <= chunk.end][:1]
        elif chunks:
            spots.append(Spot(file, next((i for i, chunk in enumerate(chunks) if chunk.symbol >= 0), 0)))
    return spots


def definitions_named(snapshot: Snapshot, steps: list[str]) -> list[Definition]:
    """Return the definitions that the steps of a name mean, the likeliest first.

    The last steps are the name and its containers; those before may name the module, package or folder.
    """
    for outside in range(len(steps)):
        name, around, definitions = ".".join(steps[outside:]), steps[:outside], []
        for definition in snapshot.definitions(name):
            # It, its package or its folder ends with the steps outside.
            module = module_steps(definition.file.path)
            if not around or around in (module[-outside:], module[:-1][-outside:]):
                definitions.append(definition)
        if definitions:
            factors = snapshot.shared(Twins).factors(".".join(steps), len(snapshot.files))
            is_older = {d.file.path: bool(factors[snapshot.by_path[d.file.path]] < 1) for d in definitions}
            return sorted(definitions, key=lambda d: _rank(d, name, is_older=is_older[d.file.path]))
    return []


def _rank(
    definition: Definition, name: str, *, is_older: bool
) -> tuple[bool, bool, bool, int, int, bool, int, str, int]:
    """Return what is compared, the lower the better.

    The whole name, code before tests, newer versions before older ones, containers before members, files of that name
    before others, then the place.
    """
    symbol, file = definition.symbol, definition.file
    kind = 2 if symbol.kind in ("constant", "attribute") else 1
    if symbol.kind in CONTAINERS - {"impl", "module"}:
        kind = 0
    depth = symbol.qualified.count(".")
    stem = file.path.rpartition("/")[2].rpartition(".")[0]
    is_elsewhere = _NO_LETTER.sub("", stem).lower() != _NO_LETTER.sub("", symbol.name).lower()
    place = file.path.count("/"), file.path, symbol.line
    return symbol.qualified != name, file.category != "code", is_older, kind, depth, is_elsewhere, *place


def places_named(snapshot: Snapshot, name: str) -> Iterator[Place]:
    """Yield what a name means, the likeliest first.

    Args:
        name: a path, a path with lines (`a.py:10-20`, also as in the id of a hit), or the name of a definition.
    """
    if name in snapshot.by_path:
        yield Place(snapshot.file(name), None)
    place = _LINES.fullmatch(name)
    if place is not None and place["path"] in snapshot.by_path:
        first = int(place["first"])
        yield Place(snapshot.file(place["path"]), (first, int(place["last"] or first)))
    for definition in snapshot.definitions(name):
        yield Place(definition.file, (definition.symbol.line, definition.symbol.end))
