/* A published process of the test's own, whose segment store is fed with made-up rows. */
#ifndef XW_SEGMENT_FEED_H
#define XW_SEGMENT_FEED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "init.h"
#include "process.h"

/* Set up and publish the process, with a spool file in the directory. Returns 0 when that fails. */
static inline int feed_begin(const char *directory)
{
    xw_tls_self_offset = 16;
    xw_config_read(&xw_config, NULL);
    snprintf(xw_config.spool, sizeof xw_config.spool, "%s", directory);
    snprintf(xw_config.job_id, sizeof xw_config.job_id, "feed");
    if (!xw_process_set_up())
        return 0;
    xw_process_publish(xw_process);
    return xw_spool_is_published(&xw_process->spool);
}

/* A generator of its own, so that a seed means the same everywhere (splitmix64). */
static inline uint64_t feed_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Which programs there are: what the next segment is like. */
enum feed_program {
    FEED_SAME,
    FEED_ALTERNATING,
    FEED_RARE,
    FEED_DISTINCT,
    FEED_SITES,
    FEED_MIXED,
    FEED_WILD,
    FEED_PROGRAMS
};

struct feed {
    enum feed_program program;
    uint64_t random, n, tick;
    struct xw_segment_row row; /* the last one */
};

static inline uint64_t feed_noise(struct feed *feed, uint64_t value, unsigned percent)
{
    return value + value * (feed_random(&feed->random) % (percent + 1)) / 100;
}

static inline uint32_t feed_kind(struct feed *feed)
{
    switch (feed->program) {
    case FEED_ALTERNATING:
        return feed->n % 2;
    case FEED_RARE:
        return feed->n % 20 == 19 ? 1 : feed->n % 1000 == 500 ? 2 : 0;
    case FEED_DISTINCT:
    case FEED_WILD:
        return (uint32_t)feed_random(&feed->random);
    default:
        return 0;
    }
}

static inline int feed_ends_by_site(const struct feed *feed)
{
    return feed->program == FEED_SITES ? feed->n % 1000 != 999 : feed->program == FEED_MIXED && feed->n % 2;
}

static inline uint64_t feed_wild(struct feed *feed)
{
    return feed_random(&feed->random) >> feed_random(&feed->random) % 64;
}

/* Numbers like those of a small LAMMPS: 1.4 ms, most of it computation. */
static inline void feed_values(struct feed *feed, uint32_t kind)
{
    uint64_t *value = feed->row.value;
    value[XW_SEG_P2P_TIME] = feed_noise(feed, 200000, 40);
    value[XW_SEG_COLL_TIME] = feed_noise(feed, 50000, 200);
    value[XW_SEG_IO_TIME] = kind == 2 ? feed_noise(feed, 9000000, 300) : 0;
    const uint64_t computation = feed_noise(feed, 2500000 * (1 + (uint64_t)kind % 3), 5);
    value[XW_SEG_DURATION] = computation + value[XW_SEG_P2P_TIME] + value[XW_SEG_COLL_TIME] + value[XW_SEG_IO_TIME];
    value[XW_SEG_CPU_TIME] = (computation - 150) / 2;
    value[XW_SEG_P2P_CALLS] = 24;
    value[XW_SEG_P2P_BYTES] = 40000 + kind % 3 * 1000;
    value[XW_SEG_COLL_CALLS] = 1;
    value[XW_SEG_COLL_BYTES] = 48;
    value[XW_SEG_IO_CALLS] = kind == 2;
    value[XW_SEG_IO_BYTES] = kind == 2 ? 1 << 20 : 0;
    if (feed->program != FEED_WILD)
        return;
    for (unsigned i = 0; i < XW_N_SEG_FIELDS; i++)
        value[i] = feed_wild(feed);
    uint64_t busy = 0;
    for (unsigned i = XW_SEG_P2P_TIME; i <= XW_SEG_IO_TIME; i++)
        busy += value[i] >>= 6;
    value[XW_SEG_DURATION] = (value[XW_SEG_DURATION] >> 6) + busy;
}

/* The next segment of the program. */
static inline const struct xw_segment_row *feed_next(struct feed *feed)
{
    struct xw_segment_row *row = &feed->row;
    const uint32_t kind = feed_kind(feed);
    if (feed->n && row->ended_by_site)
        row->site++;
    else if (feed->n) {
        row->world++;
        row->site = 0;
    }
    feed_values(feed, kind);
    row->count = 1;
    row->call = feed->program == FEED_DISTINCT ? 0 : kind % 2; /* that of the other ranks */
    row->signature = 0xc0ffee + kind;
    row->ended_by_site = (uint32_t)feed_ends_by_site(feed);
    row->start_tick = feed->tick;
    feed->tick += feed->program == FEED_WILD ? row->value[XW_SEG_DURATION] >> 24 : row->value[XW_SEG_DURATION];
    feed->n++;
    return row;
}

/* What the helper does when it is woken, which the tests' stub of it does not. */
static inline void feed_make_room(void) { xw_process_make_segment_room(xw_process); }

#endif
