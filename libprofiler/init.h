/*
 * Start and end of a profiled process: what the wrappers tell the core.
 */
#ifndef XW_INIT_H
#define XW_INIT_H

#include "counters.h"

/* Totals of the process so far, for the digest: counters of all threads, dead ones included. */
struct xw_totals {
    struct xw_quad group[XW_N_GROUPS]; /* ticks, see xw_ticks_to_ns */
    struct xw_quad function[XW_N_FUNCTIONS];
    uint64_t lost[XW_N_LOST];
    uint64_t wall_ns;           /* since the process started */
    uint64_t cpu_ns;            /* of all threads, the helper's taken away */
    uint64_t threads_busy_most; /* thousandths: threads that shared the work of the busiest slice; 0: none is closed */
    uint64_t perf[XW_N_PERF];   /* as of the last closed slice; 0 where absent */
    uint32_t perf_available;    /* bit per perf column */
    const char *omp_num_threads;
};

/* MPI_Init has succeeded in the calling thread: remember who we are, start the heartbeat, the segments and their
   counters. `kind` is "openmpi", "mpich" or "mpi5". So does the first session; MPI_Init after it starts the segments
   anew. */
void xw_mpi_started(const char *kind, int rank, int ranks) XW_HIDDEN;
/* MPI_Finalize is about to run: closes the last segment, in the thread that called MPI_Init. */
void xw_mpi_ending(unsigned function) XW_HIDDEN;
/* The process says that it ends (destructor: XW_STATE_CLEAN; _exit, quick_exit: XW_STATE_EXITED): stops the helper,
   closes the last slice, marks the spool file. Counting goes on for whatever still runs. Does nothing in a vfork child.
 */
void xw_process_ends(enum xw_state state) XW_HIDDEN;

void xw_totals_read(struct xw_totals *totals) XW_HIDDEN;
uint64_t xw_ticks_to_ns(uint64_t ticks) XW_HIDDEN;
/* Count something that had to be left undone. */
void xw_count_lost(enum xw_lost what) XW_HIDDEN;

/*
 * The next definition of a function behind us, NULL if there is none or nothing can be looked up now. Never sets
 * dlerror's state for a name that libc has. Wrappers keep the result in a static pointer.
 */
void *xw_next(const char *name) XW_HIDDEN;

#endif
