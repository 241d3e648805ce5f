"""The kernel that reads used names gives the result of a slow implementation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.code.parsing.tables import BindingRow, ReferenceRow
from sleuth.code.parsing.uses import place_bindings, place_uses, read_uses
from tests.examples import examples

SIZE = 60
ROLES = np.array([-1, 0, 2, 3, -1, -1], np.int32)
KINDS = np.array([-1, -1, -1, -1, 0, 2], np.int32)
MOST = 5
PLACES = st.integers(0, SIZE)
NODES = st.builds(lambda a, b: SimpleNamespace(start_byte=min(a, b), end_byte=max(a, b)), PLACES, PLACES)
CAPTURES = st.fixed_dictionaries(
    {"name": st.lists(NODES, min_size=1, max_size=2)},
    optional={name: st.lists(NODES, min_size=1, max_size=1) for name in ("qualifier", "type", "value")},
)
MATCHES = st.lists(st.tuples(st.integers(0, 5), CAPTURES), max_size=12)
NEWLINES = st.lists(PLACES, unique=True, max_size=8).map(lambda places: np.array(sorted(places), np.int64))


@st.composite
def nested_spans(draw: st.DrawFn) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Generate nested definitions, in order of start, containers first."""
    spans: list[tuple[int, int, int, int, int]] = []
    waiting = [(0, SIZE, -1)]
    while waiting and len(spans) < 8:
        low, high, parent = waiting.pop(0)
        if low == high:
            continue
        start = draw(st.integers(low, high - 1))
        end = draw(st.integers(start + 1, high))
        name = draw(st.integers(start, end))
        spans.append((start, end, parent, name, draw(st.integers(name, end))))
        waiting += [(start, end, len(spans) - 1), (end, high, parent)]
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1], i))
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    rows = [(start, end, place[parent], *name) for start, end, parent, *name in map(spans.__getitem__, order)]
    return np.array(rows, np.int32).reshape(-1, 5)


@settings(max_examples=examples(100), deadline=None)
@given(MATCHES, NEWLINES, nested_spans())
def test_uses_are_placed(
    matches: list[Any],
    newlines: np.ndarray[Any, np.dtype[np.int64]],
    spans: np.ndarray[Any, np.dtype[np.int32]],
) -> None:
    """Each place is used once, with its first role and longest qualifier, in its line and innermost definition."""
    uses, _, others = read_uses(matches, ROLES, KINDS)
    assert others == [match for match in matches if match[0] == 0]
    expected: dict[tuple[int, int], ReferenceRow] = {}
    for number, captures in sorted(matches, key=lambda match: int(ROLES[match[0]])):
        for name in captures["name"] if ROLES[number] >= 0 else ():
            start, end, role = name.start_byte, name.end_byte, int(ROLES[number])
            before = captures.get("qualifier", [SimpleNamespace(start_byte=0, end_byte=0)])[0]
            size = min(before.end_byte - before.start_byte, MOST)
            back = start - (before.end_byte - size) if size else 0
            around = [i for i, span in enumerate(spans) if span[0] <= start < span[1]]
            line = int((newlines < start).sum()) + 1
            row = ReferenceRow(line, start, end - start, back, size, role, max(around, default=-1))
            other = expected.get((start, end))
            if other is None or (other.role == role and reach(other) < before.end_byte):
                expected[start, end] = row
    names = {at for span in spans for at in range(span[3], span[4])}
    rows = [row for (start, end), row in sorted(expected.items()) if end > start and start not in names]
    table = place_uses(uses, newlines, spans, MOST)
    assert [without_ties(ReferenceRow(*row)) for row in table.tolist()] == [without_ties(row) for row in rows]


@settings(max_examples=examples(100), deadline=None)
@given(MATCHES, nested_spans())
def test_bindings_are_placed(matches: list[Any], spans: np.ndarray[Any, np.dtype[np.int32]]) -> None:
    """Each place binds once of a kind, with the type and value that end last, in its definition."""
    _, bindings, _ = read_uses(matches, ROLES, KINDS)
    ends: dict[tuple[int, int, int], tuple[int, int]] = {}
    for number, captures in matches:
        for name in captures["name"] if KINDS[number] >= 0 else ():
            key = (name.start_byte, name.end_byte, int(KINDS[number]))
            both = [captures[part][0].end_byte if part in captures else 0 for part in ("type", "value")]
            old = ends.get(key, (0, 0))
            ends[key] = (max(old[0], both[0]), max(old[1], both[1]))
    names = {span[3]: i for i, span in enumerate(spans.tolist())}
    expected = []
    for (start, end, kind), (type_end, value_end) in sorted(ends.items()):
        around = [i for i, span in enumerate(spans) if span[0] <= start < span[1]]
        if end > start:
            symbol = names.get(start, max(around, default=-1))
            expected.append((start, end - start, kind, symbol, type_end, value_end))
    rows = [BindingRow(*row) for row in place_bindings(bindings, spans).tolist()]
    assert expected == [
        (
            row.name, row.name_size, row.kind, row.symbol,
            row.name + row.type + row.type_size if row.type or row.type_size else 0,
            row.name + row.value + row.value_size if row.value or row.value_size else 0,
        )
        for row in rows
    ]  # fmt: skip


def reach(row: ReferenceRow) -> int:
    """Return where the qualifier of a use ends, or 0 without one."""
    return row.name - row.qualifier + row.qualifier_size if row.qualifier_size else 0


def without_ties(row: ReferenceRow) -> tuple[int, ...]:
    """Return the parts of a use that are determined: of qualifiers that end at one place any may be chosen."""
    return row.line, row.name, row.name_size, row.role, row.symbol


def test_unknown_patterns_are_refused() -> None:
    """A match of a pattern that the query does not have raises ValueError."""
    with pytest.raises(ValueError, match="known pattern"):
        read_uses([(9, {})], ROLES, KINDS)
