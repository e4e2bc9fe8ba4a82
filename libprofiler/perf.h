/*
 * Processor events for slices: perf events opened and read by the helper thread, in its private descriptor table.
 *
 * One event per thread that exists when it opens, with inherit_thread for those to come. Events die with the helper, so
 * sums carry over a stop (`base`). Raw system calls only. An event that can't be opened for every thread is given up as
 * a whole: a sum over some of the threads would be wrong without saying so.
 */
#ifndef XW_PERF_H
#define XW_PERF_H

#include "metric_table.h"
#include "os.h"

#define XW_PERF_MAX_FDS 512

struct xw_perf {
    uint64_t base[XW_N_PERF]; /* what earlier helpers of this process counted */
    uint64_t last[XW_N_PERF]; /* base + what this one has read; never falls */
    uint32_t available;       /* bit per event that could be opened */
    uint32_t failed;          /* bit per event asked for that could not */
    int32_t error[XW_N_PERF]; /* errno of the failure */
    uint32_t n_fds;
    struct {
        int32_t fd;
        uint16_t event;
        uint16_t weight; /* what one count adds to the column */
    } fds[XW_PERF_MAX_FDS];
};

/* The set of events that a list ("instructions,flops") names: bit per perf column. Unknown names are ignored. */
uint32_t xw_perf_parse(const char *list) XW_HIDDEN;
/* Open the events in `wanted` for all threads of process `pid` but `self_tid`. Runs in the helper. */
void xw_perf_open(struct xw_perf *perf, uint32_t wanted, int pid, int self_tid) XW_HIDDEN;
/* Read all; updates `last`. Multiplexed events are scaled by time enabled / time running. */
void xw_perf_read(struct xw_perf *perf) XW_HIDDEN;
/* Keep the sums and close (the helper is about to end). */
void xw_perf_close(struct xw_perf *perf) XW_HIDDEN;
/* Whether the event could be opened at all by this process for itself: one cheap try without leaving a descriptor. Any
 * thread. */
int xw_perf_probe(uint32_t event) XW_HIDDEN;
/* In words for the header, e.g. "perf: instructions; not there: flops (ENOENT)". */
void xw_perf_describe(const struct xw_perf *perf, char *text, size_t size) XW_HIDDEN;

#endif
