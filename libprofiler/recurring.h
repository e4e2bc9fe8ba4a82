/*
 * Recurring call sites: what cuts the run where no world-sized collectives do.
 *
 * A program without such collectives still repeats itself, and with it the places where it waits for others. A site
 * that is passed often enough becomes an *anchor*: from then on every return from it ends a segment. Everything is
 * decided by counts, never by times, so that ranks that run the same code choose the same anchors at the same passage.
 * (The one exception, the pace, keeps to powers of two: ranks of different paces share edges.)
 *
 *   A site becomes an anchor when it was passed 32 times without a world-sized collective and without a passage of an
 *   anchor in between; 64 times if there is an anchor already (another phase of the program).
 *
 *   Collectives cut often enough by themselves after 32 intervals between them, in a row, in each of which some site
 *   was passed and none 1024 times. Then anchors cut only where no collective comes for unusually long (`quiet`).
 *   After 4096 such intervals in a row nothing is watched any more.
 *
 * Pure bookkeeping: no clocks, no memory but the struct's. One thread, the one that owns the segments.
 */
#ifndef XW_RECURRING_H
#define XW_RECURRING_H

#include "os.h"

enum {
    XW_RECURRING_SITES = 256, /* told apart; those beyond are not counted */
    XW_RECURRING_FIRST = 32,
    XW_RECURRING_NEXT = 64,
    XW_RECURRING_LONG = 1024,
    XW_RECURRING_OFTEN = 32,
    XW_RECURRING_OFF = 4096,
    XW_RECURRING_PACE_CUTS = 1024,  /* in so many cuts ... */
    XW_RECURRING_PACE_NS = 50000000 /* ... less time than this is too fast: half as many from then on */
};

struct xw_recurring_site {
    uint64_t key;   /* function and place; 0: free */
    uint32_t count; /* how often it was passed since the mark; UINT32_MAX: an anchor */
    uint32_t mark;
};

/* All zeros at the start. */
struct xw_recurring {
    struct xw_recurring_site site[XW_RECURRING_SITES]; /* open addressing by the key */
    uint32_t mark;                                     /* counts the passages of anchors and the world-sized cuts */
    uint32_t n_anchors;
    /* since the last world-sized cut */
    uint64_t passages; /* of anchors */
    uint64_t most;     /* how often one site was passed, the most of all */
    uint64_t closed;   /* passages of anchors in the segments that ended since */
    uint32_t open;     /* those in the segment that runs */
    uint32_t calls;    /* not 0: some site was passed */
    /* intervals between world-sized cuts */
    uint32_t short_ones; /* in a row, up to now, in which no site was passed often */
    uint64_t usual;      /* the most that one site was passed in one of these */
    /* pace */
    uint32_t log_stride; /* a segment has 2^log_stride passages */
    uint32_t cuts;
    uint64_t window_ns;
};

/* A call from the place begins. Returns how many passages of anchors the segment has that ends with the call; 0: none
 * ends. */
uint32_t xw_recurring_pass(struct xw_recurring *recurring, uint64_t key) XW_HIDDEN;
/* A segment was cut there, at this time. Halves the pace of the cuts if they follow one another too fast. */
void xw_recurring_cut(struct xw_recurring *recurring, uint64_t now_ns) XW_HIDDEN;
/* A world-sized collective has cut. Returns whether to go on watching. */
int xw_recurring_world_cut(struct xw_recurring *recurring) XW_HIDDEN;

#endif
