# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Reads used names from the matches of a query, with the line and the definition of each.

A file has a few hundred matches. numpy and Python take a third of the time of indexing for this, the kernel a thirtieth.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

cdef struct Use:
    int32_t start
    int32_t end
    int32_t role
    int32_t qualifier
    int32_t qualifier_end


def read_uses(list matches, const int32_t[::1] roles):
    """Split the matches of a query into uses and others.

    Args:
        matches: of `QueryCursor.matches`: the number of a pattern and its nodes by capture. A use has the capture `name`,
            and `qualifier` where something stands before it.
        roles: by pattern the role of the uses that it finds, -1 for a pattern that finds something else; shape (patterns,).

    Returns:
        Uses in order of place, shape (n, 5), int32: start and end of the name, role, start and end of the qualifier or
        two zeros; and the other matches, in order. Of the uses of one place the first role stands first, and of those the
        longest qualifier.
    """
    cdef list others = [], nodes
    cdef dict captures
    cdef int64_t n = 0, i, number
    cdef int32_t[:, ::1] rows
    cdef Use* uses = <Use*> malloc((_names_in(matches, roles) + 1) * sizeof(Use))
    if uses == NULL:
        raise MemoryError
    try:
        for match in matches:
            number = match[0]
            if not 0 <= number < roles.shape[0]:
                raise ValueError("a match must be of a known pattern")
            if roles[number] < 0:
                others.append(match)
                continue
            captures = match[1]
            qualifiers = captures.get("qualifier")
            nodes = captures["name"]
            for name in nodes:
                uses[n].start = name.start_byte
                uses[n].end = name.end_byte
                uses[n].role = roles[number]
                if qualifiers is None:
                    uses[n].qualifier = uses[n].qualifier_end = 0
                else:
                    uses[n].qualifier = qualifiers[0].start_byte
                    uses[n].qualifier_end = qualifiers[0].end_byte
                n += 1
        qsort(uses, n, sizeof(Use), _compare)
        table = np.empty((n, 5), np.int32)
        rows = table
        for i in range(n):
            rows[i, 0] = uses[i].start
            rows[i, 1] = uses[i].end
            rows[i, 2] = uses[i].role
            rows[i, 3] = uses[i].qualifier
            rows[i, 4] = uses[i].qualifier_end
    finally:
        free(uses)
    return table, others


def _names_in(list matches, const int32_t[::1] roles):
    cdef int64_t n = 0
    for match in matches:
        if 0 <= match[0] < roles.shape[0] and roles[match[0]] >= 0:
            n += len(match[1]["name"])
    return n


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef const Use* one = <const Use*> a
    cdef const Use* other = <const Use*> b
    if one.start != other.start:
        return -1 if one.start < other.start else 1
    if one.end != other.end:
        return -1 if one.end < other.end else 1
    if one.role != other.role:
        return -1 if one.role < other.role else 1
    if one.qualifier_end != other.qualifier_end:
        return -1 if one.qualifier_end > other.qualifier_end else 1
    return 0


def place_uses(
    const int32_t[:, ::1] uses, const int64_t[::1] newlines, const int32_t[:, ::1] spans, most_qualifier
):
    """Return the uses as rows of `ReferenceRow`, each place once and without names of definitions; shape (m, 7), int32.

    Args:
        uses: as `read_uses` returns them.
        newlines: bytes that end lines, ascending, shape (lines,).
        spans: of the definitions, in order of start, containers first; start, end, the position of the container or -1, and
            start of the name; shape (definitions, 4).
        most_qualifier: bytes of a qualifier that count, its last ones.
    """
    cdef int64_t i, n = uses.shape[0], m = 0, line = 0, at = 0, count = spans.shape[0]
    cdef int32_t most = most_qualifier, scope = -1, start, size
    cdef int32_t[:, ::1] rows
    table = np.empty((n, 7), np.int32)
    rows = table
    names = frozenset([spans[i, 3] for i in range(count)])
    for i in range(n):
        start = uses[i, 0]
        if uses[i, 1] <= start:  # tree-sitter makes up an empty name where one is missing
            continue
        if i and start == uses[i - 1, 0] and uses[i, 1] == uses[i - 1, 1]:
            continue
        if start in names:
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
