/* The part of platform.py that kernels call. */
#include <stdint.h>
#include <unistd.h>

/* Whether all bytes at an offset of a file were read. */
static inline int read_at(int file, void *room, size_t size, int64_t at) {
    return pread(file, room, size, at) == (ssize_t)size;
}
