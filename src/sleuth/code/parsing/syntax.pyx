# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What stands in the syntax tree of a source? Parsed and taken apart in C, without the interpreter's lock.

The tree-sitter runtime is compiled in (`treesitter/`); a grammar is the pointer that its wheel hands over. A `Tree` holds
spans only, as arrays of int32 whose columns are named in `sleuth.code.parsing.parse`: text is read where it is needed.
"""

import numpy as np
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcpy, memset

cdef extern from "trees.h":  # named so that a change of any of them compiles this anew
    pass
cdef extern from "shortcuts.h":
    pass
cdef extern from "lexing.h":
    pass
cdef extern from "matches.h":
    pass
cdef extern from "extract.h":
    pass
cdef extern from "references.h":
    pass
cdef extern from "cutting.h" nogil:
    ctypedef struct TSLanguage:
        pass
    ctypedef struct Step:
        pass
    ctypedef struct Program:
        const Step* steps
        const int32_t* roots
        const int32_t* chain
        const int32_t* pattern
        const char* const* words
        const int32_t* word_at
        uint32_t symbols
    ctypedef struct Fields:
        uint16_t name
        uint16_t type
        uint16_t declarator
        uint16_t body
        uint16_t value
        uint16_t right
        uint16_t method
        uint16_t object
        uint16_t receiver
        uint16_t scope
    ctypedef struct CGrammar "Grammar":
        const TSLanguage* language
        Program program
        Fields fields
        const uint16_t* facts
        char comment
        int capitals
        int ruby
        int receivers
    ctypedef struct Def:
        int32_t name_end
    ctypedef struct Ref:
        int32_t name
        int32_t name_end
        int32_t odd
    ctypedef struct Import:
        int32_t start
        int32_t end
    ctypedef struct Chunk:
        int32_t symbol
    ctypedef struct Defs:
        Def* data
        uint32_t n
    ctypedef struct Refs:
        Ref* data
        uint32_t n
    ctypedef struct Imports:
        Import* data
        uint32_t n
    ctypedef struct Chunks:
        Chunk* data
        uint32_t n
    ctypedef struct Found:
        uint32_t count
        uint32_t odd
        Defs defs
        Refs refs
        Imports imports
        Chunks chunks
        int sound
    ctypedef struct Limits:
        int32_t whole_lines
        int32_t container_lines
        int32_t part_lines
    ctypedef struct Arena:
        Arena* next
    void use_arenas()
    void take_apart(Found*, const CGrammar*, Arena*, Limits, const char*, uint32_t)
    void found_free(Found*)
    uint32_t ts_language_symbol_count(const TSLanguage*)
    uint16_t ts_language_symbol_for_name(const TSLanguage*, const char*, uint32_t, bint)
    const char* ts_language_symbol_name(const TSLanguage*, uint16_t)
    uint16_t ts_language_field_id_for_name(const TSLanguage*, const char*, uint32_t)
cdef extern from "packing.h" nogil:
    const int PACKED_MOST
    size_t pack_table(const int32_t*, size_t, size_t, uint8_t*)
    size_t packed_most(const Found*)
    size_t pack_found(const Found*, int32_t, uint8_t*)
cdef extern from "naming.h" nogil:
    ctypedef struct Qualified:
        char* text
        uint32_t* ends
        uint32_t size
    int qualify(const Found*, Qualified*)
    uint32_t qualified_size(const Qualified*, int32_t)
    const char* qualified_text(const Qualified*, int32_t)
    size_t join_names(const Found*, bint, char*)

use_arenas()
cdef Arena* idle = NULL  # arenas that no thread uses; taken and given back under the interpreter's lock


cdef class Grammar:
    """A language's grammar, with its patterns.

    Args:
        pointer: what the function of a grammar's wheel gives: a capsule, or the address as an int.
    """

    cdef CGrammar g
    cdef list kept

    def __cinit__(self, pointer):
        memset(&self.g, 0, sizeof(CGrammar))
        if isinstance(pointer, int):
            self.g.language = <const TSLanguage*><size_t>pointer
        else:
            self.g.language = <const TSLanguage*>PyCapsule_GetPointer(pointer, "tree_sitter.Language")
        self.g.program.symbols = ts_language_symbol_count(self.g.language)
        self.kept = [pointer]

    def symbol(self, str name not None):
        """The number of a named node's symbol, or in double quotes of a word's; 0 where there is none."""
        data = name.strip('"').encode()
        return ts_language_symbol_for_name(self.g.language, data, len(data), not name.startswith('"'))

    def symbols(self):
        """The name of every symbol."""
        return [(<bytes>ts_language_symbol_name(self.g.language, i)).decode() for i in range(self.g.program.symbols)]

    def field(self, str name not None):
        """The number of a field; 0 where there is none."""
        data = name.encode()
        return ts_language_field_id_for_name(self.g.language, data, len(data))

    def give(self, const int32_t[:, ::1] steps not None, const int32_t[::1] pattern not None, list words not None,
             const uint16_t[::1] facts not None, *, str comment, bint capitals, bint ruby, bint receivers):
        """What to look for.

        Args:
            steps: shape (n, 9), columns as in `matches.h`.
            pattern: per pattern its first step, in order of precedence.
            words: lists of the texts that a node may have, bytes.
            facts: per symbol, bits as in `extract.h`.
            comment: what opens a line comment.
            capitals, ruby, receivers: customs of the language.
        """
        cdef int32_t i, n = pattern.shape[0]
        cdef uint32_t symbols = self.g.program.symbols
        if steps.shape[1] != 9 or facts.shape[0] != symbols:
            raise ValueError("steps must have 9 columns and facts one entry per symbol")
        roots_array = np.full(symbols, -1, np.int32)
        chain_array = np.full(max(1, n), -1, np.int32)
        cdef int32_t[::1] roots = roots_array, chain = chain_array
        for i in range(n - 1, -1, -1):
            chain[i] = roots[steps[pattern[i], 0]]
            roots[steps[pattern[i], 0]] = i
        steps_copy, pattern_copy, facts_copy = np.array(steps), np.array(pattern), np.array(facts)
        cdef int32_t[:, ::1] s = steps_copy
        cdef int32_t[::1] p = pattern_copy
        cdef uint16_t[::1] f = facts_copy
        starts = []
        flat = []
        for some in words:
            starts.append(len(flat))
            flat += [*some, None]
        word_at_array = np.array(starts or [0], np.int32)
        pointers_array = np.zeros(max(1, len(flat)), np.uintp)
        cdef int32_t[::1] word_at = word_at_array
        cdef size_t[::1] pointers = pointers_array
        for i, word in enumerate(flat):
            pointers[i] = 0 if word is None else <size_t><const char*>(<bytes>word)
        self.kept += [steps_copy, pattern_copy, facts_copy, roots_array, chain_array, word_at_array, pointers_array, flat]
        self.g.program.steps = <const Step*>&s[0, 0]
        self.g.program.pattern = &p[0]
        self.g.program.roots = &roots[0]
        self.g.program.chain = &chain[0]
        self.g.program.word_at = &word_at[0]
        self.g.program.words = <const char* const*><void*>&pointers[0]
        self.g.facts = &f[0]
        self.g.comment = <char>ord(comment[0])
        self.g.capitals, self.g.ruby, self.g.receivers = capitals, ruby, receivers
        self.g.fields = Fields(
            self.field("name"), self.field("type"), self.field("declarator"), self.field("body"), self.field("value"),
            self.field("right"), self.field("method"), self.field("object"), self.field("receiver"), self.field("scope"),
        )


cdef _table(const void* data, uint32_t n, int width):
    """A copy as an array of int32, shape (n, width)."""
    out = np.empty((n, width), np.int32)
    cdef int32_t[:, ::1] rows = out
    if n:
        memcpy(&rows[0, 0], data, n * width * sizeof(int32_t))
    return out


cdef class Tree:
    """A source, taken apart. Made by `parse_all`.

    Attributes:
        sound: False where the tree holds errors.
        nodes: how many visible ones it has.
        odd: how many references are not plain.
    """

    cdef Found found
    cdef bytes source

    def __dealloc__(self):
        found_free(&self.found)

    @property
    def sound(self):
        return self.found.sound > 0

    @property
    def nodes(self):
        return self.found.count

    @property
    def odd(self):
        return self.found.odd

    def definitions(self):
        """In order of start, longer first: shape (n, 15), columns as `Def` in `extract.h`."""
        return _table(self.found.defs.data, self.found.defs.n, 15)

    def references(self):
        """In order of place: shape (n, 8), columns as `Ref` in `extract.h`."""
        return _table(self.found.refs.data, self.found.refs.n, 8)

    def imports(self):
        """In order of place: shape (n, 4), columns as `Import` in `extract.h`."""
        return _table(self.found.imports.data, self.found.imports.n, 4)

    def used_names(self):
        """The names of all plain references, a space between."""
        cdef uint32_t i
        cdef size_t size = 0, used = 0
        cdef Ref* r
        cdef const char* source = self.source
        for i in range(self.found.refs.n):
            r = &self.found.refs.data[i]
            if not r.odd:
                size += r.name_end + 1
        cdef char* out = <char*>malloc(size + 1)
        if out == NULL:
            raise MemoryError
        for i in range(self.found.refs.n):
            r = &self.found.refs.data[i]
            if not r.odd:
                memcpy(out + used, source + r.name, r.name_end)
                used += r.name_end + 1
                out[used - 1] = c" "
        try:
            return PyUnicode_DecodeUTF8(out, used, "replace")
        finally:
            free(out)

    def chunks(self):
        """Where the source is cut: shape (n, 4), columns as `Chunk` in `extract.h`."""
        return _table(self.found.chunks.data, self.found.chunks.n, 4)

    def import_texts(self):
        """The bytes of each import statement."""
        cdef uint32_t i
        cdef Import* found = self.found.imports.data
        return [self.source[found[i].start : found[i].end] for i in range(self.found.imports.n)]

    def names(self):
        """What definitions are called, where all names are plain; None where one is not.

        Returns:
            (names without those of attributes, all names, the qualified name of each chunk's definition or ""); names
            have a space between.
        """
        cdef Qualified q
        cdef uint32_t i
        cdef size_t room = 1
        cdef int32_t symbol
        cdef int plain
        cdef char* joined = NULL
        memset(&q, 0, sizeof(Qualified))
        try:
            plain = qualify(&self.found, &q)
            if plain == 0:
                return None
            for i in range(self.found.defs.n):
                room += self.found.defs.data[i].name_end + 1
            joined = <char*>malloc(room)
            if plain < 0 or joined == NULL:
                raise MemoryError
            strong = PyUnicode_DecodeUTF8(joined, join_names(&self.found, False, joined), NULL)
            every = PyUnicode_DecodeUTF8(joined, join_names(&self.found, True, joined), NULL)
            symbols = []
            for i in range(self.found.chunks.n):
                symbol = self.found.chunks.data[i].symbol
                symbols.append("" if symbol < 0 else PyUnicode_DecodeUTF8(qualified_text(&q, symbol), qualified_size(&q, symbol), NULL))
            return strong, every, symbols
        finally:
            free(q.text)
            free(q.ends)
            free(joined)

    def pack(self, int language):
        """The tables, packed for `Detail.read`.

        Args:
            language: what stands for the language.
        """
        cdef uint8_t* out = <uint8_t*>malloc(packed_most(&self.found))
        if out == NULL:
            raise MemoryError
        try:
            return out[: pack_found(&self.found, language, out)]
        finally:
            free(out)


def parse_all(list grammars not None, list sources not None, int whole_lines, int container_lines, int part_lines):
    """A `Tree` of each source.

    Args:
        grammars: of each source its own.
        sources: UTF-8, each less than 2 GB.
        whole_lines, container_lines, part_lines: where to cut; see `sleuth.code.parsing.chunks`.

    Raises:
        ValueError: a grammar is of a version that the runtime does not read.
    """
    global idle
    cdef Py_ssize_t i, n = len(sources)
    cdef Limits limits
    cdef Grammar grammar
    cdef Tree tree
    cdef list trees = []
    limits.whole_lines, limits.container_lines, limits.part_lines = whole_lines, container_lines, part_lines
    for i in range(n):
        grammar = grammars[i]
        if grammar.g.program.steps == NULL:
            raise ValueError("the grammar was given no patterns")
        tree = Tree.__new__(Tree)
        tree.source = sources[i]
        if len(tree.source) >= 1 << 31:
            raise ValueError(f"a source must be less than 2 GB, got {len(tree.source)} bytes")
        trees.append(tree)
    cdef Arena* arena = idle
    cdef CGrammar** kinds = <CGrammar**>malloc((n + 1) * sizeof(CGrammar*))
    cdef Found** found = <Found**>malloc((n + 1) * sizeof(Found*))
    cdef const char** texts = <const char**>malloc((n + 1) * sizeof(char*))
    cdef uint32_t* sizes = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
    try:
        if arena == NULL:
            arena = <Arena*>calloc(1, sizeof(Arena))
        else:
            idle = arena.next
        if arena == NULL or kinds == NULL or found == NULL or texts == NULL or sizes == NULL:
            raise MemoryError
        for i in range(n):
            grammar, tree = grammars[i], trees[i]
            kinds[i], found[i], texts[i], sizes[i] = &grammar.g, &tree.found, tree.source, len(tree.source)
        with nogil:
            for i in range(n):
                take_apart(found[i], kinds[i], arena, limits, texts[i], sizes[i])
    finally:
        if arena != NULL:
            arena.next = idle
            idle = arena
        free(kinds)
        free(found)
        free(texts)
        free(sizes)
    for tree in trees:
        if tree.found.sound < 0:
            raise ValueError("the grammar does not fit the tree-sitter runtime of this package")
    return trees


def cut_lines(bytes source not None, const int32_t[:, ::1] spans not None):
    """The text of lines spans[i, 0] to spans[i, 1], which ascend, 1-based and inclusive, without the newline after the last."""
    cdef const char* text = source
    cdef const char* end = text + len(source)
    cdef const char* p = text
    cdef const char* start
    cdef int32_t line = 1, i
    cdef Py_ssize_t stop
    out = []
    for i in range(spans.shape[0]):
        while line < spans[i, 0] and p < end:
            p = _after_newline(p, end)
            line += 1
        start = p
        while line <= spans[i, 1] and p < end:
            p = _after_newline(p, end)
            line += 1
        stop = p - start
        if line > spans[i, 1] and stop and (p - 1)[0] == c"\n":
            stop -= 1
        out.append(PyUnicode_DecodeUTF8(start, stop, "surrogatepass"))
    return out


cdef inline const char* _after_newline(const char* p, const char* end) noexcept nogil:
    cdef const char* found = <const char*>memchr(p, c"\n", end - p)
    return end if found == NULL else found + 1


def pack_rows(const int32_t[:, ::1] rows not None):
    """Rows as differences from the row before, in seven bits a byte; read back by `unpack_rows`."""
    cdef Py_ssize_t n = rows.shape[0], width = rows.shape[1]
    cdef uint8_t* out = <uint8_t*>malloc(n * width * PACKED_MOST + 1)
    if out == NULL:
        raise MemoryError
    try:
        return out[: pack_table(&rows[0, 0], n, width, out) if n and width else 0]
    finally:
        free(out)


def unpack_rows(const uint8_t[::1] packed not None, Py_ssize_t at, Py_ssize_t n, Py_ssize_t width):
    """`n` rows of `width` from byte `at` on, and the byte after them.

    Raises:
        ValueError: the bytes end before.
    """
    out = np.empty((n, width), np.int32)
    cdef int32_t[:, ::1] rows = out
    cdef Py_ssize_t i, j, size = packed.shape[0]
    cdef uint32_t value, shift
    cdef int32_t difference
    for i in range(n):
        for j in range(width):
            value = shift = 0
            while True:
                if at >= size or shift > 28:
                    raise ValueError("packed rows must be whole")
                value |= <uint32_t>(packed[at] & 127) << shift
                shift += 7
                at += 1
                if packed[at - 1] < 128:
                    break
            difference = <int32_t>(value >> 1) ^ -<int32_t>(value & 1)
            rows[i, j] = <int32_t>(<uint32_t>rows[i - 1, j] + <uint32_t>difference) if i else difference
    return out, at
