/*
 * Processor counters for segments: PAPI, opened by dlopen in the thread that called MPI_Init, MPI processes only.
 *
 * PAPI keeps a perf descriptor in the application's table. A program that closes all descriptors and opens its own
 * would have PAPI read from its files; so before each read the descriptor is checked to be the perf event it was
 * (PERF_EVENT_IOC_ID), and given up for good if it is not (lost: papi). Not loaded at all when xw_perf_probe says that
 * no event asked for exists: loading costs milliseconds.
 */
#ifndef XW_PAPI_H
#define XW_PAPI_H

#include "metric_table.h"
#include "os.h"

enum { XW_PAPI_INSTRUCTIONS, XW_PAPI_FLOPS, XW_PAPI_N };

/* Start counting the calling thread for the events wanted (bits of perf columns, xw_perf_parse). Returns bits of what
   counts (1 << XW_PAPI_INSTRUCTIONS ...), 0: nothing. */
uint32_t xw_papi_start(uint32_t wanted) XW_HIDDEN;
/* Read into values; events that do not count stay 0. Returns 0 when nothing was read (not started, given up). */
int xw_papi_read(uint64_t values[XW_PAPI_N]) XW_HIDDEN;
/* Stop and unload nothing (unloading a library in a user's process is a risk). */
void xw_papi_stop(void) XW_HIDDEN;

#endif
