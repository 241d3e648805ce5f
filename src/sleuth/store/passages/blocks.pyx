# cython: boundscheck=False, wraparound=False, cdivision=True
"""Reads passages from mapped segments, as `records.pyx` writes them."""

from sleuth.store.passages.records import TABLE
from sleuth.store.record.values import Row, RecordedPassage

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    ctypedef struct PyTypeObject
    object PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t items)
    int PyObject_GenericSetAttr(object item, object name, object value) except -1

cdef extern from "platform.h":
    bint read_at(int file, void* room, size_t size, int64_t at) nogil

cdef extern from "crc32c.h":
    void crc_begin(int portable)
    uint32_t crc32c(uint32_t crc, const void* data, size_t size) nogil
    uint32_t start_of(uint32_t salt, int64_t key) nogil

cdef extern from "symbols.h":
    void symbols_begin(const uint8_t* table)
    size_t symbols_read(const char* numbers, size_t size, char* out)

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* at) nogil

cdef enum:
    LINE = 64             # bytes that the processor fetches at a time
    AHEAD = 1024          # bytes of a record that are fetched before it is read
    COPIED = 1 << 16      # bytes of a record that is read from its file at most

crc_begin(0)
symbols_begin(TABLE)
cdef object from_json = None  # imported when a hit is made: an index is written without it


cdef inline int64_t unzigzag(uint64_t value) noexcept nogil:
    return <int64_t>(value >> 1) ^ -<int64_t>(value & 1)


cdef struct Text:
    const char* data
    Py_ssize_t size       # -1 for None


cdef struct Passage:
    int64_t key
    const uint8_t* at     # its record; NULL where it is not as it was written
    const uint8_t* end
    const uint8_t* head   # the first record of its document
    const uint8_t* head_end
    uint8_t* copy         # of the record and of the first one, where they are read from the file
    uint8_t* head_copy
    int64_t n, start, line, breaks, page
    bint has_page, has_symbols  # the text is written with these
    Text text, fields, own, id, source, title, metadata


ctypedef object (*Make)(const Passage* row)


cdef const uint8_t* number_at(const uint8_t* at, const uint8_t* end, uint64_t* value) noexcept nogil:
    """Read a varint; return where it ends, NULL where it does not."""
    cdef uint32_t shift = 0
    value[0] = 0
    while at != NULL and at < end and shift < 64:
        value[0] |= <uint64_t>(at[0] & 127) << shift
        if not at[0] & 128:
            return at + 1
        at, shift = at + 1, shift + 7
    return NULL


cdef const uint8_t* length_at(const uint8_t* at, const uint8_t* end, Text* text) noexcept nogil:
    cdef uint64_t value
    at = number_at(at, end, &value)
    text.size = <Py_ssize_t>value - 1
    return at if at != NULL and value <= <uint64_t>(end - at) + 1 else NULL


cdef const uint8_t* take(const uint8_t* at, const uint8_t* end, Text* text) noexcept nogil:
    """Place a text of known length; return where it ends, NULL where that is behind the end."""
    text.data = <const char*>at
    if at == NULL or text.size > end - at:
        return NULL
    return at + max(text.size, 0)


cdef const uint8_t* sealed(const uint8_t* at, const uint8_t* end, uint32_t start) noexcept nogil:
    """Return where what a checksum covers begins; NULL where it does not fit."""
    cdef uint32_t checksum
    if at == NULL:
        return NULL
    memcpy(&checksum, at, 4)
    return at + 4 if crc32c(start, at + 4, end - at - 4) == checksum else NULL


cdef const uint8_t* read_head(Passage* row, uint32_t salt) noexcept nogil:
    """Read what the passages of a document share; return where it ends, NULL for damage."""
    cdef uint64_t n
    cdef const uint8_t* begin = number_at(row.head, row.head_end, &n)
    cdef const uint8_t* at
    if begin == NULL or n or row.head_end - begin < 4:
        return NULL
    at = length_at(begin + 4, row.head_end, &row.id)
    at = length_at(at, row.head_end, &row.source)
    at = length_at(at, row.head_end, &row.title)
    at = length_at(at, row.head_end, &row.metadata)
    at = take(at, row.head_end, &row.id)
    at = take(at, row.head_end, &row.source)
    at = take(at, row.head_end, &row.title)
    at = take(at, row.head_end, &row.metadata)
    if at == NULL or row.id.size < 0 or sealed(begin, at, start_of(salt, row.key - row.n)) == NULL:
        return NULL
    return at


cdef bint read_own(Passage* row, const uint8_t* begin, uint32_t salt) noexcept nogil:
    """Read what is of the passage alone; return whether it is as it was written."""
    cdef uint64_t start, line, breaks, page
    cdef const uint8_t* end = row.end
    cdef const uint8_t* at
    if end - begin < 4:
        return False
    at = length_at(begin + 4, end, &row.text)
    row.has_symbols = at != NULL and row.text.size < 0
    if row.has_symbols:
        at = length_at(at, end, &row.text)
    at = length_at(at, end, &row.fields)
    at = length_at(at, end, &row.own)
    at = number_at(at, end, &start)
    at = number_at(at, end, &line)
    at = number_at(at, end, &breaks)
    at = number_at(at, end, &page)
    at = take(at, end, &row.text)
    at = take(at, end, &row.fields)
    at = take(at, end, &row.own)
    if at != end or row.text.size < 0 or sealed(begin, end, start_of(start_of(salt, row.key), row.n)) == NULL:
        return False
    row.start, row.line, row.breaks = unzigzag(start), unzigzag(line), unzigzag(breaks)
    row.has_page, row.page = page != 0, unzigzag(page - 1) if page else 0
    return True


cdef struct Block:
    int64_t first, last
    const int64_t* keys   # NULL where they have no gap
    const uint64_t* offsets
    const uint8_t* records
    Py_ssize_t rows, size
    int file              # to read records from; -1 where they are read as memory
    int64_t base          # where the records begin there


cdef Py_ssize_t place_of(const Block* block, int64_t key) noexcept nogil:
    """Return the row of a key, -1 for none."""
    cdef Py_ssize_t low = 0, high = block.rows, middle
    if key < block.first or key > block.last:
        return -1
    if block.keys == NULL:
        return key - block.first
    while low < high:
        middle = (low + high) >> 1
        if block.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < block.rows and block.keys[low] == key else -1


cdef bint record_at(
    const Block* block, Py_ssize_t place, const uint8_t** at, const uint8_t** end, uint8_t** copy
) noexcept nogil:
    """Find a record; return whether it is there. It is in `copy`, which the caller frees, if it was read from the file."""
    cdef uint64_t first = block.offsets[place], last = block.offsets[place + 1]
    if first > last or last > <uint64_t>block.size:
        return False
    at[0], end[0] = block.records + first, block.records + last
    if block.file >= 0 and last - first <= COPIED:
        copy[0] = <uint8_t*>PyMem_RawMalloc(last - first + 1)
        at[0], end[0] = copy[0], copy[0] + (last - first)
        return copy[0] != NULL and read_at(block.file, copy[0], last - first, block.base + first)
    return True


cdef void free_copies(Passage* row) noexcept:
    PyMem_RawFree(row.copy)
    PyMem_RawFree(row.head_copy)


cdef class Passages:
    """The passages of one version, by key. Immutable; safe to share between threads.

    Args:
        segments: of each segment its keys, `offsets`, `records`, and the descriptor of their file, -1 for none, and
            where they begin there; in order of key.
        salt: of the index.
        resident: bytes of the records of all files that are read as memory, which stays with this process. If there are
            more, each record is read from its file: a page that is given back and touched again costs three times that.
    """

    cdef list owners
    cdef Block* blocks
    cdef Py_ssize_t n
    cdef uint32_t salt

    def __cinit__(self, list segments not None, uint32_t salt, Py_ssize_t resident=1 << 28):
        cdef const int64_t[::1] keys
        cdef const uint64_t[::1] offsets
        cdef const uint8_t[::1] records
        cdef Block* block
        cdef Py_ssize_t mapped = 0
        segments = [segment for segment in segments if len(segment[0])]
        self.owners, self.salt, self.n = segments, salt, len(segments)
        self.blocks = <Block*>PyMem_RawMalloc((self.n + 1) * sizeof(Block))
        if self.blocks == NULL:
            raise MemoryError
        for i, (key_list, offset_array, record_array, file, base) in enumerate(segments):
            block, offsets, records = &self.blocks[<Py_ssize_t>i], offset_array, record_array
            block.rows, block.size, block.keys = len(key_list), records.shape[0], NULL
            block.first, block.last = key_list[0], key_list[len(key_list) - 1]
            if offsets.shape[0] != block.rows + 1:
                raise ValueError("offsets must be one more than keys")
            if not isinstance(key_list, range):
                keys = key_list
                block.keys = &keys[0]
            block.file, block.base = file, base
            mapped += block.size if block.file >= 0 else 0
            block.offsets = &offsets[0]
            block.records = &records[0] if block.size else NULL
        if mapped <= resident:
            for i in range(self.n):
                self.blocks[<Py_ssize_t>i].file = -1

    def __dealloc__(self):
        PyMem_RawFree(self.blocks)

    cdef const Block* _block_of(self, int64_t key) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) >> 1
            if self.blocks[middle].last < key:
                low = middle + 1
            else:
                high = middle
        return &self.blocks[low] if low < self.n else NULL

    cdef void _find(self, Passage* row) noexcept nogil:
        """Find the record of a passage, and fetch its memory."""
        cdef const Block* block = self._block_of(row.key)
        cdef Py_ssize_t place = -1 if block == NULL else place_of(block, row.key)
        cdef const uint8_t* at
        row.at = row.copy = row.head_copy = NULL
        if place < 0 or not record_at(block, place, &at, &row.end, &row.copy):
            return
        row.at = at
        while at < row.end and at < row.at + AHEAD:
            prefetch(at)
            at += LINE

    cdef void _read(self, Passage* row) noexcept nogil:
        """Read a passage; `at` becomes NULL where it is not as it was written."""
        cdef const Block* block
        cdef const uint8_t* begin
        cdef const uint8_t* head_end
        cdef Py_ssize_t head
        cdef uint64_t n = 0
        cdef const uint8_t* at = row.at
        row.at = NULL
        begin = number_at(at, row.end, &n)
        if begin == NULL or n > <uint64_t>row.key:
            return
        row.n = n
        block = self._block_of(row.key)
        head = place_of(block, row.key - row.n)
        if n == 0:
            row.head, row.head_end = at, row.end
        elif head < 0 or not record_at(block, head, &row.head, &row.head_end, &row.head_copy):
            return
        head_end = read_head(row, self.salt)
        if head_end == NULL:
            return
        if n == 0:
            begin = head_end
        if read_own(row, begin, self.salt):
            row.at = begin

    cdef Passage* _rows(self, list keys) except NULL:
        """Return passages, in order; to be freed by the caller."""
        cdef Py_ssize_t i, n = len(keys)
        cdef Passage* rows = <Passage*>PyMem_RawMalloc((n + 1) * sizeof(Passage))
        if rows == NULL:
            raise MemoryError
        try:
            for i in range(n):
                rows[i].key = keys[i]
        except BaseException:
            PyMem_RawFree(rows)
            raise
        with nogil:  # pages may have to be read from the disk
            for i in range(n):  # all are fetched before one is waited for
                self._find(&rows[i])
            for i in range(n):
                self._read(&rows[i])
        return rows

    cdef list _made(self, list keys, Make make):
        """Return what is made of each passage, in order."""
        cdef Py_ssize_t i, n = len(keys)
        cdef Passage* rows = self._rows(keys)
        cdef list values = []
        try:
            for i in range(n):
                if rows[i].at == NULL:
                    raise LookupError(rows[i].key)
                try:
                    values.append(make(&rows[i]))
                except (AttributeError, TypeError, ValueError):  # no text, or no JSON: with checksums that fit, so crafted
                    raise LookupError(rows[i].key) from None
            return values
        finally:
            for i in range(n):
                free_copies(&rows[i])
            PyMem_RawFree(rows)

    def hits(self, list keys not None):
        """Return id, text and metadata of passages, by name, in order.

        Raises:
            LookupError: a passage is not there, or not as it was written; holds its key.
        """
        return self._made(keys, hit_of)

    def rows(self, list keys not None):
        """Return passages as callers of the store see them, in order; raises as `hits`."""
        return self._made(keys, row_of)

    def stored(self, list keys not None):
        """Return passages as they were put, without what their documents share, in order; raises as `hits`."""
        return self._made(keys, stored_of)

    def order(self, list keys not None):
        """Return the id of the document of each passage and its number there; raises as `hits`."""
        return self._made(keys, order_of)

    def damaged(self, const int64_t[::1] keys not None):
        """Return the places of those of these keys whose passages are not there or not as they were written, as a list."""
        cdef Py_ssize_t i
        cdef Passage row
        cdef list places = []
        for i in range(keys.shape[0]):
            row.key = keys[i]
            with nogil:
                self._find(&row)
                if row.at != NULL:
                    self._read(&row)
            free_copies(&row)
            if row.at == NULL:
                places.append(i)
        return places


def items_of(list passages not None, list scores not None):
    """Return the hits of passages, as `hits` gives them, with these scores; the dicts belong to the hits from now on.

    What comes from an index need not be checked, so the parts of the model are set one by one.
    """
    from sleuth.types import RetrievedItem

    cdef dict passage
    cdef Py_ssize_t i
    cdef list items = []
    for i in range(len(passages)):
        passage = passages[i]
        passage["score"], passage["extra"] = scores[i], {}
        item = PyType_GenericAlloc(<PyTypeObject*>RetrievedItem, 0)
        PyObject_GenericSetAttr(item, "__dict__", passage)
        PyObject_GenericSetAttr(item, "__pydantic_fields_set__", {"id", "text", "metadata", "score"})
        PyObject_GenericSetAttr(item, "__pydantic_extra__", None)
        PyObject_GenericSetAttr(item, "__pydantic_private__", None)
        items.append(item)
    return items


cdef object string(const Text* text):
    """Return a text or None."""
    return None if text.size < 0 else PyUnicode_DecodeUTF8(text.data, text.size, "strict")


cdef object text_of(const Passage* row):
    cdef char* room
    if not row.has_symbols:
        return string(&row.text)
    room = <char*>PyMem_RawMalloc(6 * row.text.size + 1)
    if room == NULL:
        raise MemoryError
    try:
        return PyUnicode_DecodeUTF8(room, symbols_read(row.text.data, row.text.size, room), "strict")
    finally:
        PyMem_RawFree(room)


cdef object parsed(const Text* text):
    global from_json
    if text.size < 0:
        return {}
    if from_json is None:
        from pydantic_core import from_json
    return from_json(PyBytes_FromStringAndSize(text.data, text.size))


cdef object id_of(const Passage* row):
    return f"{string(&row.id)}#{row.n}"


cdef object page_of(const Passage* row):
    return row.page if row.has_page else None


cdef object hit_of(const Passage* row):
    return {"id": id_of(row), "text": text_of(row), "metadata": metadata_of(row)}


cdef object row_of(const Passage* row):
    cdef object text = text_of(row)
    cdef tuple values = (
        row.key, id_of(row), string(&row.id), row.n, text, metadata_of(row), parsed(&row.fields), row.start,
        row.start + len(text), row.line, row.line + row.breaks, page_of(row),
    )
    return tuple.__new__(Row, values)  # `_make` takes twice as long


cdef object stored_of(const Passage* row):
    cdef tuple values = (text_of(row), page_of(row), row.start, row.line, row.breaks, string(&row.fields), string(&row.own))
    return tuple.__new__(RecordedPassage, values)


cdef object order_of(const Passage* row):
    return string(&row.id), row.n


cdef dict metadata_of(const Passage* row):
    """Return what hits show: the passage's metadata over the document's over what the store knows.

    `store.record.rows` makes the same of a whole batch, column by column.
    """
    cdef dict values = {"source": string(&row.source if row.source.size > 0 else &row.id)}
    if row.line:
        values["start_line"] = row.line
        values["end_line"] = row.line + row.breaks
    if row.title.size > 0:
        values["title"] = string(&row.title)
    if row.has_page:
        values["page"] = row.page
    if row.fields.size >= 0:
        heading = parsed(&row.fields).get("heading")
        if heading is not None:
            values["heading"] = heading
    if row.metadata.size >= 0:
        values.update(parsed(&row.metadata))
    if row.own.size >= 0:
        values.update(parsed(&row.own))
    return values
