/*
 * Everything that one profiled process image knows about itself, in one place.
 *
 * It lies in anonymous pages with MADV_WIPEONFORK: a child of any kind of fork, a raw clone too, finds zeros, so it
 * has no spool file, no helper and no counters until its first wrapped call sets it up anew. (A vfork child shares the
 * parent's and must not set anything up: `pid` tells.)
 */
#ifndef XW_PROCESS_H
#define XW_PROCESS_H

#include "config.h"
#include "file_table.h"
#include "papi.h"
#include "perf.h"
#include "recurring.h"
#include "segment_store.h"
#include "site_names.h"
#include "slice.h"
#include "spool.h"

/* Room for blocks of segments below which the helper is woken to make more; a block has 1 to 4 KiB. */
#define XW_SEGMENT_LOW_WATER 32768u

/* The helper thread. State changes go by compare-and-swap; whoever wins does the work. */
enum xw_helper_state { XW_HELPER_NONE, XW_HELPER_STARTING, XW_HELPER_RUNS, XW_HELPER_STOPPING, XW_HELPER_BROKEN };

struct xw_helper {
    uint32_t state;     /* enum xw_helper_state */
    uint32_t inhibited; /* how many callers keep it from starting */
    uint32_t forbidden; /* for ever: seccomp, EAGAIN, end of the process */
    uint32_t wake;      /* the futex that it sleeps on: counts requests */
    uint32_t stop;      /* it shall end */
    uint32_t alive;     /* its tid; cleared by the kernel when it is gone */
    int32_t tid;
    uint8_t *stack; /* kept for the next start */
};

/* The counters of one thread in the terms of a segment, at one instant. */
struct xw_segment_reading {
    uint64_t tick, site_hash;
    uint64_t p2p_ticks, p2p_calls, p2p_bytes;
    uint64_t coll_ticks, coll_calls, coll_bytes;
    uint64_t io_ticks, io_calls, io_bytes;
};

/* CPU time and processor counters (papi.h) of that thread. */
struct xw_processor_reading {
    uint64_t cpu_ns, counters[XW_PAPI_N];
};

/* The segments of the thread that called MPI_Init; only that thread writes, but for the log's chunks and `missed`. */
struct xw_segments {
    struct xw_thread_block *block; /* of that thread; NULL: segments are off */
    uint64_t world, site;          /* position of the segment that runs (segment_store.h) */
    uint32_t missed;               /* world-sized collectives that have ended and not yet cut */
    uint32_t has_counters;
    uint64_t boundary_tick;                      /* when the closing call began */
    uint64_t boundary_p2p_ticks;                 /* point-to-point time until then */
    uint64_t cpu_read_tick;                      /* when the CPU clock was read last */
    struct xw_quad posix;                        /* the thread's calls outside MPI, as of the last cut after one */
    struct xw_segment_reading begin;             /* where the running segment began */
    struct xw_processor_reading processor_begin; /* the same, for the processor */
    struct xw_processor_reading processor_end;   /* where its computation ended */
};

struct xw_process {
    struct xw_hot hot; /* `xw_hot` is this */
    enum xw_clock clock;
    uint32_t pid;
    uint32_t claimed;    /* someone is setting up, or has */
    uint32_t publishing; /* someone has begun, or done it */
    uint32_t ended;
    /* What every process writes at its start is in front, on one page; the large parts are behind. */
    struct xw_helper helper;
    struct xw_slicer slicer;
    struct xw_spool spool;
    struct xw_process_stats stats;
    struct xw_perf perf;
    struct xw_segments segments;
    struct xw_segment_store segment_store;
    struct xw_site_names site_names; /* of the same thread */
    /* Room for the one thread that closes slices: the helper, or another one while there is no helper. */
    struct xw_quad groups[XW_N_GROUPS];
    struct xw_snapshot snapshot;
    uint8_t payload[XW_SLICE_MAX_PAYLOAD];
    char scratch[4096];
    struct xw_recurring recurring; /* belongs to the segments' thread */
    uint64_t files[XW_N_FILES];    /* which it reads and writes; the file gets a copy with each slice */
    struct xw_descriptor descriptor[XW_ACCESS_FDS];
};
extern struct xw_process *xw_process XW_HIDDEN; /* NULL until the first set-up of the image */

/* Not a single system call of ours any more: a seccomp filter may kill the process for it, or the user has switched us
   off. Not in the pages above: a forked child inherits the filter. */
extern uint32_t xw_sealed XW_HIDDEN;
static inline int xw_is_sealed(void) { return __atomic_load_n(&xw_sealed, __ATOMIC_RELAXED) != 0; }

/* The process is set up, ours (not a vfork child's view of its parent's), and system calls are allowed. */
int xw_process_is_mine(void) XW_HIDDEN;

/* Whether the options have been read, reading them if that is possible already (init.c). */
int xw_options_ready(void) XW_HIDDEN;

/* Set this process up if it is not: spool file, counters. Returns 0 when that can't be done (yet). Any thread, any
 * time. */
int xw_process_set_up(void) XW_HIDDEN;

/* Give the process its spool file: it calls MPI, or has lived long enough. The first call counts. */
void xw_process_publish(struct xw_process *process) XW_HIDDEN;

/* Close the open slice now. Only by the one thread that may (see above), in a published process. */
void xw_process_close_slice(struct xw_process *process, uint32_t flags, int self_tid) XW_HIDDEN;

/* All clocks at once, ticks as the wrappers read them. */
void xw_process_instant(const struct xw_process *process, struct xw_instant *now) XW_HIDDEN;

/* Reckon the rate of the tick from the time since the start, if that is long enough (20 us; the error is then some
 * percent, and falls with every slice). */
void xw_process_calibrate(struct xw_process *process) XW_HIDDEN;

/* Mark the blocks of threads that have ended, so that others may take them over. Any thread. */
void xw_process_retire_blocks(struct xw_process *process) XW_HIDDEN;

/* Keep room for segments. By the helper, and once by the thread whose they are. */
void xw_process_make_segment_room(struct xw_process *process) XW_HIDDEN;
/* Keep some thread blocks free, and room in the logs. Helper only. */
void xw_process_make_room(struct xw_process *process) XW_HIDDEN;

#endif
