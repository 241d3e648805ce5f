# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which keys do several pools hold, and where is each pool's among them?"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np


def union(list pools):
    """All keys, each once, in order of first appearance; and per pool the places of its keys among them.

    Args:
        pools: arrays of shape (m,), int64.

    Returns:
        keys, shape (n,), int64, and a list of arrays of shape (m,), int64.
    """
    cdef const int64_t[::1] pool
    cdef int64_t[::1] place
    cdef int64_t total = 0, n = 0, i, slot
    cdef uint64_t mask = 64
    cdef int64_t* slots  # places of keys, -1 where empty
    for pool in pools:
        total += pool.shape[0]
    while mask < 2 * <uint64_t> total:
        mask *= 2
    slots = <int64_t*> malloc(mask * sizeof(int64_t))
    if slots == NULL:
        raise MemoryError
    memset(slots, 0xFF, mask * sizeof(int64_t))
    mask -= 1
    keys = np.empty(total, np.int64)
    cdef int64_t[::1] known = keys
    places = []
    for pool in pools:
        made = np.empty(pool.shape[0], np.int64)
        place = made
        for i in range(pool.shape[0]):
            slot = <int64_t> ((<uint64_t> pool[i] * <uint64_t> 0x9E3779B97F4A7C15u >> 20) & mask)
            while slots[slot] >= 0 and known[slots[slot]] != pool[i]:
                slot = (slot + 1) & <int64_t> mask
            if slots[slot] < 0:
                slots[slot] = n
                known[n] = pool[i]
                n += 1
            place[i] = slots[slot]
        places.append(made)
    free(slots)
    return keys[:n], places
