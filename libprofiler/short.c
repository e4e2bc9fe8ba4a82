#include "short.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "crc32c.h"
#include "spool_dir.h"
#include "spool_header.h"
#include "text.h"
#include "write_signals.h"

enum { MAX_LOG_BYTES = 64 << 20 };

/* Most bytes of a payload: the fixed part with its name, pairs of columns, quintuples of functions, pairs of words. */
#define MAX_PAYLOAD (XW_VARINT_MAX * (10u + 2u * XW_N_COLUMNS + 5u * XW_N_FUNCTIONS + 2u * XW_PLAIN_WORDS) + 64u)
#define MAX_RECORD (8u + MAX_PAYLOAD + 3u)

/* --- the record --- */

static uint8_t *put_name(uint8_t *at)
{
    char exe[512];
    long n = xw_syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
    exe[xw_failed(n) ? 0 : n] = 0;
    const char *name = xw_basename(exe);
    size_t length = xw_length(name) < 63 ? xw_length(name) : 63;
    at = xw_put_varint(at, length);
    memcpy(at, name, length);
    return at + length;
}

static uint8_t *put_columns(uint8_t *at, const struct xw_snapshot *snapshot, uint64_t tick_hz)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < XW_N_COLUMNS; i++)
        n += snapshot->value[i] != 0;
    at = xw_put_varint(at, n);
    uint32_t previous = 0;
    for (uint32_t i = 0; i < XW_N_COLUMNS; i++) {
        if (!snapshot->value[i])
            continue;
        at = xw_put_varint(at, i - previous);
        at = xw_put_varint(at, xw_column_to_record(i, snapshot->value[i], tick_hz));
        previous = i + 1;
    }
    return at;
}

/* The groups tell it from a page or two; the functions, of a block that never counted, would be touched for nothing. */
static int has_counted(const struct xw_thread_block *block)
{
    uint64_t calls = 0;
    for (unsigned g = 0; g < XW_N_GROUPS; g++)
        calls |= block->group[g].calls;
    return calls != 0;
}

/* Sum the functions over all blocks; returns how many were called. */
static uint32_t sum_functions(const struct xw_spool *spool, struct xw_quad total[XW_N_FUNCTIONS])
{
    const struct xw_thread_block *block;
    uint32_t n = 0;
    for (unsigned i = 0; (block = xw_spool_block(spool, i)); i++) {
        if (block->head.state == XW_SLOT_FREE)
            break; /* blocks are taken in order: nobody ever had this one or those behind it */
        if (!has_counted(block))
            continue;
        for (unsigned f = 0; f < XW_N_FUNCTIONS; f++) {
            n += !total[f].calls && block->function[f].calls;
            total[f].calls += block->function[f].calls;
            total[f].bytes_out += block->function[f].bytes_out;
            total[f].bytes_in += block->function[f].bytes_in;
            total[f].ticks += block->function[f].ticks;
        }
    }
    return n;
}

static uint8_t *put_functions(uint8_t *at, const struct xw_quad total[XW_N_FUNCTIONS], uint32_t n, uint64_t tick_hz)
{
    uint32_t previous = 0;
    at = xw_put_varint(at, n);
    for (uint32_t f = 0; f < XW_N_FUNCTIONS; f++) {
        if (!total[f].calls)
            continue;
        at = xw_put_varint(at, f - previous);
        at = xw_put_varint(at, total[f].calls);
        at = xw_put_varint(at, total[f].bytes_out);
        at = xw_put_varint(at, total[f].bytes_in);
        at = xw_put_varint(at, tick_hz ? (uint64_t)((double)total[f].ticks * 1e9 / (double)tick_hz) : 0);
        previous = f + 1;
    }
    return at;
}

/* The plain words, summed over all blocks. */
static uint8_t *put_words(uint8_t *at, const struct xw_spool *spool)
{
    static uint64_t total[XW_PLAIN_WORDS]; /* one thread ends a process */
    const struct xw_thread_block *block;
    for (unsigned i = 0; (block = xw_spool_block(spool, i)) && block->head.state != XW_SLOT_FREE; i++) {
        if (!has_counted(block))
            continue;
        const uint64_t *words = &block->access[0][0].steps[0];
        for (unsigned w = 0; w < XW_PLAIN_WORDS; w++)
            total[w] += words[w];
    }
    uint32_t n = 0, previous = 0;
    for (uint32_t w = 0; w < XW_PLAIN_WORDS; w++)
        n += total[w] != 0;
    at = xw_put_varint(at, n);
    for (uint32_t w = 0; w < XW_PLAIN_WORDS; w++) {
        if (!total[w])
            continue;
        at = xw_put_varint(at, w - previous);
        at = xw_put_varint(at, total[w]);
        previous = w + 1;
    }
    return at;
}

/* Everything but the functions and words. */
static uint8_t *put_process(uint8_t *at, struct xw_process *process, enum xw_state state, const struct xw_instant *end)
{
    const struct xw_spool_header *header = process->spool.header;
    xw_sum_groups(&process->spool, end->tick, process->groups);
    xw_process_stats_read_clocks(&process->stats);
    xw_snapshot_fill(&process->snapshot, process->groups, &process->stats, &process->perf);
    at = xw_put_varint(at, process->pid);
    at = xw_put_varint(at, (uint64_t)xw_syscall(SYS_getppid));
    at = xw_put_varint(at, (uint64_t)(header->rank + 1));
    at = xw_put_varint(at, state);
    at = xw_put_varint(at, header->start.real_ns);
    at = xw_put_varint(at, end->mono_ns - header->start.mono_ns);
    at = put_name(at);
    return put_columns(at, &process->snapshot, header->tick_hz);
}

/* --- the log --- */

/* JOB.STEP.uUID.CHECK.xwl; CHECK tells apart what the harmless characters no longer do, and other versions of the
 * table. */
static void log_name(char *name, size_t size)
{
    uint32_t check = XW_METRIC_TABLE_CHECK ^ XW_FUNCTION_TABLE_CHECK * 7;
    check ^= xw_crc32c((const uint8_t *)&xw_config.job_id, sizeof xw_config.job_id);
    check ^= xw_crc32c((const uint8_t *)&xw_config.step_id, sizeof xw_config.step_id) * 3;
    check ^= xw_crc32c((const uint8_t *)&xw_config.slice_ns, sizeof xw_config.slice_ns) * 5;
    struct xw_text text = xw_text_begin(name, size);
    xw_spool_harmless(&text, xw_config.job_id[0] ? xw_config.job_id : "nojob");
    xw_text_char(&text, '.');
    xw_spool_harmless(&text, xw_config.step_id);
    xw_text_add(&text, ".u");
    xw_text_number(&text, (uint64_t)xw_syscall(SYS_geteuid));
    xw_text_char(&text, '.');
    xw_text_number(&text, check);
    xw_text_add(&text, ".xwl");
}

/* Make the log with header and table; another process may be faster, and then its log is the one. */
static void make_log(int directory, const char *name, struct xw_process *process)
{
    char temporary[64];
    xw_spool_temporary_name(temporary, sizeof temporary, process->spool.header->start.real_ns);
    long fd = xw_syscall(SYS_openat, directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (xw_failed(fd))
        return;
    static union {
        struct xw_spool_header header;
        uint8_t page[XW_HEADER_SIZE];
    } first;
    xw_spool_fill_header(&first.header, &xw_config, &process->spool.header->start);
    memcpy(first.header.magic, XW_SHORT_MAGIC, sizeof first.header.magic);
    first.header.version = XW_SHORT_VERSION;
    int good = xw_syscall(SYS_write, fd, first.page, XW_HEADER_SIZE) == XW_HEADER_SIZE &&
               xw_syscall(SYS_write, fd, xw_table_text, xw_table_size) == (long)xw_table_size;
    xw_syscall(SYS_close, fd);
    if (good)
        xw_syscall(SYS_linkat, directory, temporary, directory, name, 0);
    xw_syscall(SYS_unlinkat, directory, temporary, 0);
}

static int is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == (uint32_t)xw_syscall(SYS_geteuid);
}

/* For a whole record: half of one would be damage. */
static int has_room(const struct stat *st)
{
    return st->st_size < MAX_LOG_BYTES && xw_file_limit_allows((uint64_t)st->st_size + MAX_RECORD);
}

/* One more that leaves no record. Two processes that do so at the same moment may count as one: no lock is worth it. */
static void count_without_room(int directory, const char *name)
{
    const size_t place = offsetof(struct xw_spool_header, lost) + XW_LOST_SHORT * sizeof(uint64_t);
    uint64_t count;
    long fd = xw_syscall(SYS_openat, directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (xw_failed(fd))
        return;
    if (xw_syscall(SYS_pread64, fd, &count, sizeof count, place) == sizeof count) {
        count++;
        xw_syscall(SYS_pwrite64, fd, &count, sizeof count, place);
    }
    xw_syscall(SYS_close, fd);
}

/* Open for appending; negative when it can't be had, is not ours, or is full. */
static long open_in(int directory, const char *name, struct xw_process *process)
{
    const long flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    long fd = xw_syscall(SYS_openat, directory, name, flags);
    if (fd == -2 /* ENOENT */) {
        make_log(directory, name, process);
        fd = xw_syscall(SYS_openat, directory, name, flags);
    }
    struct stat st;
    if (xw_failed(fd))
        return -1;
    if (!xw_failed(xw_syscall(SYS_fstat, fd, &st)) && is_ours(&st)) {
        if (has_room(&st))
            return fd;
        count_without_room(directory, name);
    }
    xw_syscall(SYS_close, fd);
    return -1;
}

static int open_log(struct xw_process *process)
{
    int directory = xw_spool_open_directory(xw_config.spool);
    if (directory < 0)
        return -1;
    char name[224];
    log_name(name, sizeof name);
    const long fd = open_in(directory, name, process);
    xw_syscall(SYS_close, directory);
    return (int)fd;
}

static void append(struct xw_process *process, enum xw_state state, const struct xw_instant *end)
{
    static uint8_t record[MAX_RECORD]; /* one thread ends a process */
    static struct xw_quad total[XW_N_FUNCTIONS];
    const uint32_t functions = sum_functions(&process->spool, total);
    if (!functions)
        return;
    int fd = open_log(process);
    if (fd < 0)
        return;
    uint8_t *at = put_process(record + 8, process, state, end);
    at = put_functions(at, total, functions, process->spool.header->tick_hz);
    at = put_words(at, &process->spool);
    uint32_t length = (uint32_t)(at - (record + 8));
    uint32_t crc = xw_crc32c(record + 8, length);
    memcpy(record, &length, 4);
    memcpy(record + 4, &crc, 4);
    xw_syscall(SYS_write, fd, record, 8 + (length + 3u) / 4u * 4u);
    xw_syscall(SYS_close, fd);
}

void xw_short_append(struct xw_process *process, enum xw_state state, const struct xw_instant *end)
{
    const struct xw_write_signals signals = xw_write_signals_hold();
    append(process, state, end);
    xw_write_signals_release(&signals);
}
