/*
 * Segments: the stretches of a bulk-synchronous run between the ends of two world-sized synchronising collectives, or,
 * where there are none for long, between two returns from a call site that recurs (recurring.h).
 *
 * They belong to the thread that called MPI_Init. Each cut takes the difference of that thread's own counters, so a
 * segment costs no work between its ends. Calls of other threads cut nothing, but their world-sized collectives are
 * counted, and the next cut makes up for them: which thread calls one may differ from rank to rank (`omp single`), the
 * number of the world must not.
 */
#ifndef XW_SEGMENT_H
#define XW_SEGMENT_H

#include "counters.h"

/* The first segment begins here (end of MPI_Init, calling thread). */
void xw_segment_start(void) XW_HIDDEN;
/* Whether the calling thread is the one whose segments these are. */
int xw_segment_is_mine(void) XW_HIDDEN;
/* Whether there are segments, of whatever thread. */
int xw_segment_is_anyones(void) XW_HIDDEN;
/* Before a call that will cut: reads CPU time and processor counters where computation ends. Cheap no-op elsewhere. */
void xw_segment_boundary(void) XW_HIDDEN;
/*
 * After it, when it succeeded and its counts are added (after xw_leave): `collectives` world-sized ones have ended. The
 * call is named by the function and its return address; NULL: it has no name.
 *
 * Each of them ends a segment, so that ranks that complete several in one call keep step with those that complete them
 * one by one: all but the first of these segments are empty, every value 0. In another thread: xw_segment_missed.
 */
void xw_segment_cut(unsigned function, const void *return_address, uint32_t collectives) XW_HIDDEN;
/* World-sized collectives have ended where the thread that owns the segments could not cut: the next cut makes up for
 * it. Any thread; does nothing where no segments are. */
void xw_segment_missed(uint32_t collectives) XW_HIDDEN;
/* The last segment ends: MPI_Finalize begins. */
void xw_segment_finish(unsigned function) XW_HIDDEN;

/* Add a call site to the signature of the running segment. Called by every MPI wrapper of the outermost layer. */
void xw_segment_site(unsigned function, const void *return_address) XW_HIDDEN;

/* Before a call that waits for other ranks, while sites are watched: how many passages of recurring call sites the
 * segment has that ends with it; 0: none ends. */
uint32_t xw_segment_pass(unsigned function, const void *return_address) XW_HIDDEN;
/* After it: ends the segment. */
void xw_segment_cut_at_site(unsigned function, const void *return_address, uint32_t passages) XW_HIDDEN;

static inline __attribute__((always_inline)) int xw_sites_are_watched(void)
{
    return __atomic_load_n(&xw_hot.watches_sites, __ATOMIC_RELAXED) != 0;
}

#endif
