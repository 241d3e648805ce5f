# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps over the tokens and the blanks of a text; `sleuth.text.borders` says what a token is."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    bint Py_UNICODE_ISSPACE(uint32_t) nogil

cdef enum:
    WORD_PIECE = 8    # as in `sleuth.text.borders`, as is the next
    BLANK_RUN = 200

ctypedef fused Character:
    uint8_t
    uint16_t
    uint32_t


cdef inline bint _is_dense(uint32_t c) noexcept nogil:
    """Whether a sign is Chinese, Japanese or Korean: a token of its own."""
    if c < 0x1100:
        return False
    return (
        c <= 0x11FF or 0x2E80 <= c <= 0x9FFF or 0xAC00 <= c <= 0xD7FF or 0xF900 <= c <= 0xFAFF
        or 0xFF66 <= c <= 0xFF9D or 0x20000 <= c <= 0x3FFFF
    )


cdef Py_ssize_t _after_tokens(const Character* s, Py_ssize_t n, Py_ssize_t i, Py_ssize_t tokens) noexcept nogil:
    cdef Py_ssize_t end
    while tokens > 0 and i < n:
        tokens -= 1
        if _is_dense(s[i]):
            i += 1
        elif Py_UNICODE_ISSPACE(s[i]):
            break
        else:
            end = min(n, i + WORD_PIECE)
            while i < end and not Py_UNICODE_ISSPACE(s[i]) and not _is_dense(s[i]):
                i += 1
        i = _after_blanks(s, min(n, i + BLANK_RUN), i)
    return i


cdef inline Py_ssize_t _after_blanks(const Character* s, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    while i < n and Py_UNICODE_ISSPACE(s[i]):
        i += 1
    return i


def after_tokens(str text not None, Py_ssize_t position, Py_ssize_t tokens):
    """Return where the blanks after the next `tokens` tokens end, or before a very long run of blanks or the end.

    That is `position` itself where a blank stands there.
    """
    cdef Py_ssize_t n = len(text)
    cdef int kind = PyUnicode_KIND(text)
    if kind == 1:
        return _after_tokens(<const uint8_t*>PyUnicode_DATA(text), n, position, tokens)
    if kind == 2:
        return _after_tokens(<const uint16_t*>PyUnicode_DATA(text), n, position, tokens)
    return _after_tokens(<const uint32_t*>PyUnicode_DATA(text), n, position, tokens)


def after_blanks(str text not None, Py_ssize_t position):
    """Return the first visible character at or after `position`, or the length of `text`."""
    cdef Py_ssize_t n = len(text)
    cdef int kind = PyUnicode_KIND(text)
    if kind == 1:
        return _after_blanks(<const uint8_t*>PyUnicode_DATA(text), n, position)
    if kind == 2:
        return _after_blanks(<const uint16_t*>PyUnicode_DATA(text), n, position)
    return _after_blanks(<const uint32_t*>PyUnicode_DATA(text), n, position)
