#include "process_stats.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "proc_dir.h"
#include "proc_file.h"

enum { CLOCK_OF_PROCESS = 2, CLOCK_OF_THREAD = 3, PAGE_BYTES = 4096 };

static void set(struct xw_process_stats *stats, enum xw_os_sample sample, uint64_t value)
{
    stats->value[sample] = value;
    stats->available |= 1u << sample;
}

static void read_rusage(struct xw_process_stats *stats)
{
    struct rusage usage;
    if (xw_failed(xw_syscall(SYS_getrusage, RUSAGE_SELF, &usage)))
        return;
    set(stats, XW_OS_CPU_SYSTEM_TIME,
        (uint64_t)usage.ru_stime.tv_sec * 1000000000u + (uint64_t)usage.ru_stime.tv_usec * 1000u);
    set(stats, XW_OS_CTX_VOLUNTARY, (uint64_t)usage.ru_nvcsw);
    set(stats, XW_OS_CTX_INVOLUNTARY, (uint64_t)usage.ru_nivcsw);
    set(stats, XW_OS_FAULTS_MINOR, (uint64_t)usage.ru_minflt);
    set(stats, XW_OS_FAULTS_MAJOR, (uint64_t)usage.ru_majflt);
}

/* The line's value if it is "key: number", else leave the column alone. */
static void read_io_line(struct xw_process_stats *stats, const char *line, const char *end)
{
    static const struct {
        char key[16];
        enum xw_os_sample sample;
    } lines[] = {
        {"rchar: ", XW_OS_PROC_READ_BYTES},
        {"wchar: ", XW_OS_PROC_WRITE_BYTES},
        {"read_bytes: ", XW_OS_STORAGE_READ_BYTES},
        {"write_bytes: ", XW_OS_STORAGE_WRITE_BYTES},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *at = line, *key = lines[i].key;
        while (*key && at < end && *at == *key)
            at++, key++;
        if (!*key && at < end)
            set(stats, lines[i].sample, xw_parse_number(&at, end));
    }
}

/* /proc/self/io: unreadable in a process that is not dumpable. */
static void read_io(struct xw_process_stats *stats, char *text, size_t size)
{
    const char *end = text + xw_proc_read(AT_FDCWD, "/proc/self/io", text, size);
    for (const char *line = text; line < end;) {
        const char *stop = line;
        while (stop < end && *stop != '\n')
            stop++;
        read_io_line(stats, line, stop);
        line = stop + 1;
    }
}

/* /proc/self/statm: "size resident ...", in pages. */
static void read_memory(struct xw_process_stats *stats, char *text, size_t size)
{
    const char *end = text + xw_proc_read(AT_FDCWD, "/proc/self/statm", text, size), *at = text;
    xw_parse_number(&at, end);
    if (at + 1 >= end)
        return;
    at++;
    set(stats, XW_OS_RSS, xw_parse_number(&at, end) * PAGE_BYTES);
}

static void read_threads(struct xw_process_stats *stats, int self_tid, char *scratch, size_t size)
{
    struct xw_thread_stats *threads = &stats->threads;
    xw_thread_stats_read(threads, self_tid, stats->value[XW_OS_CPU_TIME], scratch, size);
    if (threads->threads) {
        set(stats, XW_OS_THREADS, threads->threads);
        set(stats, XW_OS_THREADS_BUSY, threads->busy);
    }
    if (threads->has_delay)
        set(stats, XW_OS_RUN_DELAY, threads->run_delay);
}

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

uint64_t xw_process_stats_cpu_ns(const struct xw_process_stats *stats)
{
    const uint64_t helper = load(&stats->helper_ns) + load(&stats->helpers_before_ns);
    const uint64_t all = xw_clock_ns(CLOCK_OF_PROCESS);
    return all > helper ? all - helper : 0;
}

void xw_process_stats_helper_ran(struct xw_process_stats *stats)
{
    __atomic_store_n(&stats->helper_ns, xw_clock_ns(CLOCK_OF_THREAD), __ATOMIC_RELAXED);
}

void xw_process_stats_helper_ends(struct xw_process_stats *stats)
{
    const uint64_t ran = xw_clock_ns(CLOCK_OF_THREAD);
    __atomic_store_n(&stats->helper_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&stats->helpers_before_ns, stats->helpers_before_ns + ran, __ATOMIC_RELAXED);
}

void xw_process_stats_read_clocks(struct xw_process_stats *stats)
{
    for (unsigned i = 0; i < XW_N_OS; i++)
        __atomic_store_n(&stats->value[i], 0, __ATOMIC_RELAXED); /* a plain loop would become a call of memset */
    stats->available = 0;
    set(stats, XW_OS_CPU_TIME, xw_process_stats_cpu_ns(stats));
    read_rusage(stats);
}

void xw_process_stats_read(struct xw_process_stats *stats, int self_tid, char *scratch, size_t scratch_size)
{
    xw_process_stats_read_clocks(stats);
    read_io(stats, scratch, scratch_size);
    read_memory(stats, scratch, scratch_size);
    read_threads(stats, self_tid, scratch, scratch_size);
}
