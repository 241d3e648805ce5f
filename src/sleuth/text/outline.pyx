# cython: language_level=3
"""Finds the headings of a text, and the blocks in it that are cut only where they must be."""

from libc.stdint cimport uint32_t

from sleuth.text.borders import markdown_link

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t)
    bint Py_UNICODE_ISALNUM(uint32_t)
    Py_ssize_t PyUnicode_FindChar(object, uint32_t, Py_ssize_t, Py_ssize_t, int) except -2

cdef enum:
    INDENT = 3         # blanks before a line of Markdown
    FENCE_INDENT = 12  # in lists
    MARKS = 3          # of a fence, and of a line below a title
    LONGEST = 300      # characters of a title
    EMPTY_LINES = 9    # in a block of reStructuredText

cdef tuple NO_TITLE = (" ", "\t", ">", "|", "#", "+ ", "* ", "- ")


cdef class Outline:
    """What a scan of a whole text finds.

    Of Markdown that is headings (`#` and underlined), fenced code and tables; of reStructuredText headings, levels in
    order of first use, directives, literal blocks and grid tables; of other texts nothing.

    Args:
        form: "markdown", "rest" or "".
        title_only: whether the first heading is enough.

    Attributes:
        headings: where heading lines start, ascending.
        ends: where the lines of each heading end.
        paths: per heading, its path from the top: "Guide > Install".
        kept: (start, end) of blocks that are cut only where they do not fit a chunk, ascending and apart.
    """

    cdef readonly list headings, ends, paths, kept
    cdef list levels, above  # of the headings above, and their paths
    cdef str text
    cdef Py_ssize_t size
    cdef int kind
    cdef void* data

    def __init__(self, str text not None, str form not None, bint title_only=False):
        self.headings, self.ends, self.paths, self.kept, self.levels, self.above = [], [], [], [], [], []
        self.text, self.size, self.kind, self.data = text, len(text), PyUnicode_KIND(text), PyUnicode_DATA(text)
        if form == "markdown":
            self.scan_markdown(title_only)
        elif form == "rest":
            self.scan_rest(title_only)

    cdef int add(self, Py_ssize_t start, Py_ssize_t end, object level, str title) except -1:
        while self.levels and self.levels[-1] >= level:
            self.levels.pop()
            self.above.pop()
        self.levels.append(level)
        self.above.append(f"{self.above[-1]} > {title}" if self.above else title)
        self.headings.append(start)
        self.ends.append(end)
        self.paths.append(self.above[-1])
        return 0

    cdef inline uint32_t sign(self, Py_ssize_t at) noexcept:
        return PyUnicode_READ(self.kind, self.data, at) if at < self.size else c"\n"

    cdef inline bint is_space(self, Py_ssize_t at) noexcept:
        return self.sign(at) in (c" ", c"\t")

    cdef Py_ssize_t line_end(self, Py_ssize_t at) except -1:
        cdef Py_ssize_t end = PyUnicode_FindChar(self.text, c"\n", at, self.size, 1)
        return end if end >= 0 else self.size

    cdef Py_ssize_t after(self, uint32_t mark, Py_ssize_t at, Py_ssize_t most) noexcept:
        """Return where a run of a mark ends, after `most` of them at the latest."""
        cdef Py_ssize_t last = min(self.size, at + most)
        while at < last and self.sign(at) == mark:
            at += 1
        return at

    cdef bint ends_line(self, Py_ssize_t at) noexcept:
        """Return whether only blanks are left of a line."""
        while self.is_space(at):
            at += 1
        return self.sign(at) == c"\n"

    cdef Py_ssize_t after_fence(self, Py_ssize_t end, uint32_t mark, Py_ssize_t marks) except -1:
        """Return where the line ends that closes a fence, whose own line ends at `end`; else the end of the text."""
        cdef Py_ssize_t first, last
        while end < self.size:
            first = self.after(c" ", end + 1, FENCE_INDENT)
            last = self.after(mark, first, self.size)
            end = self.line_end(first)
            if last - first >= marks and self.ends_line(last):
                break
        return end

    cdef Py_ssize_t after_rows(self, Py_ssize_t end) except -1:
        """Return where the rows of a table end, the first of which ends at `end`."""
        while end < self.size and self.sign(self.after(c" ", end + 1, INDENT)) == c"|":
            end = self.line_end(end + 1)
        return end

    cdef Py_ssize_t after_body(self, Py_ssize_t end) except -1:
        """Return where the indented lines end that follow a line that ends at `end`."""
        cdef Py_ssize_t first
        while end < self.size:
            first = self.after(c"\n", end + 1, EMPTY_LINES)
            if not self.is_space(first):
                break
            end = self.line_end(first)
        return end

    cdef Py_ssize_t after_rest_block(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """Return where a grid table, directive or literal block ends that begins with a line; `end`, as the line, for none."""
        cdef Py_ssize_t last = end, at = start + 3
        if self.sign(start) in (c"+", c"|"):
            while self.sign(last + 1) in (c"+", c"|"):
                last = self.line_end(last + 1)
        elif self.text.startswith(".. ", start):
            while Py_UNICODE_ISALNUM(self.sign(at)) or self.sign(at) in (c"_", c"-"):
                at += 1
            if at > start + 3 and self.text.startswith("::", at):
                last = self.after_body(end)
        if last > end:
            return last
        while last > start and self.is_space(last - 1):
            last -= 1
        if last - start < 2 or self.sign(last - 1) != c":" or self.sign(last - 2) != c":" or not self.ends_line(end + 1):
            return end
        last = self.line_end(end + 1)
        return self.after_body(last) if self.is_space(last + 1) else end

    cdef int scan_markdown(self, bint title_only) except -1:
        cdef Py_ssize_t start = 0, above = -1, end, first, last, block_end
        cdef uint32_t mark
        while start < self.size and not (title_only and self.headings):
            end = block_end = self.line_end(start)
            first = self.after(c" ", start, FENCE_INDENT)
            mark = self.sign(first)
            last = self.after(mark, first, self.size) if mark in (c"#", c"=", c"-", c"`", c"~") else first
            is_plain = False
            if mark == c"~" or mark == c"`":
                is_plain = last - first < MARKS or (
                    mark == c"`" and PyUnicode_FindChar(self.text, c"`", last, end, 1) >= 0
                )
                block_end = end if is_plain else self.after_fence(end, mark, last - first)
            elif first - start > INDENT:
                is_plain = True
            elif mark == c"|":
                block_end = self.after_rows(end)
                is_plain = block_end == end
            elif mark == c"#" and last - first <= 6 and (self.is_space(last) or last == end):
                if title := plain_title(self.text[last:end]):
                    self.add(start, end, last - first, title)
            elif (mark == c"=" or (mark == c"-" and last - first > 1)) and self.ends_line(last):
                # The line above is the title, unless something that was found already holds it.
                title = self.text[above:min(start - 1, above + LONGEST)] if above >= 0 else ""
                if title and not title.startswith(NO_TITLE):
                    self.add(above, end, 1 if mark == c"=" else 2, plain_title(title))
            else:
                is_plain = True
            if not is_plain and mark in (c"|", c"`", c"~"):
                self.kept.append((start, block_end))
            above = start if is_plain else -1
            start = block_end + 1
        return 0

    cdef int scan_rest(self, bint title_only) except -1:
        cdef Py_ssize_t start = 0, above = 0, over = 0, block_end = 0, end, last
        cdef uint32_t mark
        cdef dict levels = {}
        while start < self.size and not (title_only and self.headings):
            end, mark = self.line_end(start), self.sign(start)
            last = self.after(mark, start, self.size) if mark < 128 and <char>mark in b"=-`:'\"~^_*+#<>." else start
            if last - start >= MARKS and 0 < start - above <= LONGEST + 1 and self.ends_line(last):
                title = self.text[above:start - 1].strip()
                if len(title) <= last - start and has_letters(title):
                    overline = self.text[over:above - 1] if 0 < above - over <= LONGEST + 1 else ""
                    key = mark, overline.rstrip() == self.text[start:last]
                    level = levels.setdefault(key, len(levels) + 1)  # in order of first use
                    self.add(over if key[1] else above, end, level, title.replace("`", ""))
            if start >= block_end and not title_only:
                block_end = self.after_rest_block(start, end)
                if block_end > end:
                    self.kept.append((start, block_end))
            over, above, start = above, start, end + 1
        return 0


cdef bint has_letters(str title) noexcept:
    for sign in title:
        if sign.isalnum():
            return True
    return False


cdef str plain_title(str title):
    title = title.strip()[:LONGEST]
    if title.endswith("#"):
        bare = title.rstrip("#")
        title = bare if not bare or bare[-1].isspace() else title
    if "[" in title:
        title = markdown_link.sub(r"\1", title)
    return title.strip("*_` \t").replace("`", "")
