# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps over the tokens and the blanks of a text, and counts its signs; `sleuth.text.borders` says what a token is."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    bint PyUnicode_IS_ASCII(object)
    bint Py_UNICODE_ISALPHA(uint32_t)
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


cdef bint[256] BLANKS  # of Latin-1, which most texts are
for _code in range(256):
    BLANKS[_code] = chr(_code).isspace()


cdef inline bint _is_blank(uint32_t c) noexcept:
    return BLANKS[c] if c < 256 else Py_UNICODE_ISSPACE(c)


cdef inline Py_ssize_t _after_blanks(int kind, void* s, Py_ssize_t n, Py_ssize_t i) noexcept:
    while i < n and _is_blank(PyUnicode_READ(kind, s, i)):
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
        if _is_blank(c):
            break
        i += 1
        end = i if _is_dense(c) else min(n, i + WORD_PIECE - 1)
        while i < end:
            c = PyUnicode_READ(kind, s, i)
            if _is_blank(c) or _is_dense(c):
                break
            i += 1
        i = _after_blanks(kind, s, min(n, i + BLANK_RUN), i)
    return i


def after_blanks(str text not None, Py_ssize_t position):
    """Return the first visible character at or after `position`, or the length of `text`."""
    return _after_blanks(PyUnicode_KIND(text), PyUnicode_DATA(text), len(text), position)


def count_signs(str text not None, Py_ssize_t start, Py_ssize_t end):
    """Return how many signs of a part of a text are line ends, blanks or tabs, letters, and visible."""
    cdef Py_ssize_t lines = 0, blanks = 0, letters = 0, visible = 0, i
    cdef int kind = PyUnicode_KIND(text)
    cdef void* s = PyUnicode_DATA(text)
    cdef uint32_t c
    cdef uint8_t sign
    start, end = max(start, 0), min(end, len(text))
    if PyUnicode_IS_ASCII(text):
        for i in range(start, end):  # without branches, for vectors
            sign = (<const uint8_t*>s)[i]
            lines += sign == 10
            blanks += (sign == 32) | (sign == 9)
            letters += <uint8_t>((sign | 32) - 97) < 26
            visible += not ((sign == 32) | (<uint8_t>(sign - 9) < 5) | (<uint8_t>(sign - 28) < 4))
    else:
        for i in range(start, end):
            c = PyUnicode_READ(kind, s, i)
            lines += c == 10
            blanks += c == 32 or c == 9
            letters += Py_UNICODE_ISALPHA(c)
            visible += not _is_blank(c)
    return lines, blanks, letters, visible
