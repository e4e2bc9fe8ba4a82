/*
 * A block: up to 254 neighbouring rows of segments as one record of the spool file, column by column.
 */
#ifndef XW_SEGMENT_BLOCK_H
#define XW_SEGMENT_BLOCK_H

#include "column_code.h"
#include "format.h"
#include "metric_table.h"
#include "varint.h"

/* One row as it lies in the spool file until its block is made. */
struct xw_segment_slot {
    struct xw_segment_slot_head head;
    uint64_t value[XW_N_SEG_FIELDS];
};

/* A listed step takes at most 2 + 10 bytes. The width is chosen so that no column takes more than if all were listed.
 */
#define XW_BLOCK_MAX_COLUMN (XW_BLOCK_ROWS * (2u + XW_VARINT_MAX) + 1u)
#define XW_BLOCK_MAX_BITS (XW_BLOCK_ROWS * (1u + (XW_MAX_WIDTH + 7u) / 8u * XW_N_SEG_FIELDS) + 8u)
/* Most bytes of a payload: the fixed numbers, types and their bits, columns and corrections; 8 that packing may touch.
 */
#define XW_BLOCK_MAX_PAYLOAD                                                                                           \
    (4u + XW_VARINT_MAX * (8u + 3u * XW_N_SEG_FIELDS) + XW_BLOCK_ROWS * (4u * 5u + 1u) +                               \
     XW_BLOCK_MAX_COLUMN * (XW_N_SEG_FIELDS + 1u) + 8u)

/* Room for making one block. */
struct xw_segment_block {
    uint32_t n, n_types;
    uint8_t type[XW_BLOCK_ROWS];    /* of each row */
    uint8_t example[XW_BLOCK_ROWS]; /* a row of each type */
    uint8_t order[XW_BLOCK_ROWS];   /* the rows by type, and by time in each type */
    uint64_t length[XW_BLOCK_ROWS]; /* of each row in ticks, as a reader will find it */
    uint64_t first[XW_BLOCK_ROWS];  /* numbers of column 0, in that order */
    uint64_t number[XW_BLOCK_ROWS]; /* of the column at hand */
    uint64_t relative[XW_BLOCK_ROWS];
    uint8_t corrected[XW_BLOCK_ROWS]; /* rows that do not begin where a reader expects it */
    int64_t correction[XW_BLOCK_ROWS];
    struct xw_steps steps, relative_steps;
    uint8_t bits[XW_BLOCK_MAX_BITS];
    uint8_t payload[XW_BLOCK_MAX_PAYLOAD];
};

/* Make the payload of n rows, of which each begins at the position where the one before ends. tick_hz: the rate of the
   clock as it is known now, 0: not at all. Returns its length. */
uint32_t xw_segment_block_make(struct xw_segment_block *block, const struct xw_segment_slot *rows, uint32_t n,
                               uint64_t tick_hz) XW_HIDDEN;

#endif
