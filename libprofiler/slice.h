/*
 * A slice: the difference of two snapshots of everything that is counted, as one record. Pure but for the snapshot; no
 * libc, no thread-local storage: runs in the helper.
 */
#ifndef XW_SLICE_H
#define XW_SLICE_H

#include "perf.h"
#include "process_stats.h"
#include "spool.h"
#include "varint.h"

/* Longest payload: six numbers in front, then an index and a value for each column. */
#define XW_SLICE_MAX_PAYLOAD (XW_VARINT_MAX * (8u + 2u * XW_N_COLUMNS))

/* All columns at one instant: counters since the start of the process (times of groups in ticks), gauges as they are.
 */
struct xw_snapshot {
    uint64_t value[XW_N_COLUMNS];
};

/* The slice that is open. */
struct xw_slicer {
    uint64_t begin_real_ns;
    uint64_t begin_mono_ns; /* the same instant by the clock that nobody sets */
    uint64_t record_index;  /* of the last record, for the difference */
    uint32_t records;
    struct xw_snapshot last; /* at the end of the slice before */
};

/* What is known about the end of a slice besides the counters. */
struct xw_slice_end {
    uint64_t real_ns;
    uint64_t tick_hz;
    uint64_t slice_ns;
    uint32_t flags; /* XW_SLICE_LAST, XW_SLICE_UNSYNCHRONISED */
    int64_t clock_offset_ns;
    uint64_t clock_max_error_us;
    uint64_t cost_ns;
};

/* Add up all threads' groups as of tick `now`; calls that are running count up to now. */
void xw_sum_groups(const struct xw_spool *spool, uint64_t now, struct xw_quad total[XW_N_GROUPS]) XW_HIDDEN;

/* Put sums and samples in the order of the columns. */
void xw_snapshot_fill(struct xw_snapshot *snapshot, const struct xw_quad groups[XW_N_GROUPS],
                      const struct xw_process_stats *stats, const struct xw_perf *perf) XW_HIDDEN;

/* A column's value in the unit of the record: ticks become ns. */
uint64_t xw_column_to_record(unsigned index, uint64_t value, uint64_t tick_hz) XW_HIDDEN;

/*
 * Close the open slice: the difference between `now` and the slicer's last snapshot becomes a record of the spool's
 * slice log, and the next slice opens. A column that seems to fall (a call ended between two reads) counts zero and
 * keeps its old value, so nothing is counted twice. `payload`: XW_SLICE_MAX_PAYLOAD bytes of working memory. Returns 0
 * when the log had no room.
 */
int xw_slice_close(struct xw_slicer *slicer, const struct xw_snapshot *now, const struct xw_slice_end *end,
                   struct xw_spool *spool, uint8_t *payload) XW_HIDDEN;

#endif
