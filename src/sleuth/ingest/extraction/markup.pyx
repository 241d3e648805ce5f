# cython: language_level=3
"""Writes a page as Markdown in one pass over the HTML that a parser wrote of it: headings, lists, tables and code survive."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, memcpy, strlen

cdef enum:  # how Markdown writes an element: from RULE on, it ends a line; HEADING and its level are a heading
    INLINE, LINK, BREAK, CELL, RULE, CODE, LINE, ROW, ITEM, BULLETS, NUMBERS, BLOCK, HEADING
cdef enum:
    EMPTY = 1, DROPPED = 2, RAW = 4, PART = 8, NAME = 16  # has no end tag; its text holds no tags; may be all; names the page
    ROLES = 5  # the bits of these
    SHORT = 200  # characters
    DEEPEST = 100  # lists within more are indented as these
cdef dict ELEMENTS = {
    name: kind << ROLES | roles
    for kind, roles, names in (
        (BLOCK, 0, b"address blockquote center dd details div dl dt fieldset figcaption figure footer form header hgroup"),
        (BLOCK, 0, b"legend p section summary table"), (BLOCK, PART, b"main article body"), (HEADING + 1, NAME, b"h1"),
        (HEADING + 2, 0, b"h2"), (HEADING + 3, 0, b"h3"), (HEADING + 4, 0, b"h4"), (HEADING + 5, 0, b"h5"),
        (HEADING + 6, 0, b"h6"), (CODE, 0, b"pre"), (CELL, 0, b"td th"), (LINE, 0, b"caption thead tbody tfoot"),
        (ROW, 0, b"tr"), (ITEM, 0, b"li"), (BULLETS, 0, b"ul"), (NUMBERS, 0, b"ol"), (LINK, 0, b"a"), (BREAK, EMPTY, b"br"),
        (RULE, EMPTY, b"hr"), (INLINE, EMPTY, b"area base basefont bgsound col embed frame img keygen link meta param"),
        (INLINE, EMPTY, b"source track wbr"), (INLINE, EMPTY | DROPPED, b"input"), (INLINE, NAME, b"title"),
        (INLINE, RAW, b"xmp noembed noframes"), (INLINE, RAW | DROPPED, b"script style iframe"),
        (INLINE, DROPPED, b"noscript template svg canvas object nav aside button select textarea dialog"),
    )
    for name in names.split()
}
cdef tuple PARTS = (b"main", b"role=main", b"article", b"body")  # the first that a page has once, and that is long


cdef inline int add(bytearray out, const void* data, Py_ssize_t size) except -1:
    PyByteArray_Resize(out, len(out) + size)
    memcpy(PyByteArray_AS_STRING(out) + len(out) - size, data, size)
    return 0


cdef inline bint is_at(const uint8_t* html, Py_ssize_t n, const char* text) noexcept:
    return n >= <Py_ssize_t>strlen(text) and memcmp(html, text, strlen(text)) == 0


cdef inline Py_ssize_t find(const uint8_t* html, Py_ssize_t at, Py_ssize_t n, uint8_t sign) noexcept:
    """Return where a sign stands next, or the end."""
    cdef const void* place = memchr(html + at, sign, n - at) if at < n else NULL
    return n if place == NULL else <const uint8_t*>place - html


cdef class Writer:
    """The Markdown of a part of a page, as it grows."""

    cdef bytearray out
    cdef Py_ssize_t depth  # of its element
    cdef Py_ssize_t length  # characters of text from the first visible one to the last one
    cdef Py_ssize_t length_with_blanks
    cdef Py_ssize_t breaks  # line ends at the end of the text so far; 2 at the start, where no break is needed
    cdef bint space  # whether to write a blank before the next word
    cdef bytes prefix  # start of the next line: marks of a heading or an item
    cdef list lists  # for each open list: -1 if unordered, else the number of its last item
    cdef Py_ssize_t preformatted
    cdef bytes fence  # of the open block of code; empty in a cell of one line
    cdef bint is_heading
    cdef Py_ssize_t cells  # written of the open row

    def __cinit__(self, Py_ssize_t depth):
        self.out, self.lists, self.depth, self.breaks = bytearray(), [], depth, 2
        self.prefix = self.fence = b""

    cdef int open(self, int kind, bytes html, Py_ssize_t after) except -1:
        """Begin an element whose start tag ends at `after`."""
        if kind == BREAK:
            self.end_line(1)
        elif kind == CODE:
            self.preformatted += 1
            code = html[after : html.find(b"</pre>", after)] if self.preformatted == 1 else b""  # else read for each level
            # Code of several lines ends a row of cells: its fence stands on a line of its own.
            if self.preformatted == 1 and (not self.cells or b"\n" in code.strip(b"\n")):
                self.cells, self.prefix = 0, b""
                self.end_line(2)
                self.fence = b"~~~" if b"```" in code else b"```"
                self.put(self.fence + b"\n", 4)
        elif kind == CELL:
            self.space = False  # the mark brings its own
            self.put_word(b" | " if self.cells else b"| ", 3 if self.cells else 2)
            self.cells += 1
        elif kind >= RULE:
            self.end_line(self.distance(kind))
            if kind > HEADING:
                self.prefix, self.is_heading = b"#" * (kind - HEADING) + b" ", True
            elif kind == BULLETS or kind == NUMBERS:
                self.lists.append(-1 if kind == BULLETS else 0)
            elif kind == ITEM:
                self.prefix = b"  " * (min(len(self.lists), DEEPEST) - 1) + b"- "
                if self.lists and self.lists[-1] >= 0:
                    self.lists[-1] += 1
                    self.prefix = self.prefix[:-2] + b"%d. " % self.lists[-1]
            elif kind == ROW:
                self.cells = 0
        return 0

    cdef int close(self, int kind) except -1:
        """End an element."""
        if kind < RULE:
            return 0
        if kind == CODE and self.preformatted:
            self.preformatted -= 1
            if self.fence and not self.preformatted:
                self.cells = 0
                self.end_line(1)
                self.put(self.fence, 3)
                self.fence = b""
        elif kind == ROW and self.cells:
            self.put(b" |", 2)
            self.cells = 0
        elif (kind == BULLETS or kind == NUMBERS) and self.lists:
            self.lists.pop()
        elif kind > HEADING:
            self.is_heading = False
        self.prefix = b""
        return self.end_line(self.distance(kind))

    cdef Py_ssize_t distance(self, int kind) except -1:
        """Return how many line ends separate an element from what stands around it."""
        return 1 if LINE <= kind <= ITEM or ((kind == BULLETS or kind == NUMBERS) and self.lists) else 2

    cdef int end_line(self, Py_ssize_t lines) except -1:
        """End the line; two line ends separate blocks. Rows, and items before their first word, get no line end."""
        self.space = self.cells > 0
        if not self.cells and not self.prefix and self.breaks < lines:
            add(self.out, b"\n\n", lines - self.breaks)
            self.breaks = lines
        return 0

    cdef int text(self, const uint8_t* html, Py_ssize_t n, bint is_link) except -1:
        """Write a text with its references; outside of code, a run of blanks is one."""
        cdef bint is_code = len(self.fence) > 0, is_blank
        cdef Py_ssize_t at = 0, size = 0
        cdef bytearray room = bytearray(n)
        cdef uint8_t* words = room
        cdef uint8_t sign
        while at < n:
            sign = html[at]
            at += 1
            if sign == c"&":
                if is_at(html + at, n - at, b"lt;"):
                    sign = c"<"
                elif is_at(html + at, n - at, b"gt;"):
                    sign = c">"
                elif is_at(html + at, n - at, b"quot;"):
                    sign = c'"'
                elif is_at(html + at, n - at, b"nbsp;") and self.is_heading:
                    sign = c" "
                elif is_at(html + at, n - at, b"nbsp;"):
                    words[size], sign = 0xC2, 0xA0
                    size += 1
                    self.length_with_blanks += self.length > 0
                if sign != c"&" or is_at(html + at, n - at, b"amp;"):
                    at = find(html, at, n, c";") + 1
            elif self.is_heading and sign == 0xC2 and html[at] == 0xB6:  # a pilcrow
                at += 1
                continue
            is_blank = sign == 32 or 9 <= sign <= 13
            if self.length or not is_blank:
                self.length_with_blanks += sign & 0xC0 != 0x80
            if not is_blank:
                self.length = self.length_with_blanks
            elif not is_code:
                if size and words[size - 1] == c" ":
                    continue
                sign = c" "
            words[size] = sign
            size += 1
        if is_link and self.is_heading and not any(map(str.isalnum, words[:size].decode())):
            return 0  # of a link of the heading to itself, such as "¶" or "#"
        if is_code or not size:
            return self.put(words, size)
        at = words[0] == c" "
        self.space |= at
        if at < size:
            is_blank = words[size - 1] == c" "
            self.put_word(words + at, size - at - is_blank)
            self.space = is_blank
        return 0

    cdef int put_word(self, const uint8_t* text, Py_ssize_t size) except -1:
        if self.space and not self.breaks and self.out[-1] != c" ":
            self.out.append(c" ")
        return self.put(text, size)

    cdef int put(self, const uint8_t* text, Py_ssize_t size) except -1:
        if not size:
            return 0
        if self.prefix:
            self.out += self.prefix
            self.prefix = b""
        add(self.out, text, size)
        self.space = False
        self.breaks = 0
        while self.breaks < size and text[size - self.breaks - 1] == c"\n":
            self.breaks += 1
        return 0


def to_markdown(str html not None):
    """Return the HTML in the first <title> and in the first <h1> of a page, and its main part as Markdown.

    Navigation, scripts, forms and hidden elements are dropped. The main part is the only <main>, else the only element of
    this role, else the only <article>, if it has more than 200 characters; else it is the body.

    Args:
        html: as a parser writes it, without scripts: only empty elements have no end tag, values of attributes stand in double quotes, and
            text has references for `&`, `<`, `>` and the no-break space.
    """
    cdef bytes data = html.encode(), tag, alternative
    cdef const uint8_t* page = data
    cdef Py_ssize_t n = len(data), at = 0, start, name, dropped = 0  # how many elements are open in the outermost one
    cdef list open = [], kinds = [INLINE], writers = []
    cdef dict parts = {}, names = {}
    cdef set repeated = set()
    cdef Writer writer
    cdef int kind, roles
    cdef bint is_dropped, is_main
    while at < n:
        start = at
        if page[at] != c"<":
            at = find(page, at, n, c"<")
            if not dropped:
                for writer in writers:
                    writer.text(page + start, at - start, kinds[-1] == LINK)
            continue
        if page[at + 1] == c"!":
            at = find(page, max(at, data.find(b"-->", at + 4)) if page[at + 2] == c"-" else at, n, c">") + 1
            continue
        if page[at + 1] == c"/":
            at = find(page, at, n, c">") + 1
            # In drawings, empty elements have end tags, too.
            if not open or len(open[-1]) != at - start - 3 or not is_at(page + start + 2, n - start, open[-1]):
                continue
            kind = kinds.pop()
            if not dropped:
                for writer in writers:
                    writer.close(kind)
                while writers and (<Writer>writers[-1]).depth == len(open):
                    writers.pop()
            elif dropped == len(open):
                dropped = 0
            open.pop()
            continue
        while at < n and page[at] != c" " and page[at] != c">":
            at += 1
        tag = page[start + 1 : at]
        roles = ELEMENTS.get(tag, 0)
        kind = roles >> ROLES
        is_dropped = roles & DROPPED or (kind == BLOCK and open and open[-1] == b"body" and tag in (b"header", b"footer"))
        is_main, alternative = False, b""
        while at < n and page[at] == c" ":
            name, start = at + 1, find(page, at + 2, n, c"=") + 2
            at = find(page, start, n, c'"') + 1
            if is_at(page + name, at - name, b'hidden="') or is_at(page + name, at - name, b'aria-hidden="true"'):
                is_dropped = True
            elif is_at(page + name, at - name, b'role="'):
                is_main = is_at(page + start, at - start, b'main"')
                is_dropped |= page[start : at - 1] in (b"navigation", b"search")
            elif kind == LINK and is_at(page + name, at - name, b'class="'):
                is_dropped |= b"headerlink" in page[start : at - 1].split()
            elif tag == b"img" and is_at(page + name, at - name, b'alt="'):
                alternative = page[start : at - 1]
        at += 1
        if roles & EMPTY:
            if not dropped and not is_dropped:
                for writer in writers:
                    writer.open(kind, data, at)
                    writer.text(alternative, len(alternative), kinds[-1] == LINK)
                    writer.close(kind)
            continue
        open.append(tag)
        kinds.append(kind)
        if roles & NAME and tag not in names and b"template" not in open:
            names[tag] = data[at : data.find(b"</" + tag, at)].decode()
        if is_dropped and not dropped:
            dropped = len(open)
        if not dropped:
            if roles & PART or is_main:
                for part in (tag, b"role=main") if is_main else (tag,):
                    if part in parts:
                        repeated.add(part)
                    elif part in PARTS:
                        parts[part] = Writer(len(open))
                        writers.append(parts[part])
            for writer in writers:
                writer.open(kind, data, at)
        if roles & RAW:
            start, at = at, max(at, data.find(b"</" + tag, at))
            if not dropped:
                for writer in writers:
                    writer.text(page + start, at - start, False)
    chosen = [
        (<Writer>parts[part]).out for part in PARTS
        if part in parts and (part == b"body" or (part not in repeated and (<Writer>parts[part]).length > SHORT))
    ]
    return names.get(b"title", ""), names.get(b"h1", ""), chosen[0].decode().strip("\n") if chosen else ""
