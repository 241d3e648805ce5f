# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Cuts runs of a text into tokens: those of ASCII, which most are, without a pattern.

The tokens of an ASCII run are those that `sleuth.text.analyzers` and `sleuth.text.compounds` find, without their places.
"""

from libc.stdint cimport uint32_t

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    bint Py_UNICODE_ISALNUM(uint32_t)
    bint Py_UNICODE_ISDECIMAL(uint32_t)

cdef enum:
    FEW_LETTERS = 3
    MOST_LETTERS = 20

WITHOUT_CLITICS, ALL_PARTS, FIRST_PART = range(3)
"""Which parts of a word with apostrophes are tokens: all but English endings such as "n't" and "'s", all, or the first."""
cdef tuple CLITICS = ("n't", "'s", "'ll", "'re", "'ve", "'d", "'m")


cdef inline bint is_unspaced(uint32_t c) noexcept:
    """Whether a sign may be of a script that is written without spaces."""
    return c >= 0x0E00 and (
        c <= 0x0EFF or 0x1000 <= c <= 0x11FF or 0x1780 <= c <= 0x17FF or 0x2E80 <= c <= 0xD7FF or 0xF900 <= c <= 0xFAFF
        or 0xFE30 <= c <= 0xFFEF or 0x1AFF0 <= c <= 0x1B2FF or 0x1F200 <= c <= 0x1F2FF or 0x20000 <= c <= 0x3FFFF
    )


cdef inline bint is_letter(uint32_t c) noexcept:
    return Py_UNICODE_ISALNUM(c) and not Py_UNICODE_ISDECIMAL(c) and not is_unspaced(c)


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
        while start > 0 and hyphen - start <= MOST_LETTERS and is_letter(PyUnicode_READ(kind, s, start - 1)):
            start -= 1
        if start == hyphen or hyphen - start > MOST_LETTERS:
            continue
        most = hyphen + 1 + (MOST_LETTERS if hyphen - start <= FEW_LETTERS else FEW_LETTERS)
        while end < min(n, most) and is_letter(PyUnicode_READ(kind, s, end)):
            end += 1
        if end == hyphen + 1 and hyphen - start >= 2 and 48 <= PyUnicode_READ(kind, s, end) <= 57:
            end += 1
        if end > hyphen + 1:
            places.append((start, end))
    return places


cdef add_words(list tokens, str word, int apostrophes):
    """Add what apostrophes leave of a word."""
    cdef list parts
    if apostrophes == 0:
        word = word.strip("'")
        for clitic in CLITICS:
            if word.endswith(clitic):
                word = word[: len(word) - len(clitic)]
                break
    parts = word.split("'")
    for part in parts[:1] if apostrophes == 2 else parts:
        if part:
            tokens.append(part)


def cut_run(int apostrophes, str run not None):
    """Return the tokens of an ASCII run in small letters; None where it may hold an acronym, a sign or a single letter.

    Args:
        apostrophes: one of `WITHOUT_CLITICS`, `ALL_PARTS` and `FIRST_PART`.
    """
    cdef list tokens = [], pieces
    cdef str part, piece
    if run[-1:] in "#+" or run[-2:-1].isspace() or (run[-2:-1] == "." and run[-1:].isalpha()):
        return None
    for part in run.split("-"):
        if part.isalnum():
            tokens.append(part)
        elif "." not in part:
            add_words(tokens, part, apostrophes)
        else:  # "2.10.3" and its parts, a decimal number such as "3.5mm" without them
            pieces = part.split(".")
            if all([piece.isalnum() for piece in pieces]):
                tokens.append(part)
                if len(pieces) == 2 and pieces[0].isdecimal() and pieces[1].rstrip("abcdefghijklmnopqrstuvwxyz").isdecimal():
                    continue
            for piece in pieces:
                add_words(tokens, piece, apostrophes)
    if "-" in run and "." not in run and short_parts(run) == [(0, len(run))]:
        tokens.append(run.replace("-", ""))
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
