/*
 * What the operating system knows about the whole process, read once per slice: clocks, getrusage and /proc.
 * Raw system calls only, no thread-local storage, some 300 bytes of stack.
 */
#ifndef XW_PROCESS_STATS_H
#define XW_PROCESS_STATS_H

#include "metric_table.h"
#include "os.h"
#include "thread_stats.h"

#define XW_PROCESS_STATS_SCRATCH 2048u /* bytes of scratch memory that are enough */

struct xw_process_stats {
    uint64_t value[XW_N_OS]; /* by enum xw_os_sample, in the units of the metric table; 0 where not available */
    uint32_t available;      /* bit per value that could be read */
    uint64_t helper_ns;      /* CPU time of the helper that runs, as of the last slice */
    uint64_t helpers_before_ns;
    struct xw_thread_stats threads;
};

/*
 * Read all values. `stats` is zeroed before the first reading and kept between them. `self_tid` is the helper's own
 * thread, left out of what is read of threads; 0: none. The bytes that reading /proc moves count into the process's own
 * I/O (some 300 B a slice).
 */
void xw_process_stats_read(struct xw_process_stats *stats, int self_tid, char *scratch, size_t scratch_size) XW_HIDDEN;

/* Only what two system calls tell (CPU time, faults, context switches): for processes too short to be worth more. */
void xw_process_stats_read_clocks(struct xw_process_stats *stats) XW_HIDDEN;

/* CPU time of all threads, ended ones too, without the helper's. */
uint64_t xw_process_stats_cpu_ns(const struct xw_process_stats *stats) XW_HIDDEN;
/* Called by the helper: it has used CPU time; it is about to end. */
void xw_process_stats_helper_ran(struct xw_process_stats *stats) XW_HIDDEN;
void xw_process_stats_helper_ends(struct xw_process_stats *stats) XW_HIDDEN;

#endif
