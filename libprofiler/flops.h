/*
 * Which raw events of the processor make up floating-point operations. The kernel has no generic event for them, so
 * they are chosen by vendor, family and model; on a processor that is not listed there are none, which is better than
 * wrong ones.
 */
#ifndef XW_FLOPS_H
#define XW_FLOPS_H

#include "os.h"

enum { XW_FLOPS_MAX_EVENTS = 5 };

struct xw_processor {
    enum { XW_VENDOR_OTHER, XW_VENDOR_AMD, XW_VENDOR_INTEL } vendor;
    unsigned family; /* displayed family and model, as /proc/cpuinfo says them */
    unsigned model;
};

/* One raw event; operations = sum over the events of weight * count. */
struct xw_raw_event {
    uint64_t config; /* of a PERF_TYPE_RAW event: event number | umask << 8 */
    uint32_t weight; /* operations per count */
};

/* What cpuid says. */
struct xw_processor xw_processor_read(void) XW_HIDDEN;
/* The events for this processor; returns how many, 0: not known. */
unsigned xw_flops_events(struct xw_processor processor, struct xw_raw_event events[XW_FLOPS_MAX_EVENTS]) XW_HIDDEN;

#endif
