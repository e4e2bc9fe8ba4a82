/*
 * Requests of nonblocking and persistent world-sized synchronising collectives: the wait or test that completes one
 * ends a segment.
 *
 *               add                      start                  find, done
 *     Ibarrier ------> running            kept ------> running -----------> done: the segment ends
 *     Barrier_init --> kept (persistent)   ^------------------------------------'
 *
 * A small table. A slot is in use while its bit is set in `xw_hot.pending` (the collective runs) or in
 * `xw_hot.persistent` (the request can be started); a bit is set after the slot is filled. So a wait in a program
 * without such requests costs a load and a branch, and a forked child, which finds xw_hot zeroed, an empty table.
 *
 * Only requests that the segments' thread has made are followed: their order is the program's, not that of a race. A
 * nonblocking collective of another thread counts where it is started. What another thread completes, and what ends
 * where nobody sees it, is made up for at that thread's next cut. A persistent request that another thread has made is
 * lost (XW_LOST_REQUESTS), as is one that finds no room; there is room for 32 of each kind.
 *
 * Several requests may have one handle: that of libraries for what was complete when it began. Each completion takes
 * one of them.
 */
#ifndef XW_MPI_PENDING_H
#define XW_MPI_PENDING_H

#include "abi.h"
#include "counters.h"

/* A collective on a world-sized communicator has been started, or, persistent, made. `request` points to its handle. */
void xw_mpi_pending_add(xw_word request, unsigned function, int persistent) XW_HIDDEN;
/* Persistent requests of the array have been started. Any thread. */
void xw_mpi_pending_start(xw_word requests, int32_t n) XW_HIDDEN;
/* The request is about to be freed or cancelled. */
void xw_mpi_pending_forget(xw_word request) XW_HIDDEN;

/* Before a wait or test: the slots of those requests of the array that run, one bit each. If `waits`, where computation
 * ends is noted. */
uint64_t xw_mpi_pending_find(xw_word requests, int32_t n, int waits) XW_HIDDEN;

/* After it, when it failed: some of its requests may be complete. */
void xw_mpi_pending_failed(uint64_t slots, xw_word requests, int32_t n) XW_HIDDEN;

/* What a wait or test says of the requests that it was given. NULL: it has no such argument. */
struct xw_mpi_completed {
    int waits;              /* 0: it is a test */
    const int32_t *flag;    /* 0: none is complete */
    const int32_t *count;   /* how many indices there are; NULL: one */
    const int32_t *indices; /* which are complete; NULL: all */
};
/* After it, when it succeeded and is counted: ends the segment if it completed some of the slots. Returns how many.
 * site: return address of the wait or test. */
uint32_t xw_mpi_pending_done(uint64_t slots, const void *site, struct xw_mpi_completed completed) XW_HIDDEN;

static inline __attribute__((always_inline)) uint64_t xw_mpi_pending(void)
{
    return __atomic_load_n(&xw_hot.pending, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) uint64_t xw_mpi_persistent(void)
{
    return __atomic_load_n(&xw_hot.persistent, __ATOMIC_RELAXED);
}

#endif
