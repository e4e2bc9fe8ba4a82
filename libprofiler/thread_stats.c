#include "thread_stats.h"

#include <fcntl.h>

#include "proc_dir.h"
#include "proc_file.h"

enum { CLOCK_MONO = 1, STAT_THREADS = 20, BUSY_SHARE = 100 };

/* The CPU clock of thread `tid` of this process, as the kernel numbers clocks. */
static int clock_of_thread(int tid) { return (int)(~(unsigned)tid << 3 | 6); }

/* "TID/schedstat" */
static void schedstat_path(char path[32], int tid)
{
    char digits[12];
    size_t n = 0, length = 0;
    for (unsigned rest = (unsigned)tid; rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    while (n)
        path[length++] = digits[--n];
    for (const char *name = "/schedstat"; *name; name++)
        path[length++] = *name;
    path[length] = 0;
}

/* TID/schedstat: "running waiting timeslices", ns. Returns 0 when it can't be read (the thread ended, or no such kernel
 * option). */
static int read_run_delay(int directory, int tid, uint64_t *delay)
{
    char path[32], text[64];
    schedstat_path(path, tid);
    const char *at = text, *end = text + xw_proc_read(directory, path, text, sizeof text);
    xw_parse_number(&at, end);
    if (at + 1 >= end)
        return 0;
    at++;
    *delay += xw_parse_number(&at, end);
    return 1;
}

/* One reading of all threads. */
struct walk {
    uint32_t seen, with_delay;
    uint64_t delay;
    uint32_t next_old;     /* where in the last reading's list the search goes on */
    uint64_t least_ns;     /* of CPU time to be called busy */
    double all, sum, sum2; /* CPU times: of all, of the busy ones, their squares */
};

/*
 * A thread's clock at the last reading, 0 if it is new. The kernel lists threads in the order of their creation, so
 * each is found where the search stopped, or behind those that have ended since.
 */
static uint64_t last_clock(const struct xw_thread_stats *stats, struct walk *walk, int tid)
{
    const struct xw_thread_clock *old = stats->clock[!stats->current];
    for (uint32_t i = walk->next_old; i < stats->n_clocks[!stats->current]; i++)
        if (old[i].tid == tid) {
            walk->next_old = i + 1;
            return old[i].cpu_ns;
        }
    return 0;
}

static void add_work(struct walk *walk, uint64_t cpu_ns)
{
    double work = (double)cpu_ns;
    walk->all += work;
    if (cpu_ns <= walk->least_ns)
        return;
    walk->sum += work;
    walk->sum2 += work * work;
}

static void look_at(struct xw_thread_stats *stats, struct walk *walk, int directory, int tid)
{
    const uint64_t cpu_ns = xw_clock_ns(clock_of_thread(tid));
    uint64_t before = last_clock(stats, walk, tid);
    stats->clock[stats->current][stats->n_clocks[stats->current]++] = (struct xw_thread_clock){cpu_ns, tid};
    add_work(walk, cpu_ns > before ? cpu_ns - before : 0);
    if (walk->seen < XW_THREADS_DELAY)
        walk->with_delay += (uint32_t)read_run_delay(directory, tid, &walk->delay);
    walk->seen++;
}

static uint32_t count_threads(int self_tid, char *scratch, size_t size)
{
    size_t length = xw_proc_read(AT_FDCWD, "/proc/self/stat", scratch, size);
    uint64_t threads = xw_proc_stat_field(scratch, scratch + length, STAT_THREADS);
    return (uint32_t)threads - (self_tid != 0);
}

/* `alive` is the run delay of all threads that live now. */
static void add_run_delay(struct xw_thread_stats *stats, uint64_t alive)
{
    if (alive > stats->delay_alive)
        stats->run_delay += alive - stats->delay_alive;
    stats->delay_alive = alive;
}

/* Returns whether all threads were looked at. */
static int walk_threads(struct xw_thread_stats *stats, struct walk *walk, int self_tid, char *scratch, size_t size)
{
    struct xw_proc_dir tasks;
    int tid = -1;
    if (xw_proc_dir_open(&tasks, "/proc/self/task", scratch, size))
        while ((tid = xw_proc_dir_next(&tasks)) >= 0 && walk->seen < XW_THREADS_LOOKED_AT)
            if (tid != self_tid)
                look_at(stats, walk, tasks.fd, tid);
    xw_proc_dir_close(&tasks);
    return tid < 0;
}

void xw_thread_stats_read(struct xw_thread_stats *stats, int self_tid, uint64_t process_cpu_ns, char *scratch,
                          size_t scratch_size)
{
    const uint64_t now = xw_clock_ns(CLOCK_MONO);
    struct walk walk = {.least_ns = (now - stats->read_ns) / BUSY_SHARE};
    stats->current = !stats->current;
    stats->n_clocks[stats->current] = 0;
    const int complete = walk_threads(stats, &walk, self_tid, scratch, scratch_size);

    stats->threads = complete ? walk.seen : count_threads(self_tid, scratch, scratch_size);
    stats->has_delay = walk.with_delay != 0;
    if (stats->has_delay)
        add_run_delay(stats, walk.delay);

    const double process = (double)(process_cpu_ns - stats->process_cpu_ns);
    if (complete && process > walk.all) /* the threads that have ended */
        add_work(&walk, (uint64_t)(process - walk.all));
    stats->busy = walk.sum2 > 0 ? (uint64_t)(1000 * walk.sum * walk.sum / walk.sum2 + 0.5) : 0;
    if (stats->busy > stats->busy_most)
        stats->busy_most = stats->busy;
    stats->process_cpu_ns = process_cpu_ns;
    stats->read_ns = now;
}
