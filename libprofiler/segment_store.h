/*
 * Finished segments on their way into the spool file: neighbours are merged where there are many, then written to the
 * log. Only the thread that owns the segments calls in here, in a published process.
 */
#ifndef XW_SEGMENT_STORE_H
#define XW_SEGMENT_STORE_H

#include "counters.h"

struct xw_process;

/*
 * One segment, or `count` neighbours merged.
 *
 * A segment's position is (world, site). One that ends at a world-sized collective is followed by (world + 1, 0), one
 * that ends at a recurring call site by (world, site + 1). In files the position is one number: world << 31 | site.
 */
struct xw_segment_row {
    uint64_t world;         /* how many world-sized cuts there were before it: the same in all ranks */
    uint64_t site;          /* how many cuts at recurring call sites since then; 0 where there are none */
    uint64_t count;         /* how many neighbouring segments it merges; 1 from the caller */
    uint64_t start_tick;    /* of its begin */
    uint32_t function;      /* the one whose end closed it */
    uint32_t signature;     /* which calls it had, from where; the sum over merged ones */
    uint32_t ended_by_site; /* 1: closed by a recurring call site, 0: by a world-sized collective, Init or Finalize */
    uint64_t value[XW_N_SEG_FIELDS];
};

/* What the store remembers; all zeros at the start. */
struct xw_segment_store {
    struct xw_segment_row merged; /* what the next record has so far; count 0: nothing */
    uint32_t level;               /* a record merges 2^level segments */
    uint64_t records_in_level;
    uint64_t last_record_index;
    uint64_t last_end_tick;
};

/* Take a finished segment. */
void xw_segment_store_add(struct xw_process *process, const struct xw_segment_row *row) XW_HIDDEN;
/* No segment follows: write what waits for neighbours. */
void xw_segment_store_finish(struct xw_process *process) XW_HIDDEN;

#endif
