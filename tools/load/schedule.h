/* When to work and when to rest: periods, and the share of the active time that is worked. */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include "load.h"

struct load_schedule {
    const struct load_options *options;
    int64_t end_ns;
    int64_t owed_ns; /* rest that --intensity asks for and that was not taken yet; below 0: slept too long */
};

/* The present time belongs to a silent phase. Periods begin at multiples of their length in UTC, so that programs on
   several nodes work at the same time. */
int load_schedule_silent(const struct load_schedule *schedule, int64_t now_ns);
/* Sleep in a silent phase: until it ends, at most a short time, so that signals are answered soon. */
void load_schedule_rest(struct load_schedule *schedule);
/* Sleep after `worked_ns` of work as --intensity asks, not beyond the active phase. */
void load_schedule_pause(struct load_schedule *schedule, int64_t worked_ns);

#endif
