/*
 * How a column of a block of segments is coded: each value as a small whole number of bounded relative error, then the
 * differences of these numbers, most of them packed into as few bits as fit, the others listed. docs/format.md has the
 * specification.
 */
#ifndef XW_COLUMN_CODE_H
#define XW_COLUMN_CODE_H

#include "os.h"

enum {
    XW_BLOCK_ROWS = 254,   /* of one block: their numbers fit a byte, with the two open rows they fill 256 slots */
    XW_EXACT = 63,         /* precision in bits at which nothing is rounded */
    XW_MAX_WIDTH = 56,     /* of a packed difference: one load of 8 bytes reads it wherever it begins */
    XW_MAX_VALUE_BITS = 59 /* larger values are cut off: sums of some stay below 2^62, a reader's limit */
};

/*
 * The number of a value, in floating-point manner: values below 2^(precision + 1) are their own number; above, each
 * octave has 2^precision numbers, evenly spaced. The order of the values is kept, and rounding errs by at most
 * 2^-(precision + 1) of the value.
 *
 *     precision 2:   value  0 1 2 3 4 5 6 7   8 10 12 14   16 20 24 28   32 ...
 *                    number 0 1 2 3 4 5 6 7   8  9 10 11   12 13 14 15   16 ...
 */
static inline uint64_t xw_value_to_number(uint64_t value, unsigned precision)
{
    if (!(value >> precision >> 1))
        return value;
    const unsigned shift = 63u - (unsigned)__builtin_clzll(value) - precision;
    return ((uint64_t)shift << precision) + (value >> shift) + (value >> (shift - 1) & 1);
}

static inline uint64_t xw_number_to_value(uint64_t number, unsigned precision)
{
    if (!(number >> precision >> 1))
        return number;
    const unsigned shift = (unsigned)(number >> precision) - 1;
    return ((number & ((UINT64_C(1) << precision) - 1)) | UINT64_C(1) << precision) << shift;
}

/* A run of differences, and what packing them takes. */
struct xw_steps {
    uint64_t step[XW_BLOCK_ROWS]; /* zigzag: number[i] - number[i - 1]; step[0] is 0 */
    uint32_t n;
    uint32_t width; /* bits of a packed step; wider ones are exceptions */
    uint32_t cost;  /* all of them in bits */
    uint32_t n_exceptions;
};

/* The differences of n numbers, with the width at which they take the least room. */
void xw_steps_of(struct xw_steps *steps, const uint64_t *number, uint32_t n) XW_HIDDEN;
/* List the exceptions: how many, then each as rows since the one before it, and step. Returns the end; at most
   1 + n * (2 + 10) bytes. */
uint8_t *xw_put_exceptions(uint8_t *at, const struct xw_steps *steps) XW_HIDDEN;
/* Pack the steps, exceptions as 0, up to the next whole byte. Returns the end; 8 bytes behind it may be overwritten. */
uint8_t *xw_pack_steps(uint8_t *at, const struct xw_steps *steps) XW_HIDDEN;

/* Bits are filled from the lowest of the first byte on. */
struct xw_bit_writer {
    uint8_t *at;
    uint64_t pending;
    unsigned n; /* how many bits of `pending` are filled; below 8 between two calls */
};

/* A word that may lie anywhere and overlay anything. */
struct xw_unaligned_word {
    uint64_t value;
} __attribute__((packed, may_alias));

static inline void xw_put_bits(struct xw_bit_writer *bits, uint64_t value, unsigned width)
{
    bits->pending |= value << bits->n;
    bits->n += width;
    ((struct xw_unaligned_word *)bits->at)->value = bits->pending;
    bits->at += bits->n >> 3;
    bits->pending >>= bits->n & 56u;
    bits->n &= 7u;
}

static inline uint8_t *xw_end_bits(const struct xw_bit_writer *bits) { return bits->at + (bits->n != 0); }

#endif
