#include "segment_store.h"

#include "heartbeat.h"
#include "init.h"
#include "process.h"

enum { LEVEL_BYTES = 512 << 10, MAX_LEVEL = 30, MIN_MIXING_LEVEL = 3 };

#define SITES ((UINT64_C(1) << XW_SITE_BITS) - 1)

/* --- slots --- */

/* The powers of XW_ROW_WEIGHT: independent products, where a running hash would wait for each. */
#define W1 XW_ROW_WEIGHT
#define W2 (W1 * W1)
#define W4 (W2 * W2)
#define W8 (W4 * W4)
#define W16 (W8 * W8)
static const uint64_t weight[] = {
    W1,     W2,         W2 *W1, W4,         W4 *W1,     W4 *W2,         W4 *W2 *W1, W8,      W8 *W1,
    W8 *W2, W8 *W2 *W1, W8 *W4, W8 *W4 *W1, W8 *W4 *W2, W8 *W4 *W2 *W1, W16,        W16 *W1,
};
enum { SLOT_WORDS = sizeof(struct xw_segment_slot) / sizeof(uint64_t) };
_Static_assert(sizeof weight / sizeof *weight == SLOT_WORDS - 1, "a weight for each word behind the check");

/* The check is stored last: a row that a kill or a reader cuts in two does not pass it. */
static void write_slot(struct xw_segment_slot *slot, const struct xw_segment_slot *row)
{
    const uint64_t *from = &row->head.check;
    uint64_t *to = &slot->head.check, check = 1;
#pragma GCC unroll 32
    for (unsigned i = 1; i < SLOT_WORDS; i++) {
        check += from[i] * weight[i - 1];
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&to[0], check, __ATOMIC_RELEASE);
}

static int have_slots(struct xw_process *process)
{
    struct xw_segment_store *store = &process->segment_store;
    if (XW_UNLIKELY(!store->slots))
        store->slots = (struct xw_segment_slot *)xw_spool_area(&process->spool, XW_CHUNK_ROWS);
    return store->slots != NULL;
}

/* --- blocks --- */

/* What has been written at this level decides about the next one. */
static void account(struct xw_segment_store *store, uint32_t bytes)
{
    store->level_bytes += bytes;
    store->level_rows += store->used;
    if (store->level_bytes < LEVEL_BYTES || store->level >= MAX_LEVEL)
        return;
    if (store->level >= MIN_MIXING_LEVEL && store->level_cuts < store->level_rows << store->level >> 2)
        store->mixes = 1;
    store->level++;
    store->level_bytes = 0;
    store->level_rows = store->level_cuts = 0;
}

/* Whether the last record has taken the room below the mark at which the helper is woken: once for each chunk. */
static int is_running_low(const struct xw_spool *spool, uint64_t room_before)
{
    return room_before >= XW_SEGMENT_LOW_WATER && xw_log_room(spool, &spool->blocks) < XW_SEGMENT_LOW_WATER;
}

/* The closed rows become a block. 0: no room for it; they stay where they are. */
static int write_block(struct xw_process *process)
{
    struct xw_segment_store *store = &process->segment_store;
    struct xw_spool *spool = &process->spool;
    const uint64_t room = xw_log_room(spool, &spool->blocks);
    const uint32_t length = xw_segment_block_make(&store->block, store->slots, store->used, xw_tick_hz(spool->header));
    const int fits = xw_log_begin(spool, &spool->blocks, length) >= 0;
    __atomic_store_n(&store->wanted_room, fits ? 0 : room + 1, __ATOMIC_RELAXED);
    if (fits) {
        xw_log_append(&spool->blocks, store->block.payload, length);
        account(store, length);
        store->used = 0;
    }
    if (!fits || is_running_low(spool, room))
        xw_heartbeat_wake();
    return fits;
}

/* The same, undisturbed: a signal handler that forks would leave its child in the middle of rows and chunks that it
 * does not have. Where there was no room the last time, and there is no more now, nothing is tried. */
static int make_space(struct xw_process *process)
{
    if (xw_log_room(&process->spool, &process->spool.blocks) < process->segment_store.wanted_room)
        return 0;
    if (xw_is_sealed())
        return write_block(process);
    const uint64_t signals = xw_block_signals();
    const int done = write_block(process);
    xw_restore_signals(signals);
    return done;
}

/* --- rows --- */

static uint64_t end_of(uint64_t position, uint64_t worlds, uint64_t sites)
{
    return worlds ? ((position >> XW_SITE_BITS) + worlds) << XW_SITE_BITS | sites : position + sites;
}

/* In a block each row begins where the one before ends. It does not where segments were lost. */
static int follows_last_row(const struct xw_segment_store *store, uint64_t position)
{
    if (!store->used)
        return 1;
    const struct xw_segment_slot_head *last = &store->slots[store->used - 1].head;
    return end_of(last->position, last->worlds, last->sites) == position;
}

static int has_space(struct xw_process *process, uint64_t position)
{
    const struct xw_segment_store *store = &process->segment_store;
    return (store->used < XW_BLOCK_ROWS && follows_last_row(store, position)) || make_space(process);
}

static void lose(struct xw_process *process, uint64_t segments)
{
    struct xw_spool_header *header = process->spool.header;
    if (header) /* a forked child has none */
        __atomic_fetch_add(&header->lost[XW_LOST_SEGMENTS], segments, __ATOMIC_RELAXED);
}

/* The open row grows no more. */
static void close_row(struct xw_process *process)
{
    struct xw_segment_store *store = &process->segment_store;
    struct xw_segment_slot_head *head = &store->open.head;
    const uint64_t cuts = (uint64_t)head->worlds + head->sites;
    if (has_space(process, head->position)) {
        write_slot(&store->slots[store->used++], &store->open);
        store->level_cuts += cuts;
        if (store->used == XW_BLOCK_ROWS)
            make_space(process);
    } else {
        lose(process, cuts);
    }
    head->worlds = head->sites = 0;
}

static int is_open(const struct xw_segment_store *store)
{
    return (store->open.head.worlds | store->open.head.sites) != 0;
}

static int same_function(uint32_t a, uint32_t b) { return !((a ^ b) & ((1u << XW_PLACE_SHIFT) - 1)); }

/* Whether the next segment may become a part of the open row. */
static int continues(const struct xw_segment_store *store, const struct xw_segment_row *row, uint64_t position)
{
    if (position != store->open_end)
        return 0;
    return store->mixes || (same_function(row->call, store->open.head.call) &&
                            row->signature == store->open_signature && row->ended_by_site == !store->open.head.worlds);
}

static void open_row(struct xw_segment_store *store, const struct xw_segment_row *row, uint64_t position)
{
    store->open.head =
        (struct xw_segment_slot_head){.position = position, .start_tick = row->start_tick, .signature = row->signature};
    for (unsigned i = 0; i < XW_N_SEG_FIELDS; i++)
        store->open.value[i] = row->value[i];
}

static void grow_row(struct xw_segment_store *store, const struct xw_segment_row *row)
{
    store->open.head.signature += row->signature;
#pragma GCC unroll 32
    for (unsigned i = 0; i < XW_N_SEG_FIELDS; i++)
        store->open.value[i] += row->value[i];
}

/* The open row has one segment more: it reaches up to its cut. */
static void reach(struct xw_segment_store *store, const struct xw_segment_row *row)
{
    struct xw_segment_slot_head *head = &store->open.head;
    head->call = row->call;
    if (row->ended_by_site) {
        head->sites += (uint32_t)row->count;
    } else {
        head->worlds += (uint32_t)row->count;
        head->sites = 0;
    }
    store->open_signature = row->signature;
    store->open_end = end_of(head->position, head->worlds, head->sites);
}

/* All ranks cut here, whatever their level: at cuts of the world by their number, between them by that of the call
 * sites. A row that ends several cuts at once may reach beyond such a place: it ends there, too. */
static int is_edge(uint64_t begin, uint64_t end, uint32_t level)
{
    const uint64_t number = end & SITES ? end & SITES : end >> XW_SITE_BITS;
    return !(number & ((UINT64_C(1) << level) - 1)) || begin >> XW_SITE_BITS >> level != end >> XW_SITE_BITS >> level;
}

void xw_segment_store_add(struct xw_process *process, const struct xw_segment_row *row)
{
    struct xw_segment_store *store = &process->segment_store;
    const uint64_t position = row->world << XW_SITE_BITS | row->site;
    if (row->world + row->count >= XW_MAX_WORLD || !have_slots(process)) {
        lose(process, row->count);
        return;
    }
    if (is_open(store) && !continues(store, row, position))
        close_row(process);
    if (is_open(store))
        grow_row(store, row);
    else
        open_row(store, row, position);
    reach(store, row);
    if (is_edge(store->open.head.position, store->open_end, store->level))
        close_row(process);
    else
        write_slot(&store->slots[XW_OPEN_SLOT + (store->turn ^= 1)], &store->open);
}

void xw_segment_store_finish(struct xw_process *process)
{
    if (is_open(&process->segment_store))
        close_row(process);
}
