#include "counters.h"

#include <errno.h>
#include <time.h>

#include "heartbeat.h"
#include "init.h"
#include "process.h"

extern int clock_gettime(clockid_t clock, struct timespec *t) __attribute__((weak));

__thread struct xw_thread_state xw_thread __attribute__((tls_model("initial-exec")));
static struct xw_hot not_set_up; /* generation 0 for ever */
struct xw_hot *xw_hot = &not_set_up;
uintptr_t xw_tls_self_offset;

uint64_t xw_clock_tick(void)
{
    struct timespec t;
    if (clock_gettime && clock_gettime(CLOCK_MONOTONIC, &t) == 0)
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return xw_clock_ns(CLOCK_MONOTONIC);
}

/* --- blocks for threads --- */

/* Only a block in use is ever retired, and by then it has its thread's number. */
static int take(struct xw_thread_block *block, uint32_t from, uint32_t tid)
{
    if (!__atomic_compare_exchange_n(&block->head.state, &from, XW_SLOT_TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&block->head.tid, tid, __ATOMIC_RELAXED);
    __atomic_store_n(&block->head.call_group, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&block->head.state, XW_SLOT_USED, __ATOMIC_RELEASE);
    return 1;
}

static int is_free(uint32_t state) { return state == XW_SLOT_FREE || state == XW_SLOT_RETIRED; }

/*
 * A block for thread `tid`: one that a thread of the same number left (it is dead, or it is this thread with its memory
 * gone), else a free one, else one whose thread has ended. Counts go on from where they are: nothing is reset.
 */
static struct xw_thread_block *find_block(struct xw_process *process, uint32_t tid)
{
    struct xw_thread_block *block, *free_block = NULL;
    for (unsigned i = 1; (block = xw_spool_block(&process->spool, i)); i++) {
        uint32_t state = __atomic_load_n(&block->head.state, __ATOMIC_ACQUIRE);
        if (state == XW_SLOT_USED && __atomic_load_n(&block->head.tid, __ATOMIC_RELAXED) == tid)
            return block;
        if (is_free(state) && !free_block)
            free_block = block;
        if (state == XW_SLOT_FREE)
            break; /* blocks are taken in order: nobody ever had those behind it */
    }
    for (unsigned i = 1; free_block && (block = xw_spool_block(&process->spool, i)); i++) {
        if (take(block, XW_SLOT_FREE, tid) || take(block, XW_SLOT_RETIRED, tid)) {
            __atomic_fetch_sub(&process->spool.free_blocks, 1, __ATOMIC_RELAXED);
            return block;
        }
    }
    return NULL;
}

struct xw_thread_block *xw_thread_block_slow(void)
{
    if (!xw_process_set_up())
        return NULL;
    struct xw_process *process = xw_process;
    if (xw_is_sealed())
        return NULL;
    if (process->pid !=
        (uint32_t)xw_syscall(SYS_getpid)) /* a vfork child, in its parent's memory: not a thread of it */
        return xw_spool_block(&process->spool, 0);
    const uint32_t tid = (uint32_t)xw_syscall(SYS_gettid);
    struct xw_thread_block *block = find_block(process, tid);
    if (!block && xw_thread.generation != process->hot.generation) {
        xw_process_retire_blocks(process);
        block = find_block(process, tid);
    }
    if (!block) {
        if (xw_thread.generation != process->hot.generation)
            xw_count_lost(XW_LOST_THREAD_SLOTS);
        block = xw_spool_block(&process->spool, 0);
    }
    if (xw_thread.generation != process->hot.generation) /* a forked child: the parent's calls are not ours */
        for (unsigned layer = 0; layer < XW_N_LAYERS; layer++)
            xw_thread.outermost[layer] = 0;
    xw_thread.block = block;
    xw_thread.generation = process->hot.generation;
    return block;
}

static void add_shared(struct xw_quad *quad, uint64_t out, uint64_t in, uint64_t ticks)
{
    __atomic_fetch_add(&quad->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->bytes_out, out, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->bytes_in, in, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->ticks, ticks, __ATOMIC_RELAXED);
}

void xw_leave_shared(struct xw_thread_block *block, uint64_t begin, int owns_time, unsigned function, unsigned group,
                     uint64_t out, uint64_t in)
{
    uint64_t ticks = xw_tick(xw_hot) - begin;
    add_shared(&block->group[group], out, in, owns_time ? ticks : 0);
    add_shared(&block->function[function], out, in, ticks);
    /* As soon as a block is free the thread gets it: its next call looks again. */
    if (xw_process && __atomic_load_n(&xw_process->spool.free_blocks, __ATOMIC_RELAXED))
        xw_thread.block = NULL;
}

/* --- the start of the helper --- */

void xw_helper_due(void)
{
    struct xw_process *process = xw_process;
    if (!process || !process->hot.generation || xw_is_sealed() || xw_helper_after(&process->hot) == ~0ul)
        return;
    const uint64_t limit_ns = xw_config.helper_after_ms * 1000000u;
    struct xw_instant now;
    xw_process_instant(process, &now);
    uint64_t age_ns = now.mono_ns - process->spool.header->start.mono_ns;
    if (age_ns >= limit_ns) {
        xw_heartbeat_start();
        return;
    }
    /* Too early: the tick is faster than was assumed. Look again when the age should be right. */
    xw_process_calibrate(process);
    uint64_t hz = xw_tick_hz(process->spool.header);
    if (hz)
        xw_set_helper_after(&process->hot, now.tick + (uint64_t)((double)(limit_ns - age_ns) * (double)hz / 1e9) + 1);
}

/* --- sums --- */

void xw_totals_read(struct xw_totals *totals)
{
    *totals = (struct xw_totals){0};
    struct xw_process *process = xw_process;
    if (!process || !process->hot.generation)
        return;
    struct xw_instant now;
    xw_process_instant(process, &now);
    xw_sum_groups(&process->spool, now.tick, totals->group);
    const struct xw_thread_block *block;
    for (unsigned i = 0; (block = xw_spool_block(&process->spool, i)); i++)
        for (unsigned f = 0; f < XW_N_FUNCTIONS; f++) {
            totals->function[f].calls += block->function[f].calls;
            totals->function[f].bytes_out += block->function[f].bytes_out;
            totals->function[f].bytes_in += block->function[f].bytes_in;
            totals->function[f].ticks += block->function[f].ticks;
        }
    for (unsigned i = 0; i < XW_N_LOST; i++)
        totals->lost[i] = process->spool.header->lost[i];
    for (unsigned i = 0; i < XW_N_PERF; i++)
        totals->perf[i] = process->perf.last[i];
    totals->perf_available = process->perf.available;
    totals->omp_num_threads = xw_config.omp_num_threads;
    totals->wall_ns = now.mono_ns - process->spool.header->start.mono_ns;
    totals->cpu_ns = xw_process_stats_cpu_ns(&process->stats);
    totals->threads_busy_most = __atomic_load_n(&process->stats.threads.busy_most, __ATOMIC_RELAXED);
}

uint64_t xw_ticks_to_ns(uint64_t ticks)
{
    struct xw_process *process = xw_process;
    uint64_t hz = process && process->hot.generation ? xw_tick_hz(process->spool.header) : 0;
    return hz ? (uint64_t)((double)ticks * 1e9 / (double)hz) : 0;
}

void xw_count_lost(enum xw_lost what)
{
    struct xw_process *process = xw_process;
    if (process && process->spool.header)
        __atomic_fetch_add(&process->spool.header->lost[what], 1, __ATOMIC_RELAXED);
}
