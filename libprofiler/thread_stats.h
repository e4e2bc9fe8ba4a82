/*
 * What the operating system knows about the single threads of the process, read once per slice: how many there are, how
 * long they waited for a processor, and how many of them shared the work. Raw system calls only.
 *
 * The work is bounded: however many threads there are, XW_THREADS_LOOKED_AT have their CPU clock read, and
 * XW_THREADS_DELAY of them their schedstat.
 */
#ifndef XW_THREAD_STATS_H
#define XW_THREAD_STATS_H

#include "os.h"

#define XW_THREADS_LOOKED_AT 1024u
#define XW_THREADS_DELAY 256u

/* A thread and its CPU clock at a reading. */
struct xw_thread_clock {
    uint64_t cpu_ns;
    int32_t tid;
};

/* Zeroed before the first reading, but for `read_ns`, and kept between them. */
struct xw_thread_stats {
    uint32_t threads;     /* that live, without the helper; 0: not known */
    uint32_t has_delay;   /* run_delay could be read */
    uint64_t run_delay;   /* what it has grown by since the first reading, never falls */
    uint64_t busy;        /* thousandths, see below */
    uint64_t busy_most;   /* the largest of all readings */
    uint64_t delay_alive; /* run delay of the threads that lived at the last reading */
    uint64_t process_cpu_ns;
    uint64_t read_ns; /* CLOCK_MONOTONIC of the last reading, at first of the start of the process */
    uint32_t n_clocks[2], current;
    struct xw_thread_clock clock[2][XW_THREADS_LOOKED_AT]; /* of this reading and the one before, taking turns */
};

/*
 * Read all of it. `self_tid` is the helper's own thread, left out; 0: none. `process_cpu_ns`: the CPU time of the
 * process now, the helper's taken away.
 *
 * `busy` is (sum c)^2 / sum c^2 over the CPU times c since the last reading of those threads that ran for 1 % of that
 * time or more: the number of threads among which the work was shared, 8 for 8 busy threads among 16, 0 if nothing ran.
 * What threads used that have ended in between counts as one thread more. Of more than XW_THREADS_LOOKED_AT threads it
 * is that of the eldest.
 *
 * The kernel forgets the run delay of a thread that has ended, so the sum over those that live falls then; such a slice
 * is counted short, and no other.
 */
void xw_thread_stats_read(struct xw_thread_stats *stats, int self_tid, uint64_t process_cpu_ns, char *scratch,
                          size_t scratch_size) XW_HIDDEN;

#endif
