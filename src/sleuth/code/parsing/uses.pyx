# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Reads used names from the matches of a query, with the line and the definition of each.

A file has a few hundred matches. numpy and Python take a third of the time of indexing for this, the kernel a thirtieth.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

import numpy as np


def read_uses(list matches, const int32_t[::1] roles, const int32_t[::1] kinds):
    """Split the matches of a query into uses, bindings and others.

    Args:
        matches: of `QueryCursor.matches`: the number of a pattern and its nodes by capture. A use has the capture `name`,
            and `qualifier` where something stands before it; a binding has `name`, and may have `type` and `value`.
        roles: by pattern the role of the uses that it finds, -1 for a pattern that finds something else; shape (patterns,).
        kinds: by pattern the kind of the bindings that it finds, or -1; shape (patterns,).

    Returns:
        Uses in order of place, shape (n, 5), int32: start and end of the name, role, start and end of the qualifier or
        two zeros. Of the uses of one place the first role stands first, and of those the longest qualifier.
        Bindings in order of place, once for each kind, shape (m, 7), int32: start and end of the name, kind, start and end
        of the type and of the value, or zeros. The other matches, in order.
    """
    cdef list others = []
    cdef dict captures
    cdef int64_t n = 0, m = 0, number, most = _names_in(matches, roles, kinds) + 1
    cdef int32_t[:, ::1] uses = np.empty((most, 5), np.int32), bindings = np.empty((most, 7), np.int32)
    for match in matches:
        number = match[0]
        if not 0 <= number < roles.shape[0]:
            raise ValueError("a match must be of a known pattern")
        captures = match[1]
        if roles[number] >= 0:
            qualifiers = captures.get("qualifier")
            for name in <list?> captures["name"]:
                uses[n, 0], uses[n, 1], uses[n, 2] = name.start_byte, name.end_byte, roles[number]
                _write_span(qualifiers, &uses[n, 3])
                n += 1
        elif kinds[number] >= 0:
            for name in <list?> captures["name"]:
                bindings[m, 0], bindings[m, 1], bindings[m, 2] = name.start_byte, name.end_byte, kinds[number]
                _write_span(captures.get("type"), &bindings[m, 3])
                _write_span(captures.get("value"), &bindings[m, 5])
                m += 1
        else:
            others.append(match)
    qsort(&uses[0, 0], n, 5 * sizeof(int32_t), _compare)
    qsort(&bindings[0, 0], m, 7 * sizeof(int32_t), _compare)
    m = _merge(bindings, m)
    return np.asarray(uses)[:n], np.asarray(bindings)[:m], others


cdef int _write_span(list nodes, int32_t* span) except -1:
    """Write start and end of the first of some nodes, or zeros for None."""
    span[0] = span[1] = 0
    if nodes is not None:
        span[0] = nodes[0].start_byte
        span[1] = nodes[0].end_byte
    return 0


cdef int64_t _merge(int32_t[:, ::1] bindings, int64_t m) noexcept nogil:
    """Join bindings of one place and kind, which have types and values from several patterns; return how many are left."""
    cdef int64_t i, part, last = -1
    for i in range(m):
        if last < 0 or _compare_places(&bindings[last, 0], &bindings[i, 0]):
            last += 1
            for part in range(7):
                bindings[last, part] = bindings[i, part]
        else:
            for part in range(3, 7, 2):  # a type, a value
                if bindings[i, part + 1] > bindings[last, part + 1]:
                    bindings[last, part], bindings[last, part + 1] = bindings[i, part], bindings[i, part + 1]
    return last + 1


def _names_in(list matches, const int32_t[::1] roles, const int32_t[::1] kinds):
    cdef int64_t n = 0
    for match in matches:
        if 0 <= match[0] < roles.shape[0] and (roles[match[0]] >= 0 or kinds[match[0]] >= 0):
            n += len(match[1]["name"])
    return n


cdef int _compare_places(const int32_t* row, const int32_t* other) noexcept nogil:
    """Compare start and end of the name, and the role or kind."""
    cdef int64_t i
    for i in range(3):
        if row[i] != other[i]:
            return -1 if row[i] < other[i] else 1
    return 0


cdef int _compare(const void* a, const void* b) noexcept nogil:
    """Compare rows by place; of one place the longest qualifier or type stands first."""
    cdef const int32_t* row = <const int32_t*> a
    cdef const int32_t* other = <const int32_t*> b
    return _compare_places(row, other) or (row[4] < other[4]) - (row[4] > other[4])


def place_uses(
    const int32_t[:, ::1] uses, const int64_t[::1] newlines, const int32_t[:, ::1] spans, most_qualifier
):
    """Return the uses as rows of `ReferenceRow`, each place once and without those in names of definitions; shape (m, 7), int32.

    Args:
        uses: as `read_uses` returns them.
        newlines: bytes that end lines, ascending, shape (lines,).
        spans: of the definitions, in order of start, containers first; start, end, the position of the container or -1, and
            start and end of the name; shape (definitions, 5).
        most_qualifier: bytes of a qualifier that count, its last ones.
    """
    cdef int64_t i, n = uses.shape[0], m = 0, line = 0, at = 0, named = 0, count = spans.shape[0]
    cdef int32_t most = most_qualifier, scope = -1, start, size, name_end = 0
    cdef int32_t[:, ::1] rows
    table = np.empty((n, 7), np.int32)
    rows = table
    cdef list names = sorted([(spans[i, 3], spans[i, 4]) for i in range(count)])
    for i in range(n):
        start = uses[i, 0]
        if uses[i, 1] <= start:  # tree-sitter makes up an empty name where one is missing
            continue
        if i and start == uses[i - 1, 0] and uses[i, 1] == uses[i - 1, 1]:
            continue
        while named < count and names[named][0] <= start:
            name_end = max(name_end, names[named][1])
            named += 1
        if start < name_end:
            continue
        while line < newlines.shape[0] and newlines[line] < start:
            line += 1
        while at < count and spans[at, 0] <= start:
            scope = <int32_t> at
            at += 1
        while scope >= 0 and spans[scope, 1] <= start:
            scope = spans[scope, 2]
        size = min(uses[i, 4] - uses[i, 3], most)
        rows[m, 0] = <int32_t> line + 1
        rows[m, 1] = start
        rows[m, 2] = uses[i, 1] - start
        rows[m, 3] = start - (uses[i, 4] - size) if size > 0 else 0
        rows[m, 4] = size
        rows[m, 5] = uses[i, 2]
        rows[m, 6] = scope
        m += 1
    return table[:m]


def place_bindings(const int32_t[:, ::1] bindings, const int32_t[:, ::1] spans):
    """Return bindings as rows of `BindingRow`; shape (m, 8), int32.

    Args:
        bindings: as `read_uses` returns them.
        spans: as of `place_uses`.
    """
    cdef int64_t i, n = bindings.shape[0], m = 0, at = 0, count = spans.shape[0]
    cdef int32_t scope = -1, start
    cdef int32_t[:, ::1] rows
    table = np.empty((n, 8), np.int32)
    rows = table
    named = {spans[i, 3]: i for i in range(count)}
    for i in range(n):
        start = bindings[i, 0]
        if bindings[i, 1] <= start:  # tree-sitter makes up an empty name where one is missing
            continue
        while at < count and spans[at, 0] <= start:
            scope = <int32_t> at
            at += 1
        while scope >= 0 and spans[scope, 1] <= start:
            scope = spans[scope, 2]
        rows[m, 0] = start
        rows[m, 1] = bindings[i, 1] - start
        rows[m, 2] = bindings[i, 3] - start if bindings[i, 4] else 0
        rows[m, 3] = bindings[i, 4] - bindings[i, 3]
        rows[m, 4] = bindings[i, 5] - start if bindings[i, 6] else 0
        rows[m, 5] = bindings[i, 6] - bindings[i, 5]
        rows[m, 6] = bindings[i, 2]
        rows[m, 7] = named.get(start, scope)
        m += 1
    return table[:m]
