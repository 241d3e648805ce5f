# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Cuts runs of a text into tokens: those of ASCII, which most are, without a pattern.

The tokens of an ASCII run are those that `sleuth.text.analyzers` and `sleuth.text.compounds` find, without their places.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr, memcmp

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    object PyUnicode_Substring(object, Py_ssize_t, Py_ssize_t)
    bint Py_UNICODE_ISALNUM(uint32_t)
    bint Py_UNICODE_ISDECIMAL(uint32_t)

WITHOUT_CLITICS, ALL_PARTS, FIRST_PART = range(3)
"""Which parts of a word with apostrophes are tokens: all but English endings such as "n't" and "'s", all, or the first."""


cdef enum:
    FEW_LETTERS = 3
    MOST_LETTERS = 20


cdef inline bint is_letter(char c) noexcept:
    return c"a" <= c <= c"z"


cdef inline bint is_digit(uint32_t c) noexcept:
    return c"0" <= c <= c"9"


cdef inline bint is_unspaced(uint32_t c) noexcept:
    """Whether a sign may be of a script that is written without spaces."""
    return c >= 0x0E00 and (
        c <= 0x0EFF or 0x1000 <= c <= 0x11FF or 0x1780 <= c <= 0x17FF or 0x2E80 <= c <= 0xD7FF or 0xF900 <= c <= 0xFAFF
        or 0xFE30 <= c <= 0xFFEF or 0x1AFF0 <= c <= 0x1B2FF or 0x1F200 <= c <= 0x1F2FF or 0x20000 <= c <= 0x3FFFF
    )


cdef inline bint is_word_letter(uint32_t c) noexcept:
    return Py_UNICODE_ISALNUM(c) and not Py_UNICODE_ISDECIMAL(c) and not is_unspaced(c)


cdef bint is_plain(const char* s, Py_ssize_t start, Py_ssize_t end) noexcept:
    """Return whether all signs, and one at least, are small letters and digits."""
    cdef Py_ssize_t i
    for i in range(start, end):
        if not (is_letter(s[i]) or is_digit(s[i])):
            return False
    return start < end


cdef Py_ssize_t end_without_clitic(const char* s, Py_ssize_t start, Py_ssize_t end) noexcept:
    cdef Py_ssize_t n = end - start
    if n >= 3 and (
        memcmp(s + end - 3, b"n't", 3) == 0
        or s[end - 3] == c"'" and memcmp(s + end - 2, b"ll", 2) * memcmp(s + end - 2, b"re", 2) * memcmp(s + end - 2, b"ve", 2) == 0
    ):
        return end - 3
    return end - 2 if n >= 2 and s[end - 2] == c"'" and memchr(b"sdm", s[end - 1], 3) != NULL else end


cdef add_words(list tokens, str run, const char* s, Py_ssize_t start, Py_ssize_t end, int apostrophes):
    """Add what apostrophes leave of a word."""
    cdef Py_ssize_t i
    if apostrophes == 0:
        while start < end and s[start] == c"'":
            start += 1
        while start < end and s[end - 1] == c"'":
            end -= 1
        end = end_without_clitic(s, start, end)
    for i in range(start, end):
        if s[i] == c"'":
            if i > start:
                tokens.append(PyUnicode_Substring(run, start, i))
            if apostrophes == 2:
                return
            start = i + 1
    if start < end:
        tokens.append(PyUnicode_Substring(run, start, end))


cdef add_numbers(list tokens, str run, const char* s, Py_ssize_t start, Py_ssize_t end, int apostrophes):
    """Add a word with dots: "2.10.3" and its parts, a decimal number such as "3.5mm" without them."""
    cdef Py_ssize_t i, at = start, dots = 0, dot = start
    cdef bint is_dotted = True, is_decimal
    for i in range(start, end + 1):
        if i == end or s[i] == c".":
            is_dotted = is_dotted and is_plain(s, at, i)
            if i < end:
                dots, dot = dots + 1, i
            at = i + 1
    if is_dotted:
        tokens.append(PyUnicode_Substring(run, start, end))
        is_decimal = dots == 1 and is_digit(s[dot + 1])
        for i in range(start, dot):
            is_decimal = is_decimal and is_digit(s[i])
        i = dot + 1
        while i < end and is_digit(s[i]):
            i += 1
        while i < end and is_letter(s[i]):
            i += 1
        if is_decimal and i == end:
            return
    at = start
    for i in range(start, end + 1):
        if i == end or s[i] == c".":
            add_words(tokens, run, s, at, i, apostrophes)
            at = i + 1


def short_parts(str run not None):
    """Return the places of two letters or more around a hyphen of which one side is short: "e-mail", "mp-3".

    The letters before a hyphen are up to three, and up to twenty behind it; or up to twenty, and three or a digit behind it.
    Scripts written without spaces have no such letters. What is around a place may belong to the word, too.
    """
    cdef Py_ssize_t n = len(run), hyphen = 0, start, end, most
    cdef int kind = PyUnicode_KIND(run)
    cdef void* s = PyUnicode_DATA(run)
    cdef list places = []
    for hyphen in range(1, n - 1):
        if PyUnicode_READ(kind, s, hyphen) != 45:
            continue
        start, end = hyphen, hyphen + 1
        while start > 0 and hyphen - start <= MOST_LETTERS and is_word_letter(PyUnicode_READ(kind, s, start - 1)):
            start -= 1
        if start == hyphen or hyphen - start > MOST_LETTERS:
            continue
        most = hyphen + 1 + (MOST_LETTERS if hyphen - start <= FEW_LETTERS else FEW_LETTERS)
        while end < min(n, most) and is_word_letter(PyUnicode_READ(kind, s, end)):
            end += 1
        if end == hyphen + 1 and hyphen - start >= 2 and is_digit(PyUnicode_READ(kind, s, end)):
            end += 1
        if end > hyphen + 1:
            places.append((start, end))
    return places


def cut_run(int apostrophes, str run not None):
    """Return the tokens of an ASCII run in small letters; None where it may hold an acronym, a sign or a single letter.

    Args:
        apostrophes: one of `WITHOUT_CLITICS`, `ALL_PARTS` and `FIRST_PART`.
    """
    cdef Py_ssize_t n = len(run), i, at = 0, hyphen = 0, hyphens = 0
    cdef const char* s = <const char*>PyUnicode_DATA(run)
    cdef bint has_dots
    cdef list tokens = []
    if not PyUnicode_IS_ASCII(run) or n == 0:
        return None
    if s[n - 1] == c"#" or s[n - 1] == c"+" or (n > 1 and (s[n - 2] <= c" " or s[n - 2] == c"." and is_letter(s[n - 1]))):
        return None
    has_dots = memchr(s, c".", n) != NULL
    for i in range(n + 1):
        if i < n and s[i] != c"-":
            continue
        if i < n:
            hyphen, hyphens = i, hyphens + 1
        if has_dots and memchr(s + at, c".", i - at) != NULL:
            add_numbers(tokens, run, s, at, i, apostrophes)
        else:
            add_words(tokens, run, s, at, i, apostrophes)
        at = i + 1
    if hyphens == 1 and not has_dots and short_parts(run) == [(0, n)]:
        tokens.append(run[:hyphen] + run[hyphen + 1 :])
    return tokens


def cut_runs(list runs not None, stop, Py_ssize_t longest, bint folded, cut, find):
    """Return the tokens of runs, all in one list, and of how many each run has.

    Args:
        stop: tokens that are left out, a set.
        longest: characters of a token; longer ones are left out.
        folded: whether a run of ASCII letters and digits is its own token.
        cut: returns the tokens of an ASCII run, or None; None where only `find` does.
        find: returns the tokens of any run, each behind its place.
    """
    cdef list tokens = [], counts = []
    cdef str run, token
    cdef Py_ssize_t size = 0
    for run in runs:
        if folded and PyUnicode_IS_ASCII(run) and run.isalnum():
            if len(run) <= longest and run not in stop:
                tokens.append(run)
        else:
            pieces = cut(run) if cut is not None and PyUnicode_IS_ASCII(run) else None
            if pieces is None:
                pieces = [piece for _, _, piece in find(run)]
            for token in pieces:
                if len(token) <= longest and token not in stop:
                    tokens.append(token)
        counts.append(len(tokens) - size)
        size = len(tokens)
    return tokens, counts


def has_unspaced(str text not None):
    """Return whether a text may hold scripts written without spaces, whose runs are long."""
    cdef Py_ssize_t i
    cdef int kind = PyUnicode_KIND(text)
    cdef void* s = PyUnicode_DATA(text)
    if kind == 1:
        return False
    for i in range(len(text)):
        if is_unspaced(PyUnicode_READ(kind, s, i)):
            return True
    return False
