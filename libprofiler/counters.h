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
enum xw_layer { XW_LAYER_POSIX, XW_LAYER_MPI };

/*
 * The thread's own words.
 *
 * A *mark* is the stack pointer at the entry of a running call plus its layer (a stack pointer is a multiple of 8).
 * Calls from further in have a smaller stack pointer. A mark that is not above the current stack pointer belongs to a
 * call that was abandoned.
 */
struct xw_thread_state {
    struct xw_thread_block *block;
    uint64_t ticket;     /* the generation in which `block` is this thread's own; else calls go the long way */
    uintptr_t outermost; /* mark of the outermost running call; 0: none */
    uintptr_t inner;     /* mark of the running call of the other layer inside that one; 0: none */
    uint64_t generation; /* that of the process image that `block` belongs to: a forked child has another */
    uint32_t untimed;    /* calls so far, while timing is off */
};
extern __thread struct xw_thread_state xw_thread XW_HIDDEN __attribute__((tls_model("initial-exec")));

#define XW_NO_TICKET 3u /* is no generation */

/* The mark of a POSIX call around everything: while it stands, the thread's POSIX calls do not count. */
#define XW_MARK_SILENT (UINTPTR_MAX - 7 + XW_LAYER_POSIX)

/*
 * What all threads of the process share and the hot path reads. It lies in pages that a forked child finds zeroed
 * (MADV_WIPEONFORK, process.c), so that the child knows at once, a raw fork's too, that nothing is set up.
 */
struct xw_hot {
    uint64_t generation;   /* 0: not set up; the lowest bits are enum xw_clock */
    uint64_t helper_after; /* tick from which on a wrapper tries to start the helper; ~0: never (again) */
    /* What calls that wait for other ranks look at; zeros in most programs and most of the time. */
    uint32_t watches_sites; /* call sites are counted, or cut (recurring.h) */
    uint64_t pending;       /* slots of requests whose completion ends a segment (mpi/pending.h) */
    uint64_t persistent;    /* slots of persistent requests that can be started to become such */
};
extern struct xw_hot xw_hot XW_HIDDEN;

/* What ticks are; the same as long as the process image lives. */
enum xw_clock { XW_CLOCK_OFF = 0, XW_CLOCK_CYCLES = 1, XW_CLOCK_MONOTONIC = 2, XW_CLOCK_BITS = 3 };
/* What the generation grows by when the process is given its spool file. */
enum { XW_PUBLISHED = 4 };

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
    uintptr_t slow; /* 0: a plain call, else struct xw_slow_call's */
    uint8_t layer;
    uint8_t outermost; /* of its layer: counts calls and bytes */
    uint8_t owns_time; /* of all layers: adds to the time of its group */
};

/* A call that is not plain, in two words: flags in the bits that the address of a block has to spare. */
enum { XW_CALL_SLOW = 1, XW_CALL_COUNTS = 2, XW_CALL_OWNS_TIME = 4, XW_CALL_FLAGS = 63 };
struct xw_slow_call {
    uintptr_t block_and_flags;
    uint64_t begin;
};

/* The long way in and out, for every call that is not plain. Preserve errno. `slow` 0: plain when it began. */
struct xw_slow_call xw_enter_slow(enum xw_layer layer, unsigned function, unsigned group,
                                  uintptr_t stack) XW_HIDDEN XW_NOINLINE;
void xw_leave_slow(uintptr_t slow, uint64_t begin, unsigned function, unsigned group, uint64_t out,
                   uint64_t in) XW_HIDDEN XW_NOINLINE;
/* Find or make the calling thread's block; NULL when that can't be done. Preserves errno. */
struct xw_thread_block *xw_thread_block_slow(void) XW_HIDDEN XW_NOINLINE;
/* Start the helper thread when it is due (heartbeat.h). Preserves errno. */
void xw_helper_due(void) XW_HIDDEN XW_NOINLINE;
/* CLOCK_MONOTONIC in ns, through the vDSO if the process has one. */
uint64_t xw_clock_tick(void) XW_HIDDEN;

/* The clock of the wrappers in a process of this generation; timing is on. */
static inline __attribute__((always_inline)) uint64_t xw_tick_of(uint64_t generation)
{
    return XW_LIKELY(generation & XW_CLOCK_CYCLES) ? xw_rdtsc() : xw_clock_tick();
}

static inline uint64_t xw_generation(void) { return __atomic_load_n(&xw_hot.generation, __ATOMIC_RELAXED); }
static inline int xw_is_timed(void) { return (xw_generation() & XW_CLOCK_BITS) != XW_CLOCK_OFF; }
static inline uint64_t xw_tick(void) { return xw_tick_of(xw_generation()); }

/* Without timing nothing tells how old the process is: every 256th call looks whether the helper is due. */
static inline __attribute__((always_inline)) void xw_count_untimed(void)
{
    if (XW_UNLIKELY((++xw_thread.untimed & 255) == 0))
        xw_helper_due();
}

/* Whether the thread's block is its own, in this image of the process. */
static inline __attribute__((always_inline)) int xw_has_own_block(void) { return xw_thread.ticket == xw_generation(); }

/* Whether the call with this mark is running further out on the stack. */
static inline __attribute__((always_inline)) int xw_runs_around(uintptr_t mark, uintptr_t stack)
{
    return mark > (stack | 7);
}

static inline int xw_is_shared(const struct xw_thread_block *block)
{
    return __atomic_load_n(&block->head.state, __ATOMIC_RELAXED) == XW_SLOT_SHARED;
}

/* Publish what runs: since when, then in what. The compiler must keep the order; the processor does. */
static inline __attribute__((always_inline)) void xw_publish_call(struct xw_thread_block *block, uint64_t begin,
                                                                  unsigned function, unsigned group)
{
    __atomic_store_n(&block->head.call_since, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&block->head.call_function, function, __ATOMIC_RELAXED);
    __atomic_store_n(&block->head.call_group, group + 1, __ATOMIC_RELEASE);
}

/*
 * A call is plain if the thread has its own block and no wrapped call runs around it. The wrappers hold this one case;
 * everything else is in counters.c.
 *
 * A signal handler may call wrapped functions at any point. Until the mark is set these are calls of their own,
 * complete when the handler returns; from then on they are inside this one.
 */
static inline __attribute__((always_inline)) struct xw_call xw_enter_layer(enum xw_layer layer, unsigned function,
                                                                           unsigned group)
{
    const uintptr_t stack = xw_stack_pointer();
    const uint64_t generation = xw_generation();
    if (XW_UNLIKELY(!xw_tls_usable(xw_tls_self_offset) || xw_thread.ticket != generation ||
                    xw_runs_around(xw_thread.outermost, stack))) {
        const struct xw_slow_call call = xw_enter_slow(layer, function, group, stack);
        return (struct xw_call){.block = (void *)(call.block_and_flags & ~(uintptr_t)XW_CALL_FLAGS),
                                .begin = call.begin,
                                .slow = call.block_and_flags,
                                .layer = (uint8_t)layer,
                                .outermost = (call.block_and_flags & XW_CALL_COUNTS) != 0,
                                .owns_time = (call.block_and_flags & XW_CALL_OWNS_TIME) != 0};
    }
    struct xw_thread_block *block = xw_thread.block;
    xw_thread.outermost = stack + layer;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct xw_call call = {.block = block, .layer = (uint8_t)layer, .outermost = 1, .owns_time = 1};
    if (XW_UNLIKELY((generation & XW_CLOCK_BITS) == XW_CLOCK_OFF))
        return call;
    call.begin = xw_tick_of(generation);
    xw_publish_call(block, call.begin, function, group);
    if (XW_UNLIKELY(call.begin >= xw_helper_after(&xw_hot)))
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

/* A POSIX call inside an MPI call: no I/O of the segment's. */
static inline void xw_count_inside(struct xw_thread_block *block, uint64_t calls, uint64_t bytes)
{
    xw_add_to_own(&block->head.inside_calls, calls);
    xw_add_to_own(&block->head.inside_bytes, bytes);
}

/*
 * The ticket is looked at again: while the call ran the spool file may have been made, or a signal handler may have
 * forked and returned in the child, where the block is gone. A thread that took another block meanwhile, by a call
 * inside this one, has it in `xw_thread.block`, and its call was published there anew.
 */
static inline __attribute__((always_inline)) void xw_leave(struct xw_call call, unsigned function, unsigned group,
                                                           uint64_t out, uint64_t in)
{
    const uint64_t generation = xw_generation();
    if (XW_UNLIKELY(call.slow || xw_thread.ticket != generation)) {
        xw_leave_slow(call.slow, call.begin, function, group, out, in);
        return;
    }
    struct xw_thread_block *block = xw_thread.block;
    xw_thread.outermost = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (XW_UNLIKELY((generation & XW_CLOCK_BITS) == XW_CLOCK_OFF)) {
        xw_add_quad(&block->group[group], 1, out, in, 0);
        xw_add_quad(&block->function[function], 1, out, in, 0);
        xw_count_untimed();
        return;
    }
    const uint64_t ticks = xw_tick_of(generation) - call.begin;
    /* Cleared before the time is added: a slice closed in between is short by this call and the next one has it. */
    __atomic_store_n(&block->head.call_group, 0, __ATOMIC_RELEASE);
    if (call.layer == XW_LAYER_POSIX)
        __atomic_store_n(&block->head.io_seen, 1, __ATOMIC_RELAXED);
    xw_add_quad(&block->group[group], 1, out, in, ticks);
    xw_add_quad(&block->function[function], 1, out, in, ticks);
}

/* The long way of xw_block_of. */
struct xw_thread_block *xw_block_of_slow(uintptr_t slow) XW_HIDDEN XW_NOINLINE;

/*
 * Where a call counts what xw_leave does not say, asked once the real call has returned: its own block may be gone, for
 * the reasons that xw_leave looks at the ticket again. NULL: nowhere.
 */
static inline __attribute__((always_inline)) struct xw_thread_block *xw_block_of(struct xw_call call)
{
    if (XW_UNLIKELY(!call.block || !call.outermost))
        return NULL;
    return XW_LIKELY(xw_has_own_block()) ? xw_thread.block : xw_block_of_slow(call.slow);
}

#define xw_enter_posix(function, group) xw_enter_layer(XW_LAYER_POSIX, (function), (group))
#define xw_enter_mpi(function, group) xw_enter_layer(XW_LAYER_MPI, (function), (group))

#endif
