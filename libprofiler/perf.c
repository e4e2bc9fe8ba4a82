#include "perf.h"

#include "flops.h"
#include "proc_dir.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>

enum { CALLING_THREAD = 0, ANY_PROCESSOR = -1, NO_GROUP = -1, MAX_THREADS = XW_PERF_MAX_FDS, MAX_ATTEMPTS = 3 };

/* --- events --- */

/* What makes up one perf column: counts of `type`, each `raw.config` worth `raw.weight`. */
struct recipe {
    uint32_t type; /* enum perf_type_id */
    uint32_t n;
    struct xw_raw_event raw[XW_FLOPS_MAX_EVENTS];
};

/* Returns 0 where the processor is not known. */
static int find_recipe(uint32_t event, struct recipe *recipe)
{
    static const struct recipe generic[XW_N_PERF] = {
        [XW_PERF_HW_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, 1, {{PERF_COUNT_HW_INSTRUCTIONS, 1}}},
        [XW_PERF_HW_CYCLES] = {PERF_TYPE_HARDWARE, 1, {{PERF_COUNT_HW_CPU_CYCLES, 1}}},
        [XW_PERF_SW_TASK_CLOCK] = {PERF_TYPE_SOFTWARE, 1, {{PERF_COUNT_SW_TASK_CLOCK, 1}}},
        [XW_PERF_SW_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, 1, {{PERF_COUNT_SW_PAGE_FAULTS, 1}}},
    };
    *recipe = generic[event];
    if (event == XW_PERF_HW_FLOPS) {
        recipe->type = PERF_TYPE_RAW;
        recipe->n = xw_flops_events(xw_processor_read(), recipe->raw);
    }
    return recipe->n != 0;
}

/* Open one event of one thread: the descriptor or -errno. Hardware counts user mode only, as the metric table says;
   software events do so where the kernel allows an ordinary user nothing else. */
static long open_event(uint32_t type, uint64_t config, int tid)
{
    struct perf_event_attr attr = {.type = type, .size = sizeof attr, .config = config};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.inherit = 1;
    attr.inherit_thread = 1;
    attr.remove_on_exec = 1;
    attr.exclude_kernel = attr.exclude_hv = type != PERF_TYPE_SOFTWARE;
    long fd = xw_syscall(SYS_perf_event_open, &attr, tid, ANY_PROCESSOR, NO_GROUP, PERF_FLAG_FD_CLOEXEC);
    if ((fd != -EACCES && fd != -EPERM) || attr.exclude_kernel)
        return fd;
    attr.exclude_kernel = attr.exclude_hv = 1;
    return xw_syscall(SYS_perf_event_open, &attr, tid, ANY_PROCESSOR, NO_GROUP, PERF_FLAG_FD_CLOEXEC);
}

static int same_word(const char *word, const char *begin, const char *end)
{
    while (*word && begin < end && *word == *begin)
        word++, begin++;
    return !*word && begin == end;
}

uint32_t xw_perf_parse(const char *list)
{
    uint32_t events = 0;
    while (*list) {
        const char *end = list;
        while (*end && *end != ',')
            end++;
#define MATCH(number, column, name) events |= same_word(name, list, end) ? 1u << (number) : 0;
        XW_PERF_EVENTS(MATCH)
#undef MATCH
        list = *end ? end + 1 : end;
    }
    return events;
}

int xw_perf_probe(uint32_t event)
{
    struct recipe recipe;
    if (event >= XW_N_PERF || !find_recipe(event, &recipe))
        return 0;
    long fd = open_event(recipe.type, recipe.raw[0].config, CALLING_THREAD);
    if (xw_failed(fd))
        return 0;
    xw_syscall(SYS_close, fd);
    return 1;
}

/* --- open --- */

/* The threads that are to be counted. */
struct thread_set {
    uint32_t n;
    int32_t tid[MAX_THREADS];
    uint32_t overflow; /* there were more */
};

/* Whether /proc is that of our own pid namespace; with another one its thread ids would be those of strangers. */
static int proc_is_ours(int pid)
{
    char text[16];
    const char *at = text;
    long length = xw_syscall(SYS_readlink, "/proc/self", text, sizeof text);
    return length > 0 && xw_parse_number(&at, text + length) == (uint64_t)pid;
}

static void list_threads(struct thread_set *set, int self_tid)
{
    char buffer[1024];
    struct xw_proc_dir tasks;
    set->n = set->overflow = 0;
    if (xw_proc_dir_open(&tasks, "/proc/self/task", buffer, sizeof buffer)) {
        for (int tid; (tid = xw_proc_dir_next(&tasks)) >= 0;) {
            if (tid == self_tid)
                continue;
            if (set->n < MAX_THREADS)
                set->tid[set->n++] = tid;
            else
                set->overflow = 1;
        }
    }
    xw_proc_dir_close(&tasks);
}

/* Whether a thread lives now that is not in the set. */
static int threads_appeared(const struct thread_set *set, int self_tid)
{
    char buffer[1024];
    struct xw_proc_dir tasks;
    int appeared = 0;
    if (xw_proc_dir_open(&tasks, "/proc/self/task", buffer, sizeof buffer)) {
        for (int tid; !appeared && (tid = xw_proc_dir_next(&tasks)) >= 0;) {
            uint32_t i = 0;
            while (i < set->n && set->tid[i] != tid)
                i++;
            appeared = tid != self_tid && i == set->n;
        }
    }
    xw_proc_dir_close(&tasks);
    return appeared;
}

static void close_from(struct xw_perf *perf, uint32_t first)
{
    while (perf->n_fds > first)
        xw_syscall(SYS_close, perf->fds[--perf->n_fds].fd);
}

/* Open all of a recipe for all threads: 0 or -errno. A thread that has ended meanwhile is no error. */
static long open_recipe(struct xw_perf *perf, uint32_t event, const struct recipe *recipe, const struct thread_set *set)
{
    for (uint32_t i = 0; i < set->n * recipe->n; i++) {
        const struct xw_raw_event *raw = &recipe->raw[i % recipe->n];
        long fd =
            perf->n_fds < XW_PERF_MAX_FDS ? open_event(recipe->type, raw->config, set->tid[i / recipe->n]) : -ENOSPC;
        if (fd == -ESRCH)
            continue;
        if (xw_failed(fd))
            return fd;
        perf->fds[perf->n_fds].fd = (int32_t)fd;
        perf->fds[perf->n_fds].event = (uint16_t)event;
        perf->fds[perf->n_fds++].weight = (uint16_t)raw->weight;
    }
    return set->overflow ? -ENOSPC : 0;
}

static void open_all(struct xw_perf *perf, uint32_t wanted, const struct thread_set *set)
{
    perf->available = perf->failed = 0;
    for (uint32_t event = 0; event < XW_N_PERF; event++) {
        struct recipe recipe;
        if (!(wanted & 1u << event))
            continue;
        uint32_t first = perf->n_fds;
        long error = find_recipe(event, &recipe) ? open_recipe(perf, event, &recipe, set) : -ENODATA;
        perf->error[event] = (int32_t)-error;
        if (error) {
            close_from(perf, first);
            perf->failed |= 1u << event;
        } else {
            perf->available |= 1u << event;
        }
    }
}

void xw_perf_open(struct xw_perf *perf, uint32_t wanted, int pid, int self_tid)
{
    struct thread_set set;
    if (!proc_is_ours(pid)) {
        perf->failed = wanted;
        for (uint32_t event = 0; event < XW_N_PERF; event++)
            perf->error[event] = ENOTDIR;
        return;
    }
    /* A thread born meanwhile has inherited the events of its parent if those were open by then, and has none if they
       were not. Which, nobody can tell: so try again from the start. */
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        close_from(perf, 0);
        list_threads(&set, self_tid);
        open_all(perf, wanted, &set);
        if (!threads_appeared(&set, self_tid))
            break;
    }
}

/* --- read and close --- */

/* The count of one descriptor, extrapolated over the time in which other events had the counter; 0 if it can't be read.
 */
static uint64_t read_event(int fd)
{
    struct {
        uint64_t value, enabled, running;
    } count;
    if (xw_syscall(SYS_read, fd, &count, sizeof count) != (long)sizeof count)
        return 0;
    if (!count.running || count.running >= count.enabled)
        return count.value;
    return (uint64_t)((double)count.value * ((double)count.enabled / (double)count.running));
}

void xw_perf_read(struct xw_perf *perf)
{
    uint64_t sum[XW_N_PERF];
    for (uint32_t event = 0; event < XW_N_PERF; event++)
        sum[event] = perf->base[event];
    for (uint32_t i = 0; i < perf->n_fds; i++)
        sum[perf->fds[i].event] += perf->fds[i].weight * read_event(perf->fds[i].fd);
    for (uint32_t event = 0; event < XW_N_PERF; event++)
        if (sum[event] > perf->last[event])
            __atomic_store_n(&perf->last[event], sum[event], __ATOMIC_RELAXED);
}

void xw_perf_close(struct xw_perf *perf)
{
    xw_perf_read(perf);
    for (uint32_t event = 0; event < XW_N_PERF; event++)
        perf->base[event] = perf->last[event];
    close_from(perf, 0);
}

/* --- in words --- */

struct text {
    char *at, *end; /* `end` is kept for the final NUL */
};

static void append(struct text *text, const char *words)
{
    while (*words && text->at < text->end)
        *text->at++ = *words++;
    *text->at = 0;
}

static const char *reason(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "not permitted"; /* perf_event_paranoid, seccomp */
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return "not on this machine";
    case ENOSYS:
        return "kernel without perf";
    case ENODATA:
        return "processor not known";
    case EMFILE:
    case ENFILE:
        return "descriptor limit";
    case ENOSPC:
        return "too many threads";
    case ENOTDIR:
        return "no own /proc";
    default:
        return "refused";
    }
}

void xw_perf_describe(const struct xw_perf *perf, char *out, size_t size)
{
    static const char *const names[XW_N_PERF] = {
#define NAME(number, column, name) [number] = name,
        XW_PERF_EVENTS(NAME)
#undef NAME
    };
    struct text text = {out, out + size - 1};
    *out = 0;
    const char *separator = "perf: ";
    for (uint32_t event = 0; event < XW_N_PERF; event++) {
        if (!((perf->available | perf->failed) & 1u << event))
            continue;
        append(&text, separator);
        append(&text, names[event]);
        if (perf->failed & 1u << event) {
            append(&text, " (");
            append(&text, reason(perf->error[event]));
            append(&text, ")");
        }
        separator = ", ";
    }
}
