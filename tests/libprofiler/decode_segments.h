/* A second, naive reader of rows and blocks of segments, so that the writer is not checked against itself. */
#ifndef XW_DECODE_SEGMENTS_H
#define XW_DECODE_SEGMENTS_H

#include "decode.h"
#include "segment_store.h"

struct decoded_row {
    uint64_t begin, end, start_tick;
    uint32_t call, signature;
    uint64_t value[XW_N_SEG_FIELDS];
};

static inline uint64_t decoded_end(uint64_t begin, uint64_t worlds, uint64_t sites)
{
    return worlds ? ((begin >> 31) + worlds) * (UINT64_C(1) << 31) + sites : begin + sites;
}

static inline uint64_t get_bits(const uint8_t *from, uint64_t at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++, at++)
        value |= (uint64_t)(from[at / 8] >> at % 8 & 1) << i;
    return value;
}

/* By the words of docs/format.md: so many values to an octave, the larger ones rounded. */
static inline uint64_t decoded_value(uint64_t number, unsigned precision)
{
    uint64_t value = number, unit = 1;
    if (precision >= 63)
        return value;
    const uint64_t octave = UINT64_C(1) << precision;
    if (number < 2 * octave)
        return value;
    for (value = number; value >= 2 * octave; value -= octave)
        unit *= 2;
    return value * unit;
}

struct decoded_column {
    uint32_t width, precision, relative;
    uint64_t number[1024];
    uint64_t step[1024];
    uint8_t listed[1024];
};

static inline const uint8_t *decode_column(const uint8_t *at, struct decoded_column *column)
{
    const uint64_t shape = get_varint(&at);
    memset(column, 0, sizeof *column);
    column->width = shape % 64;
    column->precision = shape / 64 % 64;
    column->relative = shape / 4096 != 0;
    column->number[0] = (uint64_t)get_svarint(&at);
    uint64_t row = 0;
    for (uint64_t n = get_varint(&at); n; n--, row++) {
        row += get_varint(&at);
        assert_true(row < 1024);
        column->listed[row] = 1;
        column->step[row] = get_varint(&at);
    }
    return at;
}

/* The numbers of a column out of its packed steps. Returns the bytes that they take. */
static inline uint32_t unpack_column(const uint8_t *bits, uint32_t n, struct decoded_column *column)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t packed = get_bits(bits, (uint64_t)i * column->width, column->width);
        const uint64_t step = column->listed[i] ? column->step[i] : packed;
        const uint64_t difference = step % 2 ? ~(step / 2) : step / 2;
        column->number[i] = (i ? column->number[i - 1] : column->number[0]) + difference;
    }
    return (n * column->width + 7) / 8;
}

/* Decode the block's payload; returns how many rows it has. */
static inline uint32_t decode_block(const uint8_t *payload, uint32_t length, struct decoded_row *rows)
{
    static struct decoded_column column[XW_N_SEG_FIELDS];
    uint32_t size, type[1024], n_types;
    uint64_t types[1024][4];
    memcpy(&size, payload, 4);
    const uint8_t *at = payload + 4, *bits = at + size;
    const uint32_t n = (uint32_t)get_varint(&at);
    uint64_t position = get_varint(&at), tick = get_varint(&at), hz = get_varint(&at);
    n_types = (uint32_t)get_varint(&at);
    assert_in_range(n, 1, 1024);
    assert_in_range(n_types, 1, n);
    for (uint32_t t = 0; t < n_types; t++)
        for (unsigned k = 0; k < 4; k++)
            types[t][k] = get_varint(&at);
    for (unsigned f = 0; f < XW_N_SEG_FIELDS; f++)
        at = decode_column(at, &column[f]);
    int64_t correction[1024] = {0};
    uint64_t row = 0;
    for (uint64_t left = get_varint(&at); left; left--, row++) {
        row += get_varint(&at);
        assert_true(row < n);
        correction[row] = get_svarint(&at);
    }
    assert_ptr_equal(at, payload + 4 + size);

    unsigned width = 0;
    while (1u << width < n_types)
        width++;
    for (uint32_t i = 0; i < n; i++)
        type[i] = (uint32_t)get_bits(bits, (uint64_t)i * width, width);
    bits += (n * width + 7) / 8;
    for (unsigned f = 0; f < XW_N_SEG_FIELDS; f++)
        bits += unpack_column(bits, n, &column[f]);
    assert_ptr_equal(bits, payload + length);

    uint32_t sorted = 0;
    for (uint32_t t = 0; t < n_types; t++)
        for (uint32_t i = 0; i < n; i++) {
            if (type[i] != t)
                continue;
            for (unsigned f = 0; f < XW_N_SEG_FIELDS; f++) {
                const uint64_t base = column[f].relative ? column[0].number[sorted] : 0;
                rows[i].value[f] = decoded_value(column[f].number[sorted] + base, column[f].precision);
            }
            sorted++;
        }
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *of = types[type[i]];
        rows[i].begin = position;
        rows[i].end = position = decoded_end(position, of[2], of[3]);
        rows[i].call = (uint32_t)of[0];
        rows[i].signature = (uint32_t)of[1];
        rows[i].value[XW_SEG_DURATION] +=
            rows[i].value[XW_SEG_P2P_TIME] + rows[i].value[XW_SEG_COLL_TIME] + rows[i].value[XW_SEG_IO_TIME];
        rows[i].value[XW_SEG_CPU_TIME] = (uint64_t)((double)rows[i].value[XW_SEG_CPU_TIME] * 1e9 / (double)hz + 0.5);
        rows[i].start_tick = tick += (uint64_t)correction[i];
        tick += rows[i].value[XW_SEG_DURATION];
    }
    return n;
}

static inline int is_good_slot(const struct xw_segment_slot *slot)
{
    const uint64_t *word = &slot->head.check;
    uint64_t sum = 1, weight = 1;
    for (unsigned i = 1; i < sizeof *slot / 8; i++)
        sum += word[i] * (weight *= 0x9e3779b97f4a7c15u);
    return sum == word[0];
}

static inline struct decoded_row row_of_slot(const struct xw_segment_slot *slot)
{
    struct decoded_row row = {.begin = slot->head.position,
                              .end = decoded_end(slot->head.position, slot->head.worlds, slot->head.sites),
                              .start_tick = slot->head.start_tick,
                              .call = slot->head.call,
                              .signature = slot->head.signature};
    memcpy(row.value, slot->value, sizeof row.value);
    return row;
}

#endif
