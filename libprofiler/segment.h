/*
 * Segments: the stretches of a bulk-synchronous run between the ends of two world-sized synchronising collectives.
 *
 * They belong to the thread that called MPI_Init; collectives of other threads cut nothing. Each cut takes the
 * difference of that thread's own counters, so a segment costs no work between its ends.
 */
#ifndef XW_SEGMENT_H
#define XW_SEGMENT_H

#include "counters.h"

/* The first segment begins here (end of MPI_Init, calling thread). */
void xw_segment_start(void) XW_HIDDEN;
/* Before a collective that will cut: reads CPU time and processor counters where computation ends. Cheap no-op
 * elsewhere. */
void xw_segment_boundary(void) XW_HIDDEN;
/* After it, when it succeeded and its counts are added (after xw_leave): ends the segment. */
void xw_segment_cut(unsigned function) XW_HIDDEN;
/* The last segment ends: MPI_Finalize begins. */
void xw_segment_finish(unsigned function) XW_HIDDEN;

/* Add a call site to the signature of the running segment: the function and the return address relative to its module.
   Called by every MPI wrapper of the outermost layer; some 2 ns. */
void xw_segment_site(unsigned function, const void *return_address) XW_HIDDEN;

#endif
