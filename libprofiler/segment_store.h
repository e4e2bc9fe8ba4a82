/*
 * Finished segments on their way into the spool file.
 *
 *     segment --> open row: neighbours merged where there are many --> rows in the mapped file --> a block of 254 rows
 *
 * What the store was given is in the file when xw_segment_store_add returns, whatever kills the process then: in the
 * open row's slots, in those of closed rows, or in a block.
 *
 * What it writes is bounded. Level k of the merging has stride 2^k: a row is closed where its end is a multiple of the
 * stride, so that all ranks share these edges whatever their level, and where the next segment is of another kind. When
 * the blocks of a level have taken LEVEL_BYTES, the next level begins. Where kinds that alternate keep rows from
 * growing, neighbours of different kinds merge too.
 *
 * Only the thread that owns the segments calls in here, in a published process.
 */
#ifndef XW_SEGMENT_STORE_H
#define XW_SEGMENT_STORE_H

#include "counters.h"
#include "segment_block.h"

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
    uint32_t call;          /* whose end closed it: function and place, as in the file (site_names.h) */
    uint32_t signature;     /* which calls it had, from where; the sum over merged ones */
    uint32_t ended_by_site; /* 1: closed by a recurring call site, 0: by a world-sized collective, Init or Finalize */
    uint64_t value[XW_N_SEG_FIELDS];
};

/* The ROWS chunk: closed rows, and the two last versions of the open one, which take turns so that one is whole. */
enum { XW_OPEN_SLOT = XW_BLOCK_ROWS, XW_ROW_SLOTS = XW_BLOCK_ROWS + 2 };
#define XW_ROWS_SIZE ((uint32_t)(XW_ROW_SLOTS * sizeof(struct xw_segment_slot)))

/* What the store remembers; all zeros at the start. */
struct xw_segment_store {
    struct xw_segment_slot *slots; /* in the file; NULL: there are none yet */
    struct xw_segment_slot open;   /* the row that may grow; it spans no cuts: there is none */
    uint64_t open_end;             /* position behind it */
    uint32_t open_signature;       /* of its last segment alone */
    uint32_t turn;                 /* which slot its last version went to */
    uint32_t used;                 /* closed rows in the slots */
    uint32_t level;                /* of the merging: its stride is 2^level */
    uint32_t mixes;                /* neighbours of different kinds merge too */
    uint32_t level_bytes;          /* of its blocks */
    uint64_t level_rows, level_cuts;
    uint64_t wanted_room; /* a block found none: it wants as much or more in the log; 0: it had room */
    struct xw_segment_block block;
};

/* How much room in the log a block that found none waits for; 0: none waits. It says so until a block is written, which
 * may be long after there is room. Any thread. */
static inline uint64_t xw_segment_store_wanted_room(const struct xw_segment_store *store)
{
    return __atomic_load_n(&store->wanted_room, __ATOMIC_RELAXED);
}

/* Take a finished segment. */
void xw_segment_store_add(struct xw_process *process, const struct xw_segment_row *row) XW_HIDDEN;
/* No segment follows: what waits for neighbours is a row. */
void xw_segment_store_finish(struct xw_process *process) XW_HIDDEN;

#endif
