#include "segment.h"

#include "call_sites.h"
#include "heartbeat.h"
#include "init.h"
#include "papi.h"
#include "process.h"

enum { CLOCK_OF_THREAD = 3, SHORT_COLLECTIVE_NS = 10000, SHORT_STRETCH_NS = 100000, CPU_READING_MAX_AGE_NS = 1000000 };
enum { EMPTY_ONE_BY_ONE = 64, EMPTY_TOGETHER = 1 << 20 };

/* The site numbers of a file have 31 bits. A segment has at most 2^16 passages (recurring.c): none reaches the end. */
#define LAST_SITE ((UINT64_C(1) << XW_SITE_BITS) - (UINT64_C(1) << 17))

/* --- call sites --- */

/* A thread without a block of its own has no segments, nor has the child of a signal handler that forked in the call.
 */
void xw_segment_site(unsigned function, const void *return_address)
{
    if (xw_has_own_block())
        xw_add(&xw_thread.block->head.site_hash, xw_call_site(function, return_address));
}

/* --- readings --- */

/* The block whose thread owns the segments; NULL: there are none now, as after MPI_Finalize and in a forked child. */
static struct xw_thread_block *owner(const struct xw_process *process)
{
    return process ? __atomic_load_n(&process->segments.block, __ATOMIC_RELAXED) : NULL;
}

static void set_owner(struct xw_process *process, struct xw_thread_block *block)
{
    __atomic_store_n(&process->segments.block, block, __ATOMIC_RELAXED);
}

/*
 * The process, if the calling thread is the one whose segments these are. Who goes on from here takes the block from
 * xw_thread: a signal handler may end the segments meanwhile.
 */
static struct xw_process *mine(void)
{
    struct xw_process *process = xw_process;
    const struct xw_thread_block *block = owner(process);
    return block && xw_has_own_block() && block == xw_thread.block ? process : NULL;
}

int xw_segment_is_mine(void) { return mine() != NULL; }
int xw_segment_is_anyones(void) { return owner(xw_process) != NULL; }

static uint64_t rise(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

static uint64_t p2p_ticks(const struct xw_thread_block *block)
{
    return block->group[XW_G_MPI_P2P].ticks + block->group[XW_G_MPI_WAIT].ticks;
}

/* All POSIX and stdio calls of the thread outside MPI. Most segments have none, and then they cost nothing. */
static void sum_posix(struct xw_thread_block *block, struct xw_quad *sum)
{
    if (!__atomic_load_n(&block->head.io_seen, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&block->head.io_seen, 0, __ATOMIC_RELAXED);
    *sum = (struct xw_quad){.calls = -block->head.inside_calls, .bytes_out = -block->head.inside_bytes};
    for (unsigned cls = 0; cls < XW_N_CLASSES; cls++)
        for (unsigned op = 0; op < XW_N_OPS; op++) {
            const struct xw_quad *group = &block->group[XW_G_POSIX(cls, op)];
            const int reads = op == XW_OP_POSIX_READ || op == XW_OP_STDIO_READ;
            sum->calls += group->calls;
            sum->bytes_out += reads ? 0 : group->bytes_out;
            sum->bytes_in += reads ? group->bytes_in : 0; /* a copy's writing group has both ways */
            sum->ticks += group->ticks;
        }
}

/* What the counters of the calling thread, the owner, say now, in the terms of a segment. */
static void read_counters(struct xw_segments *segments, struct xw_segment_reading *now)
{
    struct xw_thread_block *block = xw_thread.block;
    const struct xw_quad *posix = &segments->posix;
    sum_posix(block, &segments->posix);
    const struct xw_quad *p2p = &block->group[XW_G_MPI_P2P], *wait = &block->group[XW_G_MPI_WAIT];
    const struct xw_quad *io = &block->group[XW_G_MPI_IO];
    now->p2p_calls = p2p->calls + wait->calls;
    now->p2p_bytes = p2p->bytes_out + p2p->bytes_in;
    now->p2p_ticks = p2p_ticks(block);
    now->io_calls = posix->calls + io->calls;
    now->io_bytes = posix->bytes_out + posix->bytes_in + io->bytes_out + io->bytes_in;
    now->io_ticks = posix->ticks + io->ticks;
    now->coll_calls = now->coll_bytes = now->coll_ticks = 0;
    static const uint8_t collectives[] = {XW_G_MPI_COLL_ONE_TO_ALL, XW_G_MPI_COLL_ALL_TO_ONE, XW_G_MPI_COLL_ALL_TO_ALL};
    for (unsigned i = 0; i < sizeof collectives; i++) {
        const struct xw_quad *group = &block->group[collectives[i]];
        now->coll_calls += group->calls;
        now->coll_bytes += group->bytes_out + group->bytes_in;
        now->coll_ticks += group->ticks;
    }
    now->site_hash = block->head.site_hash;
    now->tick = xw_tick();
}

/*
 * CPU time and processor counters where computation ends or begins. Reading a thread's CPU clock is a system call that
 * takes longer than many collectives. A stretch too short to have lost the processor in has run all the time: there its
 * CPU time is `estimate_ns`. Every millisecond at least the clock is read, so that estimates do not add up. Once the
 * process is sealed nothing is read any more: each stretch counts as run all the time, counters stand still.
 */
static void read_processor(struct xw_segments *segments, struct xw_processor_reading *now, uint64_t estimate_ns,
                           int read_clock)
{
    const int sealed = xw_is_sealed();
    if (read_clock && !sealed) {
        now->cpu_ns = xw_clock_ns(CLOCK_OF_THREAD);
        segments->cpu_read_tick = xw_tick();
    } else {
        now->cpu_ns = estimate_ns;
    }
    if (segments->has_counters && (sealed || !xw_papi_read(now->counters)))
        segments->has_counters = 0;
}

void xw_segment_start(void)
{
    struct xw_process *process = xw_process;
    if (!process || !xw_has_own_block() || process->clock == XW_CLOCK_OFF)
        return;
    struct xw_segments *segments = &process->segments;
    segments->has_counters = xw_papi_start(xw_perf_parse(xw_config.events)) != 0;
    set_owner(process, xw_thread.block);
    xw_call_sites_modules_changed();
    read_processor(segments, &segments->processor_begin, 0, 1);
    segments->processor_end = segments->processor_begin;
    read_counters(segments, &segments->begin);
    __atomic_store_n(&xw_hot.watches_sites, 1, __ATOMIC_RELAXED);
    xw_heartbeat_wake(); /* for room in the log */
}

void xw_segment_boundary(void)
{
    struct xw_process *process = mine();
    if (!process)
        return;
    struct xw_segments *segments = &process->segments;
    segments->boundary_tick = xw_tick();
    segments->boundary_p2p_ticks = p2p_ticks(xw_thread.block);
    const uint64_t stretch_ns = xw_ticks_to_ns(rise(segments->begin.tick, segments->boundary_tick));
    read_processor(segments, &segments->processor_end, segments->processor_begin.cpu_ns + stretch_ns,
                   stretch_ns >= SHORT_STRETCH_NS);
}

/* --- the finished segment --- */

/*
 * The segment that ends with the reading `now`.
 *
 * A wait that ends a collective is communication of all, not from point to point. A clock that goes backwards, as it
 * may where a virtual machine moves, gives no time.
 */
static struct xw_segment_row finished(const struct xw_segments *segments, const struct xw_segment_reading *now,
                                      uint32_t call, int ended_by_site)
{
    const struct xw_segment_reading *begin = &segments->begin;
    const struct xw_processor_reading *from = &segments->processor_begin, *to = &segments->processor_end;
    const uint64_t sites = now->site_hash - begin->site_hash;
    const uint64_t p2p_before = rise(begin->p2p_ticks, segments->boundary_p2p_ticks);
    const uint64_t waited = ended_by_site ? 0 : rise(segments->boundary_p2p_ticks, now->p2p_ticks);
    struct xw_segment_row row = {.world = segments->world,
                                 .site = segments->site,
                                 .count = 1,
                                 .start_tick = begin->tick,
                                 .call = call,
                                 .signature = (uint32_t)(sites ^ sites >> 32),
                                 .ended_by_site = (uint32_t)ended_by_site};
    uint64_t *value = row.value;
    value[XW_SEG_DURATION] = rise(begin->tick, now->tick);
    value[XW_SEG_P2P_TIME] = rise(begin->p2p_ticks + waited, now->p2p_ticks);
    value[XW_SEG_COLL_TIME] = rise(begin->coll_ticks, now->coll_ticks) + waited;
    value[XW_SEG_IO_TIME] = rise(begin->io_ticks, now->io_ticks);
    value[XW_SEG_CPU_TIME] = rise(xw_ticks_to_ns(p2p_before), rise(from->cpu_ns, to->cpu_ns));
    value[XW_SEG_INSTRUCTIONS] = rise(from->counters[XW_PAPI_INSTRUCTIONS], to->counters[XW_PAPI_INSTRUCTIONS]);
    value[XW_SEG_FLOPS] = rise(from->counters[XW_PAPI_FLOPS], to->counters[XW_PAPI_FLOPS]);
    value[XW_SEG_P2P_CALLS] = now->p2p_calls - begin->p2p_calls;
    value[XW_SEG_P2P_BYTES] = now->p2p_bytes - begin->p2p_bytes;
    value[XW_SEG_COLL_CALLS] = now->coll_calls - begin->coll_calls;
    value[XW_SEG_COLL_BYTES] = now->coll_bytes - begin->coll_bytes;
    value[XW_SEG_IO_CALLS] = now->io_calls - begin->io_calls;
    value[XW_SEG_IO_BYTES] = now->io_bytes - begin->io_bytes;
    return row;
}

/* The next segment's begin. */
static void begin_next(struct xw_segments *segments, const struct xw_segment_reading *now)
{
    const uint64_t inside_ns = xw_ticks_to_ns(rise(segments->boundary_tick, now->tick));
    const int stale = xw_ticks_to_ns(now->tick - segments->cpu_read_tick) >= CPU_READING_MAX_AGE_NS;
    segments->begin = *now;
    read_processor(segments, &segments->processor_begin, segments->processor_end.cpu_ns + inside_ns,
                   inside_ns >= SHORT_COLLECTIVE_NS || stale);
}

/* Segments without extent, for collectives that have ended with the cut at this tick. The first are told apart; where
 * other threads had thousands of them, the rest are merged, so that the cut takes no longer for it. */
static void add_empty(struct xw_process *process, const struct xw_segment_row *cut, uint64_t tick, uint32_t n)
{
    struct xw_segment_row row = {.start_tick = tick, .call = cut->call};
    for (uint32_t done = 0; done < n; done += (uint32_t)row.count) {
        const uint32_t left = n - done, most = done < EMPTY_ONE_BY_ONE ? 1 : EMPTY_TOGETHER;
        row.count = left < most ? left : most;
        row.world = process->segments.world;
        process->segments.world += row.count;
        xw_segment_store_add(process, &row);
    }
}

void xw_segment_cut(unsigned function, const void *return_address, uint32_t collectives)
{
    struct xw_process *process = mine();
    if (!process) {
        xw_segment_missed(collectives);
        return;
    }
    struct xw_segments *segments = &process->segments;
    struct xw_segment_reading now;
    read_counters(segments, &now);
    const struct xw_segment_row row = finished(segments, &now, xw_site_call(process, function, return_address), 0);
    xw_segment_store_add(process, &row);
    segments->world++;
    segments->site = 0;
    if (!xw_recurring_world_cut(&process->recurring))
        __atomic_store_n(&xw_hot.watches_sites, 0, __ATOMIC_RELAXED);
    if (XW_UNLIKELY(__atomic_load_n(&segments->missed, __ATOMIC_RELAXED)))
        collectives += __atomic_exchange_n(&segments->missed, 0, __ATOMIC_RELAXED);
    add_empty(process, &row, now.tick, collectives - 1);
    begin_next(segments, &now);
}

void xw_segment_missed(uint32_t collectives)
{
    struct xw_process *process = xw_process;
    if (owner(process))
        __atomic_fetch_add(&process->segments.missed, collectives, __ATOMIC_RELAXED);
}

uint32_t xw_segment_pass(unsigned function, const void *return_address)
{
    struct xw_process *process = mine();
    if (!process)
        return 0;
    const uint32_t passages = xw_recurring_pass(&process->recurring, xw_call_site(function, return_address));
    if (!passages || process->segments.site + passages > LAST_SITE)
        return 0;
    xw_segment_boundary();
    return passages;
}

/* Small enough for the rate of the tick, which becomes more exact, to change it little from one cut to the next. */
static uint64_t ns_since_start(const struct xw_process *process, uint64_t tick)
{
    const struct xw_spool_header *header = process->spool.header;
    return header ? xw_ticks_to_ns(rise(header->start.tick, tick)) : 0;
}

void xw_segment_cut_at_site(unsigned function, const void *return_address, uint32_t passages)
{
    struct xw_process *process = mine();
    if (!process)
        return;
    struct xw_segments *segments = &process->segments;
    struct xw_segment_reading now;
    read_counters(segments, &now);
    struct xw_segment_row row = finished(segments, &now, xw_site_call(process, function, return_address), 1);
    row.count = passages;
    xw_segment_store_add(process, &row);
    segments->site += passages;
    xw_recurring_cut(&process->recurring, ns_since_start(process, now.tick));
    begin_next(segments, &now);
}

void xw_segment_finish(unsigned function)
{
    struct xw_process *process = mine();
    if (process) {
        xw_segment_boundary();
        xw_segment_cut(function, NULL, 1);
        xw_segment_store_finish(process);
    }
    __atomic_store_n(&xw_hot.watches_sites, 0, __ATOMIC_RELAXED);
    if (xw_process)
        set_owner(xw_process, NULL);
}
