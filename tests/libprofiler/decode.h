/* A second, naive reader of slice records, so that the writer is not checked against itself. */
#ifndef XW_DECODE_H
#define XW_DECODE_H

#include "unit.h"

#include "crc32c.h"
#include "spool.h"
#include <string.h>

struct decoded_slice {
    uint64_t index, flags, maxerror, cost;
    int64_t begin, end, offset;
    uint64_t value[XW_N_COLUMNS];
};

static inline uint64_t get_varint(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t get_svarint(const uint8_t **at)
{
    uint64_t value = get_varint(at);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Decode the record at `at` of a chunk; `previous` is the index of the record before in the chunk. Returns the bytes it
   takes, 0 at the end of the chunk. */
static inline uint32_t decode_slice(const uint8_t *at, uint64_t previous, struct decoded_slice *slice)
{
    uint32_t length, crc;
    memcpy(&length, at, 4);
    memcpy(&crc, at + 4, 4);
    if (!length)
        return 0;
    assert_int_equal(crc, xw_crc32c(at + 8, length));
    const uint8_t *p = at + 8;
    memset(slice, 0, sizeof *slice);
    slice->index = previous + get_varint(&p);
    slice->flags = get_varint(&p);
    slice->begin = get_svarint(&p);
    slice->end = get_svarint(&p);
    slice->offset = get_svarint(&p);
    slice->maxerror = get_varint(&p);
    slice->cost = get_varint(&p);
    uint64_t pairs = get_varint(&p), column = 0;
    for (; pairs; pairs--) {
        column += get_varint(&p);
        assert_true(column < XW_N_COLUMNS);
        slice->value[column++] = get_varint(&p);
    }
    assert_ptr_equal(p, at + 8 + length);
    return 8 + (length + 3) / 4 * 4;
}

#endif
