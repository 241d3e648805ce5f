# cython: language_level=3
"""Writes a page as Markdown in one pass over the HTML that a parser wrote of it: headings, lists, tables and code survive."""

import re
from html import unescape

cdef dict HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
cdef frozenset BLOCKS = frozenset(
    "address article blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2"
    " h3 h4 h5 h6 header hgroup hr legend li main ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
cdef frozenset LINES = frozenset("li tr caption thead tbody tfoot".split())
cdef frozenset EMPTY = frozenset("area base br col embed frame hr img input link meta param source track wbr".split())
blanks = re.compile(r"[ \t\n\r\f\v]+")
alternative = re.compile(r' alt="([^"]*)"')


cdef class Writer:
    """The Markdown of a page, as it grows."""

    cdef list parts
    cdef Py_ssize_t breaks  # line ends at the end of the text so far; 2 at the start, where no break is needed
    cdef bint space  # whether to write a blank before the next word
    cdef str prefix  # start of the next line: marks of a heading or an item
    cdef list lists  # for each open list: -1 if unordered, else the number of its last item
    cdef Py_ssize_t preformatted
    cdef str fence  # of the open block of code; "" in a cell of one line
    cdef bint is_heading
    cdef Py_ssize_t cells  # written of the open row

    def __cinit__(self):
        self.parts, self.lists, self.breaks, self.prefix, self.fence = [], [], 2, "", ""

    cdef open(self, str tag, str html, Py_ssize_t after):
        """Begin an element whose start tag ends at `after`."""
        if tag == "br":
            self.end_line(1)
        elif tag == "pre":
            self.preformatted += 1
            code = html[after : html.find("</pre>", after)] if self.preformatted == 1 else ""  # else read for each level
            # Code of several lines ends a row of cells: its fence stands on a line of its own.
            if self.preformatted == 1 and (not self.cells or "\n" in code.strip("\n")):
                self.cells, self.prefix = 0, ""
                self.end_line(2)
                self.fence = "~~~" if "```" in code else "```"
                self.raw(f"{self.fence}\n")
        elif tag == "td" or tag == "th":
            self.space = False  # the mark brings its own
            self.word(" | " if self.cells else "| ")
            self.cells += 1
        elif tag in BLOCKS:
            self.end_line(1 if tag in LINES or (tag in ("ul", "ol") and self.lists) else 2)
            if tag in HEADINGS:
                self.prefix = HEADINGS[tag]
                self.is_heading = True
            elif tag == "ul" or tag == "ol":
                self.lists.append(-1 if tag == "ul" else 0)
            elif tag == "li":
                self.prefix = "  " * (len(self.lists) - 1) + "- "
                if self.lists and self.lists[-1] >= 0:
                    self.lists[-1] += 1
                    self.prefix = f"{self.prefix[:-2]}{self.lists[-1]}. "
            elif tag == "tr":
                self.cells = 0

    cdef close(self, str tag):
        """End an element."""
        if tag not in BLOCKS or tag == "td" or tag == "th":
            return
        if tag == "pre" and self.preformatted:
            self.preformatted -= 1
            if self.fence and not self.preformatted:
                self.cells = 0
                self.end_line(1)
                self.raw(self.fence)
                self.fence = ""
        elif tag == "tr" and self.cells:
            self.raw(" |")
            self.cells = 0
        elif tag in ("ul", "ol") and self.lists:
            self.lists.pop()
        elif tag in HEADINGS:
            self.is_heading = False
        self.prefix = ""
        self.end_line(1 if tag in LINES or (tag in ("ul", "ol") and self.lists) else 2)

    cdef text(self, str text, str parent):
        if self.is_heading:
            if parent == "a" and not any(map(str.isalnum, text)):
                return  # of a link of the heading to itself, such as "¶" or "#"
            text = text.replace("\xa0", " ").replace("¶", "")
        if self.fence:
            self.raw(text)
            return
        text = text if text.isprintable() and "  " not in text else blanks.sub(" ", text)
        if text == " " or not text:
            self.space = self.space or bool(text)
            return
        self.space = self.space or text[0] == " "
        self.word(text.strip(" "))
        self.space = text[-1] == " "

    cdef word(self, str text):
        if self.space and not self.breaks and not (<str> self.parts[-1]).endswith(" "):
            self.parts.append(" ")
        self.raw(text)

    cdef raw(self, str text):
        if not text:
            return
        if self.prefix:
            self.parts.append(self.prefix)
            self.prefix = ""
        self.parts.append(text)
        self.space = False
        self.breaks = len(text) - len(text.rstrip("\n")) if text[-1] == "\n" else 0

    cdef end_line(self, Py_ssize_t lines):
        """End the line; two line ends separate blocks. Rows, and items before their first word, get no line end."""
        self.space = False
        if self.cells:
            self.space = True
        elif not self.prefix and self.breaks < lines:
            self.parts.append("\n" * (lines - self.breaks))
            self.breaks = lines


cdef Py_ssize_t end_of_tag(str html, Py_ssize_t start):
    """Return the end of the tag or comment that starts here; values of attributes are in double quotes."""
    cdef Py_ssize_t end, quote
    if html.startswith("<!--", start):
        end = html.find("-->", start + 4) + 3
        return end if end > 2 else len(html)
    end = html.find(">", start)
    quote = html.find('"', start, end)
    while quote >= 0 and end >= 0:
        quote = html.find('"', quote + 1)
        if quote < 0:
            return len(html)
        if quote > end:
            end = html.find(">", quote)
        quote = html.find('"', quote + 1, end)
    return end + 1 or len(html)


def to_markdown(str html not None):
    """Return the text of an element and all that it holds as Markdown.

    Args:
        html: as a parser writes it: only empty elements have no end tag, values of attributes stand in double quotes, and
            text has references for `&`, `<`, `>` and the no-break space.
    """
    cdef Py_ssize_t n = len(html), at = 0, start, after, end
    cdef str text, tag
    cdef list parents = [""]
    cdef Writer writer = Writer()
    while at < n:
        start = html.find("<", at)
        start = start if start >= 0 else n
        if start > at:
            text = html[at:start]
            writer.text(unescape(text) if "&" in text else text, parents[-1])
        at = after = end_of_tag(html, start)
        if html.startswith("</", start):
            writer.close(html[start + 2 : after - 1])
            if len(parents) > 1:
                parents.pop()
        elif start < n and html[start + 1 : start + 2] != "!":
            end = html.find(" ", start, after - 1)
            tag = html[start + 1 : end if end >= 0 else after - 1]
            writer.open(tag, html, after)
            if tag not in EMPTY:
                parents.append(tag)
            elif tag == "hr":
                writer.close(tag)
            elif tag == "img" and (match := alternative.search(html, start, after)):
                writer.text(unescape(match[1]), parents[-1])
    return "".join(writer.parts).strip("\n")
