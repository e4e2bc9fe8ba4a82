#include "schedule.h"

#include <time.h>

#include "stop.h"

enum { SECOND_NS = 1000000000, LONGEST_SLEEP_NS = 50000000, SHORTEST_PAUSE_NS = 100000 };

static void sleep_ns(int64_t ns)
{
    if (ns > 0)
        nanosleep(&(struct timespec){ns / SECOND_NS, ns % SECOND_NS}, NULL);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How long the phase of a time lasts yet. */
static int64_t left_of_phase(const struct load_schedule *schedule, int64_t now_ns, int *silent)
{
    const int64_t active = (int64_t)(schedule->options->active * SECOND_NS);
    const int64_t period = active + (int64_t)(schedule->options->silent * SECOND_NS);
    *silent = 0;
    if (!period)
        return INT64_MAX;
    const int64_t at = now_ns % period;
    *silent = at >= active;
    return at < active ? active - at : period - at;
}

int load_schedule_silent(const struct load_schedule *schedule, int64_t now_ns)
{
    int silent;
    left_of_phase(schedule, now_ns, &silent);
    return silent;
}

void load_schedule_rest(struct load_schedule *schedule)
{
    int silent;
    const int64_t now = load_now_ns(), left = left_of_phase(schedule, now, &silent);
    schedule->owed_ns = 0;
    if (silent)
        sleep_ns(least(least(left, schedule->end_ns - now), LONGEST_SLEEP_NS));
}

void load_schedule_pause(struct load_schedule *schedule, int64_t worked_ns)
{
    int silent;
    schedule->owed_ns += (int64_t)((double)worked_ns * (1 / schedule->options->intensity - 1));
    while (schedule->owed_ns > SHORTEST_PAUSE_NS && !load_stop_asked()) {
        const int64_t from = load_now_ns(), left = left_of_phase(schedule, from, &silent);
        if (silent || from >= schedule->end_ns)
            return;
        sleep_ns(least(least(schedule->owed_ns, LONGEST_SLEEP_NS), least(left, schedule->end_ns - from)));
        schedule->owed_ns -= load_now_ns() - from;
    }
}
