/*
 * What the operating system knows about the whole process, read once per slice: clocks, getrusage and /proc.
 * Raw system calls only, no thread-local storage, some 300 bytes of stack.
 */
#ifndef XW_PROCESS_STATS_H
#define XW_PROCESS_STATS_H

#include "metric_table.h"
#include "os.h"

#define XW_PROCESS_STATS_SCRATCH 2048u    /* bytes of scratch memory that are enough */
#define XW_PROCESS_STATS_MAX_THREADS 256u /* threads whose run delay is read in one slice */

struct xw_process_stats {
    uint64_t value[XW_N_OS];  /* by enum xw_os_sample, in the units of the metric table; 0 where not available */
    uint32_t available;       /* bit per value that could be read */
    uint64_t run_delay_alive; /* of the threads that lived at the last reading */
    uint64_t run_delay_total; /* what it has grown by since the first, never falls */
};

/*
 * Read all values. `stats` is zeroed before the first reading and kept between them. `self_tid` is the helper's own
 * thread, left out of `threads` and of `run_delay`; 0: none. The kernel forgets the run delay of a thread that has
 * ended, so the sum over those that live falls then; such a slice is counted short, and no other. The bytes that
 * reading /proc moves count into the process's own I/O (some 300 B a slice).
 */
void xw_process_stats_read(struct xw_process_stats *stats, int self_tid, char *scratch, size_t scratch_size) XW_HIDDEN;

/* Only what two system calls tell (CPU time, faults, context switches): for processes too short to be worth more. */
void xw_process_stats_read_clocks(struct xw_process_stats *stats) XW_HIDDEN;

#endif
