#include "slice.h"

enum kind { XW_KIND_COUNTER, XW_KIND_GAUGE };
enum source { XW_FROM_GROUP, XW_FROM_OS, XW_FROM_PERF };

/* Where each column comes from: the metric table, as the generator wrote it. */
static const struct column {
    uint8_t kind, source, a, b; /* a: group or number of the sample, b: field of the group */
} columns[] = {
#define ROW(index, kind, source, a, b) [index] = {kind, source, a, b},
    XW_COLUMNS(ROW)
#undef ROW
};

enum field { CALLS, BYTES_OUT, BYTES_IN, TICKS };

_Static_assert(sizeof columns / sizeof *columns == XW_N_COLUMNS, "one row per column");

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

/* Add the time of a call that is running: it began at call_since and has not been added to its group yet. */
static void add_running_call(const struct xw_thread_block *block, uint64_t now, struct xw_quad total[XW_N_GROUPS])
{
    uint32_t group = __atomic_load_n(&block->head.call_group, __ATOMIC_ACQUIRE);
    uint64_t since = load(&block->head.call_since);
    if (group && group <= XW_N_GROUPS && since && since < now)
        total[group - 1].ticks += now - since;
}

void xw_sum_groups(const struct xw_spool *spool, uint64_t now, struct xw_quad total[XW_N_GROUPS])
{
    for (unsigned g = 0; g < XW_N_GROUPS; g++)
        total[g] = (struct xw_quad){0, 0, 0, 0};
    const struct xw_thread_block *block;
    for (unsigned i = 0; (block = xw_spool_block(spool, i)); i++) {
        uint32_t state = __atomic_load_n(&block->head.state, __ATOMIC_ACQUIRE);
        if (state == XW_SLOT_FREE)
            continue;
        for (unsigned g = 0; g < XW_N_GROUPS; g++) {
            total[g].calls += load(&block->group[g].calls);
            total[g].bytes_out += load(&block->group[g].bytes_out);
            total[g].bytes_in += load(&block->group[g].bytes_in);
            total[g].ticks += load(&block->group[g].ticks);
        }
        if (state == XW_SLOT_USED)
            add_running_call(block, now, total);
    }
    if (!xw_spool_is_published(spool))
        return;
    /* The counts of the early blocks have been carried over (xw_spool_carry_over); a call may still run in one. */
    for (unsigned i = 1; (block = xw_spool_early_block(spool, i)); i++)
        if (__atomic_load_n(&block->head.state, __ATOMIC_ACQUIRE) == XW_SLOT_USED)
            add_running_call(block, now, total);
}

static uint64_t field_of(const struct xw_quad *quad, unsigned field)
{
    switch (field) {
    case CALLS:
        return quad->calls;
    case BYTES_OUT:
        return quad->bytes_out;
    case BYTES_IN:
        return quad->bytes_in;
    default:
        return quad->ticks;
    }
}

void xw_snapshot_fill(struct xw_snapshot *snapshot, const struct xw_quad groups[XW_N_GROUPS],
                      const struct xw_process_stats *stats, const struct xw_perf *perf)
{
    for (unsigned i = 0; i < XW_N_COLUMNS; i++) {
        const struct column *column = &columns[i];
        if (column->source == XW_FROM_GROUP)
            snapshot->value[i] = field_of(&groups[column->a], column->b);
        else
            snapshot->value[i] = column->source == XW_FROM_OS ? stats->value[column->a] : perf->last[column->a];
    }
}

uint64_t xw_column_to_record(unsigned index, uint64_t value, uint64_t tick_hz)
{
    if (columns[index].source != XW_FROM_GROUP || columns[index].b != TICKS)
        return value;
    return tick_hz ? (uint64_t)((double)value * 1e9 / (double)tick_hz) : 0;
}

/* The value that the record shows for a column, and the slicer's memory of it. */
static uint64_t advance(unsigned index, uint64_t *last, uint64_t now, uint64_t tick_hz)
{
    if (columns[index].kind == XW_KIND_GAUGE)
        return now;
    if (now <= *last)
        return 0;
    uint64_t difference = now - *last;
    *last = now;
    return xw_column_to_record(index, difference, tick_hz);
}

static uint32_t slice_flags(const struct xw_slicer *slicer, const struct xw_slice_end *end, uint64_t index)
{
    uint32_t flags = end->flags;
    if (!slicer->records)
        flags |= XW_SLICE_FIRST;
    /* It ends at its boundary, give or take a late wake-up; one that reaches a whole slice further slept through. */
    if (end->real_ns > (index + 2) * end->slice_ns ||
        ((flags & XW_SLICE_LAST) && end->real_ns > (index + 1) * end->slice_ns))
        flags |= XW_SLICE_GAP;
    return flags;
}

/* Everything of the record behind its index. Returns where it ends. */
static uint8_t *encode_body(struct xw_slicer *slicer, const struct xw_snapshot *now, const struct xw_slice_end *end,
                            uint64_t index, uint8_t *at)
{
    at = xw_put_varint(at, slice_flags(slicer, end, index));
    at = xw_put_svarint(at, (int64_t)(slicer->begin_real_ns - index * end->slice_ns));
    at = xw_put_svarint(at, (int64_t)(end->real_ns - (index + 1) * end->slice_ns));
    at = xw_put_svarint(at, end->clock_offset_ns);
    at = xw_put_varint(at, end->clock_max_error_us);
    at = xw_put_varint(at, end->cost_ns);

    /* The pairs come behind their number, which is known only afterwards: LEB128 padded to two bytes. */
    _Static_assert(XW_N_COLUMNS < 1u << 14, "the number of pairs fits two bytes");
    uint8_t *const number_at = at;
    at += 2;
    uint32_t pairs = 0, previous = 0;
    for (uint32_t i = 0; i < XW_N_COLUMNS; i++) {
        uint64_t value = advance(i, &slicer->last.value[i], now->value[i], end->tick_hz);
        if (!value)
            continue;
        at = xw_put_varint(at, i - previous);
        at = xw_put_varint(at, value);
        previous = i + 1;
        pairs++;
    }
    number_at[0] = (uint8_t)(pairs | 0x80);
    number_at[1] = (uint8_t)(pairs >> 7);
    return at;
}

int xw_slice_close(struct xw_slicer *slicer, const struct xw_snapshot *now, const struct xw_slice_end *end,
                   struct xw_spool *spool, uint8_t *payload)
{
    const uint64_t index = slicer->begin_real_ns / end->slice_ns;
    uint8_t *const body = payload + XW_VARINT_MAX;
    const uint32_t body_length = (uint32_t)(encode_body(slicer, now, end, index, body) - body);
    slicer->begin_real_ns = end->real_ns;
    slicer->records++;

    /* The index goes in front, as a difference unless the record is the first of its chunk. */
    int first = xw_log_begin(spool, &spool->slices, body_length + XW_VARINT_MAX);
    if (first < 0)
        return 0;
    uint8_t prefix[XW_VARINT_MAX];
    const uint32_t prefix_length =
        (uint32_t)(xw_put_varint(prefix, index - (first ? 0 : slicer->record_index)) - prefix);
    slicer->record_index = index;
    for (uint32_t i = 0; i < prefix_length; i++)
        body[(int32_t)i - (int32_t)prefix_length] = prefix[i];
    xw_log_append(&spool->slices, body - prefix_length, prefix_length + body_length);
    return 1;
}
