# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Cuts a text into passages, and counts its signs; `sleuth.text.borders` says what a token is."""

from bisect import bisect_right

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from sleuth.text.borders import blank_line, sentence_of, top_level
from sleuth.types import Chunk

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    bint PyUnicode_IS_ASCII(object)
    bint Py_UNICODE_ISALPHA(uint32_t)
    bint Py_UNICODE_ISSPACE(uint32_t)

cdef enum:
    WORD_PIECE = 8    # as in `sleuth.text.borders`
    BLANK_RUN = 200   # blanks within a chunk at most: a longer run is a border
    MOST_HEADINGS = 6  # without text between them that count as one: Markdown has as many levels


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


ctypedef fused Sign:  # of a text of any kind
    uint8_t
    uint16_t
    uint32_t


cdef Py_ssize_t tokens_end(const Sign* s, Py_ssize_t n, Py_ssize_t i, Py_ssize_t tokens) noexcept:
    cdef Py_ssize_t end
    cdef uint32_t c
    while tokens > 0 and i < n:
        tokens -= 1
        c = s[i]
        if _is_blank(c):
            break
        i += 1
        end = i if _is_dense(c) else min(n, i + WORD_PIECE - 1)
        while i < end:
            c = s[i]
            if _is_blank(c) or _is_dense(c):
                break
            i += 1
        end = min(n, i + BLANK_RUN)
        while i < end and _is_blank(s[i]):
            i += 1
    return i


cpdef Py_ssize_t after_tokens(str text, Py_ssize_t position, Py_ssize_t tokens) except -1:
    """Return where the blanks after the next `tokens` tokens end, or before a very long run of blanks or the end.

    That is `position` itself where a blank stands there.
    """
    cdef Py_ssize_t n = len(text), kind = PyUnicode_KIND(text)
    cdef void* s = PyUnicode_DATA(text)
    if kind == 1:
        return tokens_end(<const uint8_t*>s, n, position, tokens)
    if kind == 2:
        return tokens_end(<const uint16_t*>s, n, position, tokens)
    return tokens_end(<const uint32_t*>s, n, position, tokens)


cpdef Py_ssize_t after_blanks(str text, Py_ssize_t position) except -1:
    """Return the first visible character at or after `position`, or the length of `text`."""
    cdef Py_ssize_t n = len(text)
    while position < n and is_blank(text, position):
        position += 1
    return position


cdef inline bint is_blank(str text, Py_ssize_t position) noexcept:
    return _is_blank(PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), position))


cdef class Cutter:
    """One pass over one text.

    Args:
        outline: of the text.
        size, overlap: as of `Chunker`.
        code: whether it is cut between definitions.
        paged: whether form feeds divide pages.
    """

    cdef str text
    cdef Py_ssize_t size, overlap
    cdef list headings, ends, paths, kept
    cdef object sentence
    cdef bint code, paged

    def __init__(self, str text not None, outline, Py_ssize_t size, Py_ssize_t overlap, bint code, bint paged):
        self.headings, self.ends, self.paths, self.kept = outline.headings, outline.ends, outline.paths, outline.kept
        self.text, self.size, self.overlap, self.code, self.paged = text, size, overlap, code, paged

    def chunks(self):
        """Return the chunks of the text, in order; each begins in the overlap with the one before, if there is one.

        `position` is the first visible character of a chunk, and `start` the first one that belongs to it, such as
        the indent of its line. `fresh` is where it goes beyond the chunk before.
        """
        cdef Py_ssize_t page = 1, page_end = self.page_end(0), line = 1, counted_to = 0, last_end = 0, back
        cdef Py_ssize_t position = after_blanks(self.text, 0), start = self.start_of(0), fresh, end, body_end
        cdef list chunks = []
        cdef bint within
        while position < len(self.text):
            while position >= page_end:
                page, page_end = page + 1, self.page_end(page_end + 1)
            fresh = after_blanks(self.text, max(last_end, position))
            within = self.next_cut(position, fresh, page_end, &end)
            body_end = end
            while body_end > start and is_blank(self.text, body_end - 1):
                body_end -= 1
            line += self.text.count("\n", counted_to, start)
            counted_to = start
            path = self.path_at(position) if self.headings else ""
            chunks.append(Chunk(
                self.text[start:body_end], start, body_end, line, line + self.text.count("\n", start, body_end),
                page if self.paged else None, {"heading": path} if path else {}, {},
            ))
            back = self.overlap_start(position, end) if within and self.overlap and not self.code else end
            last_end = end
            start = self.start_of(back)
            position = after_blanks(self.text, back)
        return chunks

    cdef Py_ssize_t start_of(self, Py_ssize_t position) except -1:
        """Return where the text after the blanks at `position` starts, with the indentation of its line."""
        cdef Py_ssize_t end = after_blanks(self.text, position), line
        if end == position:
            return position
        line = 1 + max(self.text.rfind("\n", max(position - 1, 0), end), self.text.rfind("\f", max(position - 1, 0), end))
        if line == 0 and position != 0:
            return end
        return line if end - line <= BLANK_RUN else end

    cdef Py_ssize_t page_end(self, Py_ssize_t position) except -1:
        cdef Py_ssize_t page_break = self.text.find("\f", position, len(self.text)) if self.paged else -1
        return page_break if page_break >= 0 else len(self.text)

    cdef str path_at(self, Py_ssize_t position):
        """Return the path of the section at `position`; headings that follow each other at once count as one."""
        cdef Py_ssize_t index = bisect_right(self.headings, position) - 1, end
        if index < 0:
            return ""
        end = min(index + MOST_HEADINGS, len(self.headings) - 1)
        while index < end and position <= self.headings[index + 1] <= after_blanks(self.text, self.ends[index]):
            index += 1
        return self.paths[index]

    cdef Py_ssize_t heading_after(self, Py_ssize_t position) except -1:
        """Return the first heading that starts at or after `position`, or the end of the text."""
        cdef Py_ssize_t index = bisect_right(self.headings, position - 1)
        return self.headings[index] if index < len(self.headings) else len(self.text)

    cdef tuple kept_at(self, Py_ssize_t position):
        """Return the block, not to be cut, that has `position` strictly inside, or None."""
        cdef Py_ssize_t index = bisect_right(self.kept, (position, -1)) - 1 if self.kept else -1
        if index < 0:
            return None
        start, end = block = self.kept[index]
        return block if start < position < end else None

    cdef bint next_cut(self, Py_ssize_t position, Py_ssize_t fresh, Py_ssize_t page_end, Py_ssize_t* end) except -1:
        """Find where the chunk from `position` ends, beyond `fresh`; return whether that is within a section."""
        cdef Py_ssize_t quarter, low, half, high, limit
        end[0] = page_end
        if page_end - position <= self.size // 4:  # many short pages would each be measured against a whole chunk
            return False
        quarter = after_tokens(self.text, position, self.size // 4)
        low = max(quarter, fresh + 1)
        limit = end[0] = min(page_end, self.heading_after(low))
        half = after_tokens(self.text, quarter, self.size // 2 - self.size // 4)
        high = half if half >= limit else after_tokens(self.text, half, self.size - self.size // 2)
        if high >= limit or after_blanks(self.text, after_tokens(self.text, high, self.size // 8)) >= limit:
            return False
        end[0] = self.best(low, max(half, low), high)
        return True

    cdef Py_ssize_t best(self, Py_ssize_t low, Py_ssize_t half, Py_ssize_t high) except -1:
        """Return the strongest border in [half, high], or the start of a block, after `low`, that `high` divides."""
        cdef Py_ssize_t border = -1
        if half >= high:
            return max(low, high)
        if self.code:
            border = self.last_match(top_level, half, high)
        elif block := self.kept_at(high):
            start, _ = block
            return start if start >= low else self.weakest(half, high)
        if border < 0:
            border = self.text.rfind("\n\n", half, high)
            border = border + 2 if border >= 0 else self.last_match(blank_line, half, high)
        if self.code:
            return border if border >= 0 else self.weakest(half, high)
        if border < 0:
            border = self.last_match(self.sentence_border(), half, high)
        if border < 0:
            return self.weakest(half, high)
        block = self.kept_at(border)
        return border if block is None else block[1]

    cdef Py_ssize_t last_match(self, pattern, Py_ssize_t low, Py_ssize_t high) except -2:
        """Return the end of the last match of `pattern` that ends in [low, high], or -1."""
        cdef Py_ssize_t last = -1, end
        for match in pattern.finditer(self.text, max(low - 10, 0), high + 2):  # a border may look at what follows it
            end = match.end()
            if low <= end <= high:
                last = end
        return last

    cdef object sentence_border(self):
        """Return the border of sentences in the text. A text of one chunk needs none."""
        if self.sentence is None:
            self.sentence = sentence_of(self.text)
        return self.sentence

    cdef Py_ssize_t weakest(self, Py_ssize_t half, Py_ssize_t high) except -1:
        """Return the start of the last line that starts in [half, high], else of the last word, else `high`."""
        cdef Py_ssize_t border = self.text.rfind("\n", max(half - 1, 0), high) + 1
        if border == 0 and not is_blank(self.text, high - 1):
            border = self.text.rfind(" ", half, high) + 1
        return border if border > 0 else high

    cdef Py_ssize_t overlap_start(self, Py_ssize_t position, Py_ssize_t end) except -1:
        """Return where the next chunk starts, at `end` or before it.

        That is the earliest sentence after `position` from which at most `overlap` tokens lead up to `end`, outside
        blocks that are kept whole; `end` if there is none or a heading lies between.
        """
        # With one blank after each, `overlap` tokens take at most so many characters.
        cdef Py_ssize_t low = max(position + 1, end - self.overlap * (WORD_PIECE + 1)), start
        for match in self.sentence_border().finditer(self.text, low, end):
            start = after_blanks(self.text, match.end())
            if start >= end:
                break
            if after_tokens(self.text, start, self.overlap) >= end and self.kept_at(start) is None:
                return start if self.heading_after(start) >= end else end
        return end


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
            letters += (c | 32) - 97 < 26 if c < 128 else Py_UNICODE_ISALPHA(c)
            visible += not _is_blank(c)
    return lines, blanks, letters, visible
