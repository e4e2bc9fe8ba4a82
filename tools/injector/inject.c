#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FUNCTIONS = 1024 };

struct inject_plan inject_plan;
static unsigned char chosen[MAX_FUNCTIONS];
static int64_t began_ns;
static uint64_t draws; /* random numbers taken so far: with seed and rank they make a run repeatable */
static __thread int depth;

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    began_ns = now_ns(CLOCK_MONOTONIC);
    inject_read_plan(&inject_plan, chosen);
}

/* --- when and how long --- */

/* Uniform in (0, 1): splitmix64 of seed, rank and the number of the draw. */
static double uniform(void)
{
    uint64_t x = inject_plan.seed * 0x9e3779b97f4a7c15u + (uint64_t)(inject_plan.rank + 1) * 0xd1342543de82ef95u +
                 __atomic_add_fetch(&draws, 1, __ATOMIC_RELAXED) * 0x2545f4914f6cdd1du;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller's Gaussian; never negative. */
static int64_t draw_delay_ns(void)
{
    double gaussian = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
    double delay = inject_plan.mean_ns + inject_plan.deviation_ns * gaussian;
    return delay > 0 ? (int64_t)delay : 0;
}

static int is_active_at(double s)
{
    if (inject_plan.period_s > 0 && fmod(s, inject_plan.period_s) >= inject_plan.duty * inject_plan.period_s)
        return 0;
    for (unsigned i = 0; i < inject_plan.n_episodes; i++)
        if (s >= inject_plan.episode[i].begin_s && s < inject_plan.episode[i].end_s)
            return 1;
    return !inject_plan.n_episodes;
}

/* --- the delay --- */

/* By raw system calls: neither the profiler nor this library counts or delays them. */
static void hold_up(int64_t until_ns)
{
    struct timespec t = {until_ns / 1000000000, until_ns % 1000000000};
    if (inject_plan.busy)
        while (now_ns(CLOCK_MONOTONIC) < until_ns)
            ;
    else
        while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0 && errno == EINTR)
            ;
}

/* One line: begin (UTC, ns), what was added (ns), function. In one write, so that lines of threads stay whole. The pid
 * is asked for each time: a forked child has a log of its own. */
static void write_down(int64_t begin_ns, int64_t added_ns, unsigned function)
{
    char line[128];
    int length =
        snprintf(line, sizeof line, "%lld,%lld,%s\n", (long long)begin_ns, (long long)added_ns, inject_names[function]);
    char path[sizeof inject_plan.log + 32];
    snprintf(path, sizeof path, "%s/%d.%ld.csv", inject_plan.log, inject_plan.rank, syscall(SYS_getpid));
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    syscall(SYS_write, fd, line, length);
    syscall(SYS_close, fd);
}

void inject_enter(unsigned function)
{
    if (depth++ || !inject_plan.active || !chosen[function])
        return;
    const int saved_errno = errno;
    const int64_t from = now_ns(CLOCK_MONOTONIC);
    if (is_active_at((double)(from - began_ns) * 1e-9) && uniform() < inject_plan.probability) {
        const int64_t begin = now_ns(CLOCK_REALTIME);
        hold_up(from + draw_delay_ns());
        if (inject_plan.log[0])
            write_down(begin, now_ns(CLOCK_MONOTONIC) - from, function);
    }
    errno = saved_errno;
}

void inject_leave(void) { depth--; }

void *inject_next(void **kept, const char *name)
{
    void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    return found;
}
