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

cdef struct Bound:
    int32_t start
    int32_t end
    int32_t kind
    int32_t type
    int32_t type_end
    int32_t value
    int32_t value_end


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
    cdef list others = [], nodes
    cdef dict captures
    cdef int64_t n = 0, m = 0, i, number
    cdef int32_t[:, ::1] rows
    cdef int64_t most = _names_in(matches, roles, kinds) + 1
    cdef Use* uses = <Use*> malloc(most * sizeof(Use))
    cdef Bound* bound = <Bound*> malloc(most * sizeof(Bound))
    try:
        if uses == NULL or bound == NULL:
            raise MemoryError
        for match in matches:
            number = match[0]
            if not 0 <= number < roles.shape[0]:
                raise ValueError("a match must be of a known pattern")
            captures = match[1]
            if roles[number] >= 0:
                qualifiers = captures.get("qualifier")
                nodes = captures["name"]
                for name in nodes:
                    uses[n].start = name.start_byte
                    uses[n].end = name.end_byte
                    uses[n].role = roles[number]
                    _span(qualifiers, &uses[n].qualifier, &uses[n].qualifier_end)
                    n += 1
            elif kinds[number] >= 0:
                nodes = captures["name"]
                for name in nodes:
                    bound[m].start = name.start_byte
                    bound[m].end = name.end_byte
                    bound[m].kind = kinds[number]
                    _span(captures.get("type"), &bound[m].type, &bound[m].type_end)
                    _span(captures.get("value"), &bound[m].value, &bound[m].value_end)
                    m += 1
            else:
                others.append(match)
        qsort(uses, n, sizeof(Use), _compare)
        qsort(bound, m, sizeof(Bound), _compare_bound)
        m = _merge(bound, m)
        table = np.empty((n, 5), np.int32)
        rows = table
        for i in range(n):
            rows[i, 0] = uses[i].start
            rows[i, 1] = uses[i].end
            rows[i, 2] = uses[i].role
            rows[i, 3] = uses[i].qualifier
            rows[i, 4] = uses[i].qualifier_end
        bindings = np.empty((m, 7), np.int32)
        rows = bindings
        for i in range(m):
            rows[i, 0] = bound[i].start
            rows[i, 1] = bound[i].end
            rows[i, 2] = bound[i].kind
            rows[i, 3] = bound[i].type
            rows[i, 4] = bound[i].type_end
            rows[i, 5] = bound[i].value
            rows[i, 6] = bound[i].value_end
    finally:
        free(uses)
        free(bound)
    return table, bindings, others


cdef int _span(list nodes, int32_t* start, int32_t* end) except -1:
    """Write the place of the first of some nodes, or zeros for None."""
    start[0] = end[0] = 0
    if nodes is not None:
        start[0] = nodes[0].start_byte
        end[0] = nodes[0].end_byte
    return 0


cdef int64_t _merge(Bound* bound, int64_t m) noexcept nogil:
    """Join bindings of one place and kind, which have types and values from several patterns; return how many are left."""
    cdef int64_t i, last = -1
    for i in range(m):
        if (
            last >= 0 and bound[last].start == bound[i].start and bound[last].end == bound[i].end
            and bound[last].kind == bound[i].kind
        ):
            if bound[i].type_end > bound[last].type_end:
                bound[last].type, bound[last].type_end = bound[i].type, bound[i].type_end
            if bound[i].value_end > bound[last].value_end:
                bound[last].value, bound[last].value_end = bound[i].value, bound[i].value_end
        else:
            last += 1
            bound[last] = bound[i]
    return last + 1


def _names_in(list matches, const int32_t[::1] roles, const int32_t[::1] kinds):
    cdef int64_t n = 0
    for match in matches:
        if 0 <= match[0] < roles.shape[0] and (roles[match[0]] >= 0 or kinds[match[0]] >= 0):
            n += len(match[1]["name"])
    return n


cdef int _compare_bound(const void* a, const void* b) noexcept nogil:
    cdef const Bound* one = <const Bound*> a
    cdef const Bound* other = <const Bound*> b
    if one.start != other.start:
        return -1 if one.start < other.start else 1
    if one.end != other.end:
        return -1 if one.end < other.end else 1
    return one.kind - other.kind


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
