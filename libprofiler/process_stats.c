#include "process_stats.h"

#include "proc_dir.h"
#include <fcntl.h>
#include <sys/resource.h>

enum { CLOCK_OF_PROCESS = 2, PAGE_BYTES = 4096 };

static void set(struct xw_process_stats *stats, enum xw_os_sample sample, uint64_t value)
{
    stats->value[sample] = value;
    stats->available |= 1u << sample;
}

/* Read what fits of a small file; 0 when it can't be read. */
static size_t read_file(int directory, const char *path, char *text, size_t size)
{
    long fd = xw_syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC);
    if (xw_failed(fd))
        return 0;
    long length = xw_syscall(SYS_read, fd, text, size);
    xw_syscall(SYS_close, fd);
    return length > 0 ? (size_t)length : 0;
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
    const char *end = text + read_file(AT_FDCWD, "/proc/self/io", text, size);
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
    const char *end = text + read_file(AT_FDCWD, "/proc/self/statm", text, size), *at = text;
    xw_parse_number(&at, end);
    if (at + 1 >= end)
        return;
    at++;
    set(stats, XW_OS_RSS, xw_parse_number(&at, end) * PAGE_BYTES);
}

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
    const char *at = text, *end = text + read_file(directory, path, text, sizeof text);
    xw_parse_number(&at, end);
    if (at + 1 >= end)
        return 0;
    at++;
    *delay += xw_parse_number(&at, end);
    return 1;
}

/* `alive` is the run delay of all threads that live now. */
static void add_run_delay(struct xw_process_stats *stats, uint64_t alive)
{
    if (alive > stats->run_delay_alive)
        stats->run_delay_total += alive - stats->run_delay_alive;
    stats->run_delay_alive = alive;
    set(stats, XW_OS_RUN_DELAY, stats->run_delay_total);
}

static void read_threads(struct xw_process_stats *stats, int self_tid, char *buffer, size_t size)
{
    struct xw_proc_dir tasks;
    uint32_t threads = 0, readable = 0;
    uint64_t delay = 0;
    if (xw_proc_dir_open(&tasks, "/proc/self/task", buffer, size)) {
        for (int tid; (tid = xw_proc_dir_next(&tasks)) >= 0;) {
            if (tid == self_tid)
                continue;
            if (threads++ < XW_PROCESS_STATS_MAX_THREADS)
                readable += (uint32_t)read_run_delay(tasks.fd, tid, &delay);
        }
    }
    xw_proc_dir_close(&tasks);
    if (threads)
        set(stats, XW_OS_THREADS, threads);
    if (readable)
        add_run_delay(stats, delay);
}

void xw_process_stats_read_clocks(struct xw_process_stats *stats)
{
    for (unsigned i = 0; i < XW_N_OS; i++)
        __atomic_store_n(&stats->value[i], 0, __ATOMIC_RELAXED); /* a plain loop would become a call of memset */
    stats->available = 0;
    set(stats, XW_OS_CPU_TIME, xw_clock_ns(CLOCK_OF_PROCESS));
    read_rusage(stats);
}

void xw_process_stats_read(struct xw_process_stats *stats, int self_tid, char *scratch, size_t scratch_size)
{
    xw_process_stats_read_clocks(stats);
    read_io(stats, scratch, scratch_size);
    read_memory(stats, scratch, scratch_size);
    read_threads(stats, self_tid, scratch, scratch_size);
}
