#include "segment_store.h"

#include "heartbeat.h"
#include "init.h"
#include "process.h"
#include "varint.h"

/*
 * Detail before it is thinned out: after this many records, a record covers two neighbouring segments, after as many
 * more four, and so on. It depends on the number of cuts alone, so all ranks do the same at the same segment and stay
 * aligned.
 */
enum { RECORDS_PER_LEVEL = 32768 };

/* Most bytes of a record: index, count, start, function, signature, values. */
#define MAX_RECORD (XW_VARINT_MAX * (5u + XW_N_SEG_FIELDS))
#define MAX_PREFIX (3u * XW_VARINT_MAX) /* index, count, start */

/* Whether the last record has taken the room below the mark at which the helper is woken: once for each chunk. */
static int is_running_low(const struct xw_spool *spool, uint64_t room_before)
{
    return room_before >= XW_SEGMENT_LOW_WATER && xw_log_room(spool, &spool->segments) < XW_SEGMENT_LOW_WATER;
}

static void append_record(struct xw_process *process)
{
    struct xw_segment_store *store = &process->segment_store;
    const struct xw_segment_row *row = &store->merged;
    uint8_t record[MAX_RECORD];
    uint8_t *const body = record + MAX_PREFIX, *at = body;
    at = xw_put_varint(at, row->function);
    at = xw_put_varint(at, row->signature);
    for (unsigned i = 0; i < XW_N_SEG_FIELDS; i++)
        at = xw_put_varint(at, row->value[i]);
    const uint32_t body_length = (uint32_t)(at - body);

    const uint64_t room_before = xw_log_room(&process->spool, &process->spool.segments);
    int first = xw_log_begin(&process->spool, &process->spool.segments, body_length + MAX_PREFIX);
    if (first < 0) {
        xw_count_lost(XW_LOST_SEGMENTS);
        xw_heartbeat_wake();
        return;
    }
    uint8_t prefix[MAX_PREFIX], *end = prefix;
    end = xw_put_varint(end, row->world - (first ? 0 : store->last_record_index));
    end = xw_put_varint(end, row->count);
    end = xw_put_svarint(end, (int64_t)(row->start_tick - (first ? 0 : store->last_end_tick)));
    const uint32_t prefix_length = (uint32_t)(end - prefix);
    for (uint32_t i = 0; i < prefix_length; i++)
        body[(int32_t)i - (int32_t)prefix_length] = prefix[i];
    xw_log_append(&process->spool.segments, body - prefix_length, prefix_length + body_length);
    store->last_record_index = row->world;
    store->last_end_tick = row->start_tick + row->value[XW_SEG_DURATION];
    if (is_running_low(&process->spool, room_before))
        xw_heartbeat_wake();
}

static void next_level(struct xw_segment_store *store)
{
    if (++store->records_in_level < RECORDS_PER_LEVEL)
        return;
    store->records_in_level = 0;
    store->level++;
}

/* A segment, and all that follow up to the row's end, become one. */
static void merge(struct xw_segment_row *merged, const struct xw_segment_row *row)
{
    merged->count += row->count;
    merged->function = row->function;
    merged->signature += row->signature;
    merged->ended_by_site = row->ended_by_site;
    for (unsigned i = 0; i < XW_N_SEG_FIELDS; i++)
        merged->value[i] += row->value[i];
}

void xw_segment_store_add(struct xw_process *process, const struct xw_segment_row *row)
{
    struct xw_segment_store *store = &process->segment_store;
    if (store->merged.count)
        merge(&store->merged, row);
    else
        store->merged = *row;
    if (store->merged.count >> store->level)
        xw_segment_store_finish(process);
}

void xw_segment_store_finish(struct xw_process *process)
{
    struct xw_segment_store *store = &process->segment_store;
    if (!store->merged.count)
        return;
    append_record(process);
    next_level(store);
    store->merged.count = 0;
}
