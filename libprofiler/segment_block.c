#include "segment_block.h"

#include <string.h>

/* Bits of precision: half of 2^-11 is 0.024 %, of 2^-7 0.39 %. Calls and bytes are exact. */
static const uint8_t precision[XW_N_SEG_FIELDS] = {
    [XW_SEG_DURATION] = 11, /* computation in its place */
    [XW_SEG_P2P_TIME] = 7,          [XW_SEG_COLL_TIME] = 7,        [XW_SEG_IO_TIME] = 7,
    [XW_SEG_CPU_TIME] = 11,         [XW_SEG_INSTRUCTIONS] = 11,    [XW_SEG_FLOPS] = 11,
    [XW_SEG_P2P_CALLS] = XW_EXACT,  [XW_SEG_P2P_BYTES] = XW_EXACT, [XW_SEG_COLL_CALLS] = XW_EXACT,
    [XW_SEG_COLL_BYTES] = XW_EXACT, [XW_SEG_IO_CALLS] = XW_EXACT,  [XW_SEG_IO_BYTES] = XW_EXACT,
};

enum { SHAPE_PRECISION = 6, SHAPE_RELATIVE = 12, CLOSE_WIDTH = 4, NS_HZ = 1000000000, MAX_DRIFT_PER_S = 1000 };

/* --- types of rows: which call ended them, the signature, how many cuts they span --- */

static int same_type(const struct xw_segment_slot_head *a, const struct xw_segment_slot_head *b)
{
    return a->call == b->call && a->signature == b->signature && a->worlds == b->worlds && a->sites == b->sites;
}

static void find_types(struct xw_segment_block *block, const struct xw_segment_slot *rows)
{
    uint32_t type = 0;
    block->n_types = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        if (i == 0 || !same_type(&rows[i].head, &rows[block->example[type]].head)) {
            type = 0;
            while (type < block->n_types && !same_type(&rows[i].head, &rows[block->example[type]].head))
                type++;
        }
        if (type == block->n_types)
            block->example[block->n_types++] = (uint8_t)i;
        block->type[i] = (uint8_t)type;
    }
}

/* By type, stable: rows that are alike follow each other, so that their values differ little. */
static void order_by_type(struct xw_segment_block *block)
{
    uint8_t next[XW_BLOCK_ROWS] = {0}, count[XW_BLOCK_ROWS] = {0};
    for (uint32_t i = 0; i < block->n; i++)
        count[block->type[i]]++;
    for (uint32_t t = 1; t < block->n_types; t++)
        next[t] = (uint8_t)(next[t - 1] + count[t - 1]);
    for (uint32_t i = 0; i < block->n; i++)
        block->order[next[block->type[i]]++] = (uint8_t)i;
}

static uint8_t *put_types(const struct xw_segment_block *block, uint8_t *at, const struct xw_segment_slot *rows)
{
    at = xw_put_varint(at, block->n_types);
    for (uint32_t t = 0; t < block->n_types; t++) {
        const struct xw_segment_slot_head *head = &rows[block->example[t]].head;
        at = xw_put_varint(at, head->call);
        at = xw_put_varint(at, head->signature);
        at = xw_put_varint(at, head->worlds);
        at = xw_put_varint(at, head->sites);
    }
    return at;
}

static uint8_t *pack_types(const struct xw_segment_block *block, uint8_t *at)
{
    struct xw_bit_writer bits = {.at = at};
    const unsigned width = block->n_types > 1 ? 32u - (unsigned)__builtin_clz(block->n_types - 1) : 0;
    for (uint32_t i = 0; width && i < block->n; i++)
        xw_put_bits(&bits, block->type[i], width);
    return xw_end_bits(&bits);
}

/* --- columns --- */

static int is_in_ticks(unsigned field)
{
    return field == XW_SEG_DURATION || field == XW_SEG_P2P_TIME || field == XW_SEG_COLL_TIME || field == XW_SEG_IO_TIME;
}

static const uint64_t most = (UINT64_C(1) << XW_MAX_VALUE_BITS) - 1;

static uint64_t cut_off(uint64_t value) { return value < most ? value : most; }

static uint64_t in_ticks(uint64_t ns, double ticks_per_ns)
{
    const double ticks = (double)ns * ticks_per_ns;
    return ticks < (double)most ? (uint64_t)ticks : most;
}

/* A small computation between long waits has its own precision, not that of their sum. */
static uint64_t computation(const struct xw_segment_slot *row)
{
    const uint64_t *value = row->value;
    const uint64_t busy = value[XW_SEG_P2P_TIME] + value[XW_SEG_COLL_TIME] + value[XW_SEG_IO_TIME];
    return value[XW_SEG_DURATION] > busy ? value[XW_SEG_DURATION] - busy : 0;
}

/* What a column holds of a row. CPU time is in ticks, so that it can be told as a difference to the computation. */
static inline uint64_t content(const struct xw_segment_slot *row, unsigned field, double ticks_per_ns)
{
    if (field == XW_SEG_DURATION)
        return cut_off(computation(row));
    if (field == XW_SEG_CPU_TIME)
        return in_ticks(row->value[field], ticks_per_ns);
    return cut_off(row->value[field]);
}

/* Whether all rows have the same value, as most have of most columns: these need no ordering. */
static int is_constant(const struct xw_segment_block *block, const struct xw_segment_slot *rows, unsigned field)
{
    uint64_t differs = 0;
    for (uint32_t i = 1; i < block->n; i++)
        differs |= rows[i].value[field] ^ rows[0].value[field];
    return !differs && field != XW_SEG_DURATION;
}

static void number_rows(struct xw_segment_block *block, const struct xw_segment_slot *rows, unsigned field,
                        double ticks_per_ns)
{
    const unsigned bits = precision[field];
    for (uint32_t i = 0; i < block->n; i++)
        block->number[i] = xw_value_to_number(content(&rows[block->order[i]], field, ticks_per_ns), bits);
}

/* What the reader makes of the numbers adds up to the rows' durations. */
static void add_lengths(struct xw_segment_block *block, unsigned field)
{
    for (uint32_t i = 0; i < block->n; i++)
        block->length[block->order[i]] += xw_number_to_value(block->number[i], precision[field]);
}

static int may_be_relative(unsigned field)
{
    return field != XW_SEG_DURATION && precision[field] == precision[XW_SEG_DURATION];
}

/* Steps of the column, or of its differences to column 0 where these vary less; returns which. */
static int make_steps(struct xw_segment_block *block, unsigned field)
{
    if (!may_be_relative(field)) {
        xw_steps_of(&block->steps, block->number, block->n);
        return 0;
    }
    for (uint32_t i = 0; i < block->n; i++)
        block->relative[i] = block->number[i] - block->first[i];
    xw_steps_of(&block->relative_steps, block->relative, block->n);
    if (block->relative_steps.width <= CLOSE_WIDTH)
        return 1;
    xw_steps_of(&block->steps, block->number, block->n);
    return block->relative_steps.cost < block->steps.cost;
}

static uint8_t *put_shape(uint8_t *at, unsigned field, unsigned width, int relative)
{
    return xw_put_varint(at,
                         width | (uint32_t)precision[field] << SHAPE_PRECISION | (uint32_t)relative << SHAPE_RELATIVE);
}

static uint8_t *put_column(struct xw_segment_block *block, uint8_t *at, uint8_t **bits, unsigned field)
{
    const int relative = make_steps(block, field);
    const struct xw_steps *steps = relative ? &block->relative_steps : &block->steps;
    at = put_shape(at, field, steps->width, relative);
    at = xw_put_svarint(at, (int64_t)(relative ? block->relative[0] : block->number[0]));
    at = xw_put_exceptions(at, steps);
    *bits = xw_pack_steps(*bits, steps);
    return at;
}

static uint8_t *put_constant(uint8_t *at, unsigned field, uint64_t number)
{
    at = put_shape(at, field, 0, 0);
    at = xw_put_svarint(at, (int64_t)number);
    *at++ = 0; /* exceptions */
    return at;
}

static uint8_t *put_columns(struct xw_segment_block *block, uint8_t *at, uint8_t **bits,
                            const struct xw_segment_slot *rows, double ticks_per_ns)
{
    for (uint32_t i = 0; i < block->n; i++)
        block->length[i] = 0;
    for (unsigned field = 0; field < XW_N_SEG_FIELDS; field++) {
        const int constant = is_constant(block, rows, field);
        if (constant && !(is_in_ticks(field) && rows[0].value[field])) {
            at = put_constant(at, field, xw_value_to_number(content(rows, field, ticks_per_ns), precision[field]));
            continue;
        }
        number_rows(block, rows, field, ticks_per_ns);
        if (is_in_ticks(field))
            add_lengths(block, field);
        at = put_column(block, at, bits, field);
        if (field == XW_SEG_DURATION)
            for (uint32_t i = 0; i < block->n; i++)
                block->first[i] = block->number[i];
    }
    return at;
}

/* --- begins --- */

/* A row begins where the one before ended; where what a reader makes of that is off by more than a millisecond, it is
 * told. */
static uint8_t *put_corrections(struct xw_segment_block *block, uint8_t *at, const struct xw_segment_slot *rows,
                                uint64_t tick_hz)
{
    const int64_t drift = (int64_t)(tick_hz / MAX_DRIFT_PER_S);
    uint32_t n = 0, next = 0;
    uint64_t expected = rows[0].head.start_tick;
    for (uint32_t i = 1; i < block->n; i++) {
        expected += block->length[i - 1];
        const int64_t off = (int64_t)(rows[i].head.start_tick - expected);
        if (off > drift || off < -drift) {
            block->corrected[n] = (uint8_t)i;
            block->correction[n++] = off;
            expected = rows[i].head.start_tick;
        }
    }
    at = xw_put_varint(at, n);
    for (uint32_t i = 0; i < n; i++) {
        at = xw_put_varint(at, block->corrected[i] - next);
        at = xw_put_svarint(at, block->correction[i]);
        next = block->corrected[i] + 1u;
    }
    return at;
}

/* --- the block --- */

uint32_t xw_segment_block_make(struct xw_segment_block *block, const struct xw_segment_slot *rows, uint32_t n,
                               uint64_t tick_hz)
{
    const uint64_t hz = tick_hz ? tick_hz : NS_HZ;
    uint8_t *const numbers = block->payload + 4;
    uint8_t *at = numbers, *bits = block->bits;
    block->n = n;
    find_types(block, rows);
    order_by_type(block);
    at = xw_put_varint(at, n);
    at = xw_put_varint(at, rows[0].head.position);
    at = xw_put_varint(at, rows[0].head.start_tick);
    at = xw_put_varint(at, hz);
    at = put_types(block, at, rows);
    bits = pack_types(block, bits);
    at = put_columns(block, at, &bits, rows, (double)hz / NS_HZ);
    at = put_corrections(block, at, rows, hz);

    const uint32_t n_numbers = (uint32_t)(at - numbers), n_bits = (uint32_t)(bits - block->bits);
    for (unsigned i = 0; i < 4; i++)
        block->payload[i] = (uint8_t)(n_numbers >> 8 * i);
    memcpy(at, block->bits, n_bits);
    return 4 + n_numbers + n_bits;
}
