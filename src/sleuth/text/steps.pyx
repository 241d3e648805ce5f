# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps over the tokens and the blanks of a text; `sleuth.text.borders` says what a token is."""

from libc.stdint cimport uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    bint Py_UNICODE_ISSPACE(uint32_t)

cdef enum:
    WORD_PIECE = 8    # as in `sleuth.text.borders`, as is the next
    BLANK_RUN = 200


cdef inline bint _is_dense(uint32_t c) noexcept:
    """Whether a sign is Chinese, Japanese or Korean: a token of its own."""
    if c < 0x1100:
        return False
    return (
        c <= 0x11FF or 0x2E80 <= c <= 0x9FFF or 0xAC00 <= c <= 0xD7FF or 0xF900 <= c <= 0xFAFF
        or 0xFF66 <= c <= 0xFF9D or 0x20000 <= c <= 0x3FFFF
    )


cdef inline Py_ssize_t _after_blanks(int kind, void* s, Py_ssize_t n, Py_ssize_t i) noexcept:
    while i < n and Py_UNICODE_ISSPACE(PyUnicode_READ(kind, s, i)):
        i += 1
    return i


def after_tokens(str text not None, Py_ssize_t position, Py_ssize_t tokens):
    """Return where the blanks after the next `tokens` tokens end, or before a very long run of blanks or the end.

    That is `position` itself where a blank stands there.
    """
    cdef Py_ssize_t n = len(text), i = position, end
    cdef int kind = PyUnicode_KIND(text)
    cdef void* s = PyUnicode_DATA(text)
    cdef uint32_t c
    while tokens > 0 and i < n:
        tokens -= 1
        c = PyUnicode_READ(kind, s, i)
        if Py_UNICODE_ISSPACE(c):
            break
        i += 1
        end = i if _is_dense(c) else min(n, i + WORD_PIECE - 1)
        while i < end:
            c = PyUnicode_READ(kind, s, i)
            if Py_UNICODE_ISSPACE(c) or _is_dense(c):
                break
            i += 1
        i = _after_blanks(kind, s, min(n, i + BLANK_RUN), i)
    return i


def after_blanks(str text not None, Py_ssize_t position):
    """Return the first visible character at or after `position`, or the length of `text`."""
    return _after_blanks(PyUnicode_KIND(text), PyUnicode_DATA(text), len(text), position)
