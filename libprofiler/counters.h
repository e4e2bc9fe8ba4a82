/*
 * The hot path: what a wrapper does before and after the real call.
 *
 *     struct xw_call call = xw_enter_posix(XW_F_write, group);
 *     r = real_write(fd, buf, n);
 *     xw_leave(call, XW_F_write, group, bytes_out, bytes_in);
 *
 * Each thread counts into a block of its own (format.h), found through one thread-local word, with plain stores: no
 * lock, no atomic, no system call, no errno. Nothing is ever reset; the heartbeat takes differences.
 *
 * Rules:
 *   - Every wrapper calls xw_enter_posix or xw_enter_mpi once and xw_leave once. A call that is left by longjmp
 *     (wrappers/process/jump.c) or thread cancellation loses its own count and nothing else. One left by an exception
 * also hides calls further in on the stack until the next one from further out: nesting is told by the stack pointer.
 *   - Wrapped calls nest (MPI-IO calls pwrite; an interposed tool calls us again). The outermost call owns the time of
 * its group. POSIX inside POSIX is not counted at all (one layer), MPI inside MPI neither, POSIX inside MPI counts
 * calls and bytes.
 *   - Entering may find that nothing can be counted (no usable thread-local storage, no memory): call.block is NULL
 * then and xw_leave does nothing.
 */
#ifndef XW_COUNTERS_H
#define XW_COUNTERS_H

#include "format.h"
#include "function_table.h"
#include "metric_table.h"
#include "os.h"

/* The access pattern of one class of file and way: what the words count says the metric table. */
struct xw_access {
    uint64_t steps[XW_N_STEPS];
    uint64_t sizes[XW_N_SIZES];
};

/* One thread's counters, as this build lays them out. */
struct xw_thread_block {
    struct xw_thread_head head;
    struct xw_quad group[XW_N_GROUPS];
    struct xw_quad function[XW_N_FUNCTIONS];
    struct xw_access access[XW_N_CLASSES][XW_N_WAYS];
} __attribute__((aligned(64)));

/* Which layer a wrapped function belongs to. Nesting is told per layer. */
enum xw_layer { XW_LAYER_POSIX, XW_LAYER_MPI, XW_N_LAYERS };

/* The thread's own words. `generation` is that of the process image that `block` belongs to: a forked child has
 * another. */
struct xw_thread_state {
    struct xw_thread_block *block;
    uint64_t generation;
    uintptr_t outermost[XW_N_LAYERS]; /* stack pointer at the entry of the layer's outermost running call; 0: none */
    uint32_t untimed;                 /* calls since the clock was last looked at, while timing is off */
};
extern __thread struct xw_thread_state xw_thread XW_HIDDEN __attribute__((tls_model("initial-exec")));

/*
 * What all threads of the process share and the hot path reads. It lies in a page that a forked child finds zeroed
 * (MADV_WIPEONFORK), so that the child knows at once, a raw fork's too, that nothing is set up. Before the first set-up
 * `xw_hot` points to a static zeroed one.
 */
struct xw_hot {
    uint64_t generation;    /* 0: not set up */
    uint64_t helper_after;  /* tick from which on a wrapper tries to start the helper; ~0: never (again) */
    uint32_t timing;        /* 0: no clock is read */
    uint32_t cycle_counter; /* 1: ticks are rdtsc, 0: CLOCK_MONOTONIC */
};
extern struct xw_hot *xw_hot XW_HIDDEN;

static inline __attribute__((always_inline)) uint64_t xw_helper_after(const struct xw_hot *hot)
{
    return __atomic_load_n(&hot->helper_after, __ATOMIC_RELAXED);
}

static inline void xw_set_helper_after(struct xw_hot *hot, uint64_t tick)
{
    __atomic_store_n(&hot->helper_after, tick, __ATOMIC_RELAXED);
}

extern uintptr_t xw_tls_self_offset XW_HIDDEN; /* see xw_tls_usable */

/* A call in progress. */
struct xw_call {
    struct xw_thread_block *block; /* NULL: not counted */
    uint64_t begin;
    uint8_t layer;
    uint8_t outermost; /* of its layer: counts calls and bytes */
    uint8_t owns_time; /* of all layers: adds to the time of its group */
};

/* Find or make the calling thread's block; NULL when that can't be done. Preserves errno. */
struct xw_thread_block *xw_thread_block_slow(void) XW_HIDDEN;
/* Start the helper thread when it is due (heartbeat.h). Preserves errno. */
void xw_helper_due(void) XW_HIDDEN;
/* CLOCK_MONOTONIC in ns, through the vDSO if the process has one. */
uint64_t xw_clock_tick(void) XW_HIDDEN;
/* Count into the block that threads without one of their own share. (Words, not a struct xw_call: that would have to
   lie in memory on the hot path as well.) */
void xw_leave_shared(struct xw_thread_block *block, uint64_t begin, int owns_time, unsigned function, unsigned group,
                     uint64_t out, uint64_t in) XW_HIDDEN;

static inline __attribute__((always_inline)) uint64_t xw_tick(const struct xw_hot *hot)
{
    if (XW_LIKELY(hot->cycle_counter))
        return xw_rdtsc();
    if (hot->timing)
        return xw_clock_tick();
    if (XW_UNLIKELY((++xw_thread.untimed & 255) == 0))
        xw_helper_due();
    return 0;
}

/* Whether a wrapped call of the layer is running further out on this stack. An entry below the current stack pointer
   belongs to a call that was abandoned. */
static inline int xw_runs_inside(enum xw_layer layer, uintptr_t stack) { return xw_thread.outermost[layer] > stack; }

static inline int xw_is_shared(const struct xw_thread_block *block)
{
    return __atomic_load_n(&block->head.state, __ATOMIC_RELAXED) == XW_SLOT_SHARED;
}

static inline __attribute__((always_inline)) struct xw_call xw_enter_layer(enum xw_layer layer, unsigned function,
                                                                           unsigned group)
{
    struct xw_call call = {0};
    if (XW_UNLIKELY(!xw_tls_usable(xw_tls_self_offset)))
        return call;
    struct xw_hot *hot = xw_hot;
    struct xw_thread_block *block = xw_thread.block;
    if (XW_UNLIKELY(xw_thread.generation != hot->generation || !block)) {
        block = xw_thread_block_slow();
        if (!block)
            return call;
        hot = xw_hot;
    }
    call.block = block;
    call.layer = layer;
    uintptr_t stack = xw_stack_pointer();
    call.outermost = !xw_runs_inside(layer, stack);
    if (XW_LIKELY(call.outermost))
        xw_thread.outermost[layer] = stack;
    call.owns_time = call.outermost && !xw_runs_inside(layer == XW_LAYER_MPI ? XW_LAYER_POSIX : XW_LAYER_MPI, stack);
    call.begin = xw_tick(hot);
    if (XW_LIKELY(call.owns_time && !xw_is_shared(block))) {
        /* Publish: since when, then in what. The compiler must keep the order; the processor does. */
        __atomic_store_n(&block->head.call_since, call.begin, __ATOMIC_RELAXED);
        __atomic_store_n(&block->head.call_function, function, __ATOMIC_RELAXED);
        __atomic_store_n(&block->head.call_group, group + 1, __ATOMIC_RELEASE);
    }
    if (XW_UNLIKELY(call.begin >= xw_helper_after(hot)))
        xw_helper_due();
    return call;
}

static inline __attribute__((always_inline)) void xw_add(uint64_t *word, uint64_t amount)
{
    if (!(__builtin_constant_p(amount) && amount == 0))
        xw_add_to_own(word, amount);
}

static inline __attribute__((always_inline)) void xw_add_quad(struct xw_quad *quad, uint64_t calls, uint64_t out,
                                                              uint64_t in, uint64_t ticks)
{
    xw_add(&quad->calls, calls);
    xw_add(&quad->bytes_out, out);
    xw_add(&quad->bytes_in, in);
    xw_add(&quad->ticks, ticks);
}

static inline __attribute__((always_inline)) void xw_leave(struct xw_call call, unsigned function, unsigned group,
                                                           uint64_t out, uint64_t in)
{
    struct xw_thread_block *block = call.block;
    if (XW_UNLIKELY(!block))
        return;
    if (XW_UNLIKELY(!call.outermost))
        return;
    xw_thread.outermost[call.layer] = 0;
    if (XW_UNLIKELY(xw_is_shared(block))) {
        xw_leave_shared(block, call.begin, call.owns_time, function, group, out, in);
        return;
    }
    uint64_t ticks = xw_tick(xw_hot) - call.begin;
    if (XW_LIKELY(call.owns_time)) {
        /* Cleared before the time is added: a slice closed in between is short by this call and the next one has it. */
        __atomic_store_n(&block->head.call_group, 0, __ATOMIC_RELEASE);
        if (call.layer == XW_LAYER_POSIX) {
            xw_add(&block->head.io_calls, 1);
            xw_add(&block->head.io_bytes, out + in);
            xw_add(&block->head.io_ticks, ticks);
        }
    }
    xw_add_quad(&block->group[group], 1, out, in, call.owns_time ? ticks : 0);
    xw_add_quad(&block->function[function], 1, out, in, ticks);
}

#define xw_enter_posix(function, group) xw_enter_layer(XW_LAYER_POSIX, (function), (group))
#define xw_enter_mpi(function, group) xw_enter_layer(XW_LAYER_MPI, (function), (group))

#endif
