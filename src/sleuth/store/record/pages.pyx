# cython: boundscheck=False, wraparound=False, cdivision=True
"""Reads rows of the record from the mapped file of its database, in a fifth of the time that SQLite takes.

It is a shortcut for what is where it belongs, and says nothing about the rest: a row on several pages or on a damaged page
is left out, and SQLite is asked for it. The caller compares each row with its checksum, which covers its key, and reads only
while the file is all of the version that it holds (`Connection.rows_on_pages`): so it cannot become shorter meanwhile.
Source of the format: "Database File Format", https://www.sqlite.org/fileformat2.html.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_FromLongLong
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from posix.mman cimport MADV_DONTNEED, MAP_FAILED, MAP_SHARED, PROT_READ, madvise, mmap, munmap
from posix.stat cimport fstat, struct_stat
from posix.unistd cimport close

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* at) nogil

cdef enum:
    COLUMNS = 10          # of each of the two tables
    HEADER = 100          # bytes of the file's header
    COOKIE = 40           # where it has the number of its schema, which VACUUM changes with the roots of tables
    INTERIOR = 5          # the kinds of pages of a table
    LEAF = 13
    DEPTH = 16            # of a tree, at most
    FAULT = 1 << 16       # bytes that the system maps when one of them is read

cdef Py_ssize_t RESIDENT = 1 << 28  # bytes of the file that stay mapped


cdef struct Cell:
    int64_t key         # of a row
    int64_t last        # no key of its page is above
    const uint8_t* at   # the page of the row, then its payload; NULL where that is not whole on one page
    const uint8_t* end


cdef class RecordFile:
    """The file of one database. It is closed with the last reference: to close it earlier releases SQLite's locks.

    Attributes:
        fd: of the file, open for reading; it belongs to this object. -1 for a file that cannot be read.
    """

    cdef object __weakref__
    cdef readonly int fd
    cdef const uint8_t* data
    cdef Py_ssize_t size, resident
    cdef int readers                 # threads that look at the mapped file
    cdef uint32_t cookie, page
    cdef uint32_t chunks, documents  # the first page of each table; 0 where it is unknown

    def __cinit__(self, int fd):
        self.fd, self.data, self.size = fd, NULL, 0

    def __dealloc__(self):
        self._unmap()
        if self.fd >= 0:
            close(self.fd)

    def knows_tables(self):
        """Return whether the first pages of the tables are known; maps the file as it is now."""
        cdef struct_stat status
        if fstat(self.fd, &status):
            return False
        if status.st_size != self.size:
            if self.readers:
                return False
            self._unmap()
            self._map(status.st_size)
        return self.size and self.chunks and self.cookie == number_at(self.data + COOKIE, 4)

    def use_tables(self, uint32_t chunks, uint32_t documents):
        """Read these tables from now on.

        Args:
            chunks, documents: the first page of each table.
        """
        self.chunks, self.documents = chunks, documents
        self.cookie = <uint32_t>number_at(self.data + COOKIE, 4) if self.size else 0

    def rows(self, list keys not None):
        """Return the values of chunks and of their documents, each in one tuple, as far as they are where they belong.

        Args:
            keys: of chunks; `knows_tables` was true just before.
        """
        cdef Py_ssize_t n = len(keys), i
        cdef list rows = []
        cdef tuple row
        cdef Cell* cells = <Cell*>malloc((2 * n + 1) * sizeof(Cell))
        if cells == NULL:
            raise MemoryError
        self._let_go(n)
        self.readers += 1
        try:
            for i in range(n):
                cells[2 * i].key = keys[i]
            with nogil:  # pages may have to be read from the disk
                # Step by step for all rows: each step fetches the memory that the next one would wait for.
                for i in range(n):
                    self._find_page(self.chunks, &cells[2 * i])
                for i in range(n):
                    self._find_payload(&cells[2 * i])
                for i in range(n):
                    cells[2 * i + 1].key = document_of(&cells[2 * i])
                    self._find_page(self.documents, &cells[2 * i + 1])
                for i in range(n):
                    self._find_payload(&cells[2 * i + 1])
            for i in range(n):
                row = PyTuple_New(2 * COLUMNS)
                if put_values(&cells[2 * i], row, 0) and put_values(&cells[2 * i + 1], row, COLUMNS):
                    rows.append(row)
            return rows
        finally:
            self.readers -= 1
            free(cells)

    cdef void _find_page(self, uint32_t number, Cell* cell) noexcept nogil:
        """Find the page of a row in the tree of a table, which begins on a page of this number."""
        cdef const uint8_t* page
        cdef uint32_t cells, place, low, _depth
        cell.at, cell.last = NULL, INT64_MAX
        for _depth in range(DEPTH):
            if number < 2 or <Py_ssize_t>number * self.page > self.size:
                return
            page = self.data + <Py_ssize_t>(number - 1) * self.page
            if page[0] != INTERIOR:
                cell.at, cell.end = page, page + self.page
                prefetch(page + 64)
                return
            low = self._first_from(page, INTERIOR, cell, &cells)
            place = <uint32_t>number_at(page + 12 + 2 * low, 2) if low < cells else 8
            if low > cells or place + 4 > self.page:
                return
            number = <uint32_t>number_at(page + place, 4)

    cdef void _find_payload(self, Cell* cell) noexcept nogil:
        """Find the payload of a row on its page."""
        cdef const uint8_t* page = cell.at
        cdef const uint8_t* at
        cdef uint32_t cells = 0, low, i
        cdef uint64_t length = 0, key = 0
        cell.at = NULL
        if page == NULL or page[0] != LEAF:
            return
        low = self._first_from(page, LEAF, cell, &cells)
        if low >= cells:
            return
        at = page + number_at(page + 8 + 2 * low, 2)
        at = varint(varint(at, cell.end, &length), cell.end, &key)
        if at != NULL and <int64_t>key == cell.key and length <= <uint64_t>(cell.end - at):
            cell.at, cell.end = at, at + length
            for i in range(0, min(<uint32_t>length, 1024), 64):
                prefetch(at + i)

    cdef uint32_t _first_from(self, const uint8_t* page, uint8_t kind, Cell* cell, uint32_t* cells) noexcept nogil:
        """Return the place of the first cell of a page whose key is not below that of a row; above all for no such page."""
        cdef const uint8_t* end = page + self.page
        cdef const uint8_t* at
        cdef uint32_t low = 0, high, middle, place, first = 8 if kind == LEAF else 12
        cdef uint64_t length = 0, key = 0, behind
        cells[0] = high = <uint32_t>number_at(page + 3, 2)
        if first + 2 * high > self.page:
            return high + 1
        middle = high >> 1
        behind = <uint64_t>cell.last - <uint64_t>cell.key
        if kind == LEAF and behind < high:  # where it is if keys have no gap: each look at a cell waits for memory
            middle = high - 1 - <uint32_t>behind
        while low < high:
            place = <uint32_t>number_at(page + first + 2 * middle, 2)
            if place + 4 > self.page:
                return cells[0] + 1
            at = varint(page + place, end, &length) if kind == LEAF else page + place + 4
            if varint(at, end, &key) == NULL:
                return cells[0] + 1
            if <int64_t>key == cell.key and kind == LEAF:
                return middle
            if <int64_t>key < cell.key:
                low = middle + 1
            else:
                high = middle
                cell.last = <int64_t>key
            middle = (low + high) >> 1
        return low

    cdef void _map(self, Py_ssize_t size) noexcept:
        cdef void* data
        if size < HEADER:
            return
        data = mmap(NULL, size, PROT_READ, MAP_SHARED, self.fd, 0)
        if data == MAP_FAILED:
            return
        self.data, self.size, self.resident = <const uint8_t*>data, size, 0
        self.page = <uint32_t>number_at(self.data + 16, 2)
        if self.page < 512 or self.data[20]:  # 65536, or bytes of another program at the end of pages
            self._unmap()

    cdef void _unmap(self) noexcept:
        if self.data != NULL:
            munmap(<void*>self.data, self.size)
        self.data, self.size, self.chunks = NULL, 0, 0

    cdef void _let_go(self, Py_ssize_t rows) noexcept:
        """Give the pages back that are mapped, before they are too many."""
        self.resident += 2 * FAULT * rows
        if self.resident > RESIDENT < self.size:
            madvise(<void*>self.data, self.size, MADV_DONTNEED)
            self.resident = 0


cdef int64_t document_of(const Cell* chunk) noexcept nogil:
    """Return the key of the document of a chunk, which is that of the chunk less its second value; -1 for no chunk."""
    cdef uint64_t head = 0, kind = 0, n
    cdef const uint8_t* kinds = varint(chunk.at, chunk.end, &head)
    kinds = varint(varint(kinds, chunk.end, &kind), chunk.end, &kind)
    if kinds == NULL or kind > 9 or head + <uint64_t>SIZES[kind] > <uint64_t>(chunk.end - chunk.at):
        return -1
    n = kind == 9 if kind > 7 else number_at(chunk.at + head, SIZES[kind])
    return chunk.key - <int64_t>n if n <= <uint64_t>chunk.key else -1


cdef bint put_values(const Cell* cell, tuple row, Py_ssize_t first) except -1:
    """Put the values of a row into a tuple, from a place on; return whether there are ten, the first of which is the key."""
    cdef uint64_t head = 0, kind = 0
    cdef const uint8_t* kinds = varint(cell.at, cell.end, &head)
    cdef const uint8_t* values
    cdef const uint8_t* end
    cdef Py_ssize_t size, i
    if kinds == NULL or head > <uint64_t>(cell.end - cell.at):
        return False
    values = end = cell.at + head
    for i in range(COLUMNS):
        kinds = varint(kinds, end, &kind)
        if kinds == NULL or kind == 7 or kind == 10 or kind == 11:
            return False
        size = <Py_ssize_t>((kind - 12) >> 1) if kind >= 12 else SIZES[kind]
        if size > cell.end - values:
            return False
        value = cell.key if i == 0 else value_of(values, kind, size)
        Py_INCREF(value)
        PyTuple_SET_ITEM(row, first + i, value)
        values += size
    return kinds == end and values == cell.end


cdef Py_ssize_t[10] SIZES
SIZES[:] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]


cdef object value_of(const uint8_t* at, uint64_t kind, Py_ssize_t size):
    """Return a value of a record of SQLite."""
    cdef uint64_t number
    if kind == 0:
        return None
    if kind >= 12:
        if kind & 1:
            return PyUnicode_DecodeUTF8(<const char*>at, size, "replace")
        return PyBytes_FromStringAndSize(<const char*>at, size)
    if kind > 7:
        return 0 if kind == 8 else 1
    number = number_at(at, size)
    if size < 8 and at[0] & 0x80:
        number |= ~<uint64_t>0 << (8 * size)
    return PyLong_FromLongLong(<int64_t>number)


cdef inline uint64_t number_at(const uint8_t* at, Py_ssize_t size) noexcept nogil:
    """Return a number, its most significant byte first."""
    cdef uint64_t number = 0
    cdef Py_ssize_t i
    for i in range(size):
        number = number << 8 | at[i]
    return number


cdef inline const uint8_t* varint(const uint8_t* at, const uint8_t* end, uint64_t* value) noexcept nogil:
    """Read a number of one to nine bytes; return where it ends, NULL where that is behind the end or nothing begins."""
    cdef int _i
    value[0] = 0
    if at == NULL:
        return NULL
    for _i in range(8):
        if at >= end:
            return NULL
        value[0] = value[0] << 7 | at[0] & 0x7F
        at += 1
        if at[-1] < 0x80:
            return at
    if at >= end:
        return NULL
    value[0] = value[0] << 8 | at[0]
    return at + 1
