#include "process.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timex.h>

#include "init.h"

struct xw_process *xw_process;
uint32_t xw_sealed;

/*
 * All of it, in pages of their own: a forked child finds them zeroed. They are the library's own zeroed data, which is
 * anonymous memory, so that the wrappers need no pointer to read `hot`.
 */
enum { PAGE = 4096, PAGES = (sizeof(struct xw_process) + PAGE - 1) / PAGE };
union xw_process_pages {
    struct xw_process process;
    uint8_t bytes[PAGES * PAGE];
};
static union xw_process_pages own __asm__("xw_process_pages") __attribute__((used, aligned(PAGE)));
_Static_assert(offsetof(struct xw_process, hot) == 0, "xw_hot is the beginning");
/* `xw_hot` is its first member. (The attribute alias would do, but AddressSanitizer takes it for a variable.) */
__asm__(".globl xw_hot\n.hidden xw_hot\n.set xw_hot, xw_process_pages");
static uint32_t claiming; /* someone asks for it; once for a process and all its forked children */

enum { CLOCK_REAL = 0, CLOCK_MONO = 1, CLOCK_OF_THREAD = 3, ESRCH_RESULT = -3, TIMEX_ERROR_STATE = 5 };
enum { PUBLISHING = 1, PUBLISHED = 2, PUBLISH_TIMEOUT_NS = 1000000000 };
enum {
    CALIBRATION_NS = 20000,
    MIN_FREE_BLOCKS = 4,
    KEPT_CHUNKS = 8, /* of the chunk table, for threads and slices */
    SLICE_LOG_STEP = 65536,
    SLICE_LOG_MAX_STEP = 1048576,
    SEGMENT_LOG_STEP = 65536,
    SEGMENT_LOG_MAX_STEP = 1048576
};

int xw_process_is_mine(void)
{
    struct xw_process *process = xw_process;
    return process && process->hot.generation && !xw_is_sealed() && process->pid == (uint32_t)xw_syscall(SYS_getpid);
}

/* --- clocks --- */

void xw_process_instant(const struct xw_process *process, struct xw_instant *now)
{
    now->real_ns = xw_clock_ns(CLOCK_REAL);
    now->mono_ns = xw_clock_ns(CLOCK_MONO);
    now->tick = process->clock == XW_CLOCK_CYCLES ? xw_rdtsc() : now->mono_ns;
}

void xw_process_calibrate(struct xw_process *process)
{
    struct xw_spool_header *header = process->spool.header;
    if (process->clock != XW_CLOCK_CYCLES)
        return; /* ticks are ns */
    struct xw_instant now;
    xw_process_instant(process, &now);
    uint64_t elapsed_ns = now.mono_ns - header->start.mono_ns;
    if (elapsed_ns < CALIBRATION_NS)
        return;
    uint64_t hz = (uint64_t)((double)(now.tick - header->start.tick) * 1e9 / (double)elapsed_ns);
    __atomic_store_n(&header->tick_hz, hz, __ATOMIC_RELAXED);
}

/* Whether the cycle counter runs at one rate in all states of the processor (CPUID 8000_0007h, EDX bit 8). */
static int cycle_counter_is_invariant(void)
{
    uint32_t a = 0x80000007u, b, c = 0,
             d; /* every 64-bit processor has this leaf; a guest pays microseconds to ask for it */
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return d >> 8 & 1;
}

/* --- set-up --- */

/* The pages of `xw_process`, once told to be zeroed at a fork; NULL when that can't be had: a child could not be told
 * from its parent then. */
static struct xw_process *claim_pages(void)
{
    struct xw_process *process = __atomic_load_n(&xw_process, __ATOMIC_ACQUIRE);
    if (process)
        return process;
    if (__atomic_exchange_n(&claiming, 1, __ATOMIC_ACQ_REL) ||
        xw_failed(xw_syscall(SYS_madvise, &own, sizeof own, MADV_WIPEONFORK)))
        return NULL;
    *(volatile uint32_t *)&own.process.claimed = 0; /* written before it is read, the page costs one fault, not two */
    __atomic_store_n(&xw_process, &own.process, __ATOMIC_RELEASE);
    return &own.process;
}

/* A sandbox can make reading the cycle counter fatal, for this process and what it executes. */
static int cycle_counter_is_allowed(void)
{
    int mode = PR_TSC_ENABLE;
    return xw_failed(xw_syscall(SYS_prctl, PR_GET_TSC, &mode)) || mode == PR_TSC_ENABLE;
}

static enum xw_clock choose_clock(void)
{
    static int invariant = -1;
    if (!xw_config.timing)
        return XW_CLOCK_OFF;
    if (invariant < 0)
        invariant = cycle_counter_is_allowed() && cycle_counter_is_invariant();
    return invariant ? XW_CLOCK_CYCLES : XW_CLOCK_MONOTONIC;
}

/* One that no other image of the process has had: a thread's ticket of before must not be good. */
static uint64_t new_generation(const struct xw_process *process, const struct xw_instant *now)
{
    return ((now->real_ns ^ (uint64_t)process->pid << 40) | 1) << 2 | process->clock;
}

/* The tick at which the helper may start if the counter ran at 1 GHz, the slowest there is: xw_helper_due corrects it.
 */
static uint64_t first_look_for_helper(const struct xw_process *process, const struct xw_instant *start)
{
    if (process->helper.forbidden)
        return ~0ul;
    return process->clock != XW_CLOCK_OFF ? start->tick + xw_config.helper_after_ms * 1000000u : 0;
}

static int set_up(void)
{
    struct xw_process *process = claim_pages();
    if (!process)
        return 0;
    if (process->hot.generation)
        return 1;
    if (__atomic_exchange_n(&process->claimed, 1, __ATOMIC_ACQ_REL))
        return 0; /* another thread, or the code that a signal handler interrupted, is at it */

    static const uint8_t tick_source[] = {[XW_CLOCK_OFF] = 2, [XW_CLOCK_CYCLES] = 1, [XW_CLOCK_MONOTONIC] = 0};
    struct xw_instant now;
    process->clock = choose_clock();
    xw_process_instant(process, &now);
    process->pid = (uint32_t)xw_syscall(SYS_getpid);
    if (!xw_spool_begin(&process->spool, &xw_config, &now))
        return 0;
    process->spool.header->tick_source = tick_source[process->clock];
    process->spool.header->tick_hz = process->clock == XW_CLOCK_CYCLES ? 0 : 1000000000u;
    process->slicer.begin_real_ns = now.real_ns;
    process->slicer.begin_mono_ns = now.mono_ns;
    process->stats.threads.read_ns = now.mono_ns;
    process->helper.forbidden = (uint32_t)xw_config.no_helper;
    xw_set_helper_after(&process->hot, first_look_for_helper(process, &now));
    __atomic_store_n(&process->hot.generation, new_generation(process, &now), __ATOMIC_RELEASE);
    return 1;
}

/* No signal handler runs meanwhile: one that forks would leave its child in the middle of this, with wiped pages. */
int xw_process_set_up(void)
{
    if (!xw_options_ready() || xw_config.disable || xw_is_sealed())
        return 0;
    if (xw_generation())
        return 1;
    const uint64_t signals = xw_block_signals();
    const int done = set_up();
    xw_restore_signals(signals);
    return done;
}

/* Another thread is at it: whoever comes second relies on the file too. */
static void wait_until_published(const struct xw_process *process)
{
    const uint64_t give_up = xw_clock_ns(CLOCK_MONO) + PUBLISH_TIMEOUT_NS;
    while (__atomic_load_n(&process->publishing, __ATOMIC_ACQUIRE) == PUBLISHING && xw_clock_ns(CLOCK_MONO) < give_up)
        xw_syscall(SYS_sched_yield);
}

void xw_process_publish(struct xw_process *process)
{
    uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n(&process->publishing, &nobody, PUBLISHING, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        wait_until_published(process);
        return;
    }
    const uint64_t signals = xw_block_signals(); /* as in xw_process_set_up */
    xw_process_calibrate(process);
    if (xw_spool_publish(&process->spool,
                         &xw_config)) /* a new generation: each thread takes a block in the file at its next call */
        __atomic_fetch_add(&process->hot.generation, XW_PUBLISHED, __ATOMIC_RELEASE);
    __atomic_store_n(&process->publishing, PUBLISHED, __ATOMIC_RELEASE);
    xw_restore_signals(signals);
}

/* --- room --- */

void xw_process_retire_blocks(struct xw_process *process)
{
    struct xw_thread_block *block;
    for (unsigned i = 1; (block = xw_spool_block(&process->spool, i)); i++) {
        uint32_t used = XW_SLOT_USED;
        if (__atomic_load_n(&block->head.state, __ATOMIC_ACQUIRE) != XW_SLOT_USED ||
            xw_syscall(SYS_tgkill, process->pid, __atomic_load_n(&block->head.tid, __ATOMIC_RELAXED), 0) !=
                ESRCH_RESULT)
            continue;
        if (__atomic_compare_exchange_n(&block->head.state, &used, XW_SLOT_RETIRED, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            __atomic_fetch_add(&process->spool.free_blocks, 1, __ATOMIC_RELAXED);
    }
}

static uint32_t chunk_step(const struct xw_spool *spool, uint32_t kind, uint32_t first, uint32_t most)
{
    uint32_t size = first;
    for (uint32_t c = 0; c < spool->header->n_chunks; c++)
        if (spool->header->chunk[c].kind == kind && size < most)
            size *= 2;
    return size;
}

void xw_process_make_segment_room(struct xw_process *process)
{
    struct xw_spool *spool = &process->spool;
    if (!xw_spool_is_published(spool))
        return;
    if (!xw_spool_area(spool, XW_CHUNK_ROWS))
        xw_spool_grow(spool, XW_CHUNK_ROWS, XW_ROWS_SIZE);
    if (!xw_spool_area(spool, XW_CHUNK_SITES))
        xw_spool_grow(spool, XW_CHUNK_SITES, XW_SITE_NAMES_SIZE);
    const uint64_t room = xw_log_room(spool, &spool->blocks);
    const uint64_t wanted = xw_segment_store_wanted_room(&process->segment_store);
    if ((room < XW_SEGMENT_LOW_WATER || room < wanted) && spool->header->n_chunks < XW_MAX_CHUNKS - KEPT_CHUNKS)
        xw_spool_grow(spool, XW_CHUNK_BLOCKS,
                      chunk_step(spool, XW_CHUNK_BLOCKS, SEGMENT_LOG_STEP, SEGMENT_LOG_MAX_STEP));
}

void xw_process_make_room(struct xw_process *process)
{
    struct xw_spool *spool = &process->spool;
    xw_spool_carry_over(spool);
    xw_process_retire_blocks(process);
    if (__atomic_load_n(&spool->free_blocks, __ATOMIC_RELAXED) < MIN_FREE_BLOCKS)
        xw_spool_grow(spool, XW_CHUNK_THREADS,
                      chunk_step(spool, XW_CHUNK_THREADS, 4, 64) * (uint32_t)sizeof(struct xw_thread_block));
    if (!xw_spool_is_published(spool))
        return;
    if (xw_log_room(spool, &spool->slices) < XW_SLICE_MAX_PAYLOAD)
        xw_spool_grow(spool, XW_CHUNK_SLICES,
                      chunk_step(spool, XW_CHUNK_SLICES, SLICE_LOG_STEP / 2, SLICE_LOG_MAX_STEP));
    if (process->segments.block)
        xw_process_make_segment_room(process);
}

/* --- slices --- */

static void read_clock_state(struct xw_slice_end *end)
{
    struct timex state;
    for (unsigned i = 0; i < sizeof state / sizeof(long); i++)
        ((volatile long *)&state)[i] = 0;
    long result = xw_syscall(SYS_adjtimex, &state);
    if (xw_failed(result) || result == TIMEX_ERROR_STATE || (state.status & STA_UNSYNC))
        end->flags |= XW_SLICE_UNSYNCHRONISED;
    if (xw_failed(result))
        return;
    end->clock_offset_ns = state.status & STA_NANO ? state.offset : state.offset * 1000;
    end->clock_max_error_us = (uint64_t)state.maxerror;
}

/* The end of the open slice. If the clock was set meanwhile, the slice keeps the length that it had: it would get one
 * of hours, or end before it began. The next one begins by the new time. */
static uint64_t slice_end_ns(const struct xw_slicer *slicer, const struct xw_instant *now, uint64_t slice_ns)
{
    const uint64_t begin = slicer->begin_real_ns, expected = begin + (now->mono_ns - slicer->begin_mono_ns);
    const uint64_t apart = now->real_ns > expected ? now->real_ns - expected : expected - now->real_ns;
    return now->real_ns < begin || apart > slice_ns ? expected : now->real_ns;
}

void xw_process_close_slice(struct xw_process *process, uint32_t flags, int self_tid)
{
    const uint64_t cpu_before = xw_clock_ns(CLOCK_OF_THREAD);
    struct xw_instant now;
    xw_process_calibrate(process);
    xw_spool_carry_over(&process->spool);
    xw_spool_store_files(&process->spool, process->files);
    xw_process_instant(process, &now);
    xw_sum_groups(&process->spool, now.tick, process->groups);
    if (self_tid)
        xw_process_stats_helper_ran(&process->stats);
    xw_process_stats_read(&process->stats, self_tid, process->scratch, sizeof process->scratch);
    xw_snapshot_fill(&process->snapshot, process->groups, &process->stats, &process->perf);

    const uint64_t slice_ns = process->spool.header->slice_ns;
    struct xw_slice_end end = {.real_ns = slice_end_ns(&process->slicer, &now, slice_ns),
                               .flags = flags,
                               .slice_ns = slice_ns,
                               .tick_hz = xw_tick_hz(process->spool.header)};
    read_clock_state(&end);
    end.cost_ns = xw_clock_ns(CLOCK_OF_THREAD) - cpu_before;
    if (!xw_slice_close(&process->slicer, &process->snapshot, &end, &process->spool, process->payload))
        xw_count_lost(XW_LOST_SLICES);
    process->slicer.begin_real_ns = now.real_ns;
    process->slicer.begin_mono_ns = now.mono_ns;
}
