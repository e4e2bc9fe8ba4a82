#include "counters.h"

#include <errno.h>
#include <time.h>

#include "heartbeat.h"
#include "init.h"
#include "process.h"

extern int clock_gettime(clockid_t clock, struct timespec *t) __attribute__((weak));

__thread struct xw_thread_state xw_thread __attribute__((tls_model("initial-exec"))) = {.ticket = XW_NO_TICKET};
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

/* The process was given its spool file since the thread got its block, and no more than that. */
static int was_published(const struct xw_hot *hot) { return xw_thread.generation + XW_PUBLISHED == hot->generation; }

/* The call that runs is from now on published in the new block. */
static void move_running_call(struct xw_thread_block *from, struct xw_thread_block *to)
{
    const uint32_t group = from->head.call_group;
    if (!xw_thread.outermost || xw_is_shared(from) || !group)
        return;
    __atomic_store_n(&from->head.call_group, 0, __ATOMIC_RELEASE);
    if (!xw_is_shared(to))
        xw_publish_call(to, from->head.call_since, from->head.call_function, group - 1);
}

/* A call that ended while the file was made may have been added to the early block behind the helper's back. Nothing
 * comes any more: the helper carries over what is left, now rather than at the end of the slice. */
static void leave_early_block(struct xw_thread_block *early, struct xw_thread_block *block)
{
    move_running_call(early, block);
    if (!xw_is_shared(early))
        xw_heartbeat_wake();
}

/* A block for thread `tid`; the shared one when there is none, which counts as a loss once. */
static struct xw_thread_block *own_or_shared_block(struct xw_process *process, uint32_t tid)
{
    struct xw_thread_block *block = find_block(process, tid);
    if (block)
        return block;
    if (xw_thread.generation != process->hot.generation) {
        xw_process_retire_blocks(process);
        block = find_block(process, tid);
        if (!block)
            xw_count_lost(XW_LOST_THREAD_SLOTS);
    }
    return block ? block : xw_spool_block(&process->spool, 0);
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
    struct xw_thread_block *block = own_or_shared_block(process, (uint32_t)xw_syscall(SYS_gettid));
    if (xw_thread.block && was_published(&process->hot))
        leave_early_block(xw_thread.block, block);
    else if (xw_thread.generation != process->hot.generation)
        xw_thread.outermost = xw_thread.inner = 0; /* a forked child: the parent's calls are not ours */
    xw_thread.block = block;
    xw_thread.generation = process->hot.generation;
    xw_thread.ticket = xw_is_shared(block) ? XW_NO_TICKET : process->hot.generation;
    return block;
}

/* --- calls that are not plain --- */

static struct xw_thread_block *current_block(void)
{
    const int known = xw_thread.block && xw_thread.generation == xw_hot.generation && xw_hot.generation;
    return known ? xw_thread.block : xw_thread_block_slow();
}

struct xw_slow_call xw_enter_slow(enum xw_layer layer, unsigned function, unsigned group, uintptr_t stack)
{
    const struct xw_slow_call uncounted = {XW_CALL_SLOW, 0};
    if (!xw_tls_usable(xw_tls_self_offset))
        return uncounted;
    struct xw_thread_block *block = current_block();
    if (!block)
        return uncounted;
    const int inside = xw_runs_around(xw_thread.outermost, stack);
    if (inside && ((xw_thread.outermost & 7) == layer || xw_runs_around(xw_thread.inner, stack)))
        return uncounted; /* the outermost call of a layer says it all */
    *(inside ? &xw_thread.inner : &xw_thread.outermost) = stack + layer;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const uint64_t begin = xw_is_timed() ? xw_tick() : 0;
    if (begin && !inside && !xw_is_shared(block))
        xw_publish_call(block, begin, function, group);
    if (begin && begin >= xw_helper_after(&xw_hot))
        xw_helper_due();
    const unsigned flags = XW_CALL_SLOW | XW_CALL_COUNTS | (inside ? 0 : XW_CALL_OWNS_TIME);
    return (struct xw_slow_call){(uintptr_t)block | flags, begin};
}

static void add_shared(struct xw_quad *quad, uint64_t out, uint64_t in, uint64_t ticks)
{
    __atomic_fetch_add(&quad->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->bytes_out, out, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->bytes_in, in, __ATOMIC_RELAXED);
    __atomic_fetch_add(&quad->ticks, ticks, __ATOMIC_RELAXED);
}

static void leave_shared(struct xw_thread_block *block, unsigned function, unsigned group, uint64_t out, uint64_t in,
                         uint64_t ticks, int owns_time)
{
    add_shared(&block->group[group], out, in, owns_time ? ticks : 0);
    add_shared(&block->function[function], out, in, ticks);
    /* As soon as a block is free the thread gets it: its next call looks again. */
    if (xw_process && __atomic_load_n(&xw_process->spool.free_blocks, __ATOMIC_RELAXED))
        xw_thread.block = NULL;
}

static void leave_own(struct xw_thread_block *block, unsigned function, unsigned group, uint64_t out, uint64_t in,
                      uint64_t ticks, int owns_time)
{
    if (owns_time)
        __atomic_store_n(&block->head.call_group, 0, __ATOMIC_RELEASE);
    if (group >= XW_G_POSIX(0, 0)) {
        if (owns_time)
            __atomic_store_n(&block->head.io_seen, 1, __ATOMIC_RELAXED);
        else
            xw_count_inside(block, 1, out + in);
    }
    xw_add_quad(&block->group[group], 1, out, in, owns_time ? ticks : 0);
    xw_add_quad(&block->function[function], 1, out, in, ticks);
}

/*
 * Where a call ends that did not begin or end as a plain one: in the block that its thread has now, to which it moved
 * with it. NULL: it began in the parent of this process, and its block is gone. (A vfork child counts into the shared
 * block while the thread's own words are its parent's.)
 */
struct xw_thread_block *xw_block_of_slow(uintptr_t slow)
{
    struct xw_thread_block *entered = (struct xw_thread_block *)(slow & ~(uintptr_t)XW_CALL_FLAGS);
    if (!xw_hot.generation)
        return NULL;
    if (entered && entered == xw_spool_block(&xw_process->spool, 0))
        return entered;
    return xw_thread.generation == xw_hot.generation || was_published(&xw_hot) ? xw_thread.block : NULL;
}

void xw_leave_slow(uintptr_t slow, uint64_t begin, unsigned function, unsigned group, uint64_t out, uint64_t in)
{
    if (slow && !(slow & XW_CALL_COUNTS))
        return;
    const int owns_time = !slow || (slow & XW_CALL_OWNS_TIME);
    struct xw_thread_block *block = xw_block_of_slow(slow);
    *(owns_time ? &xw_thread.outermost : &xw_thread.inner) = 0;
    if (!block)
        return;
    const uint64_t ticks = begin ? xw_tick() - begin : 0;
    if (!begin)
        xw_count_untimed();
    if (xw_is_shared(block))
        leave_shared(block, function, group, out, in, ticks, owns_time);
    else
        leave_own(block, function, group, out, in, ticks, owns_time);
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
