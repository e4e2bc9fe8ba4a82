#include "short.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LOG_BYTES = 64 << 20 };

/* Most bytes of a payload: the fixed part with its name, pairs of columns, quintuples of functions. */
#define MAX_PAYLOAD (XW_VARINT_MAX * (9u + 2u * XW_N_COLUMNS + 5u * XW_N_FUNCTIONS) + 64u)

/* --- the record -------------------------------------------------------------------------------------------------------- */

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

/* Sum of one function over the blocks; returns its calls. */
static uint64_t sum_function(const struct xw_spool *spool, unsigned function, struct xw_quad *total)
{
    const struct xw_thread_block *block;
    *total = (struct xw_quad){0, 0, 0, 0};
    for (unsigned i = 0; (block = xw_spool_block(spool, i)); i++) {
        total->calls += block->function[function].calls;
        total->bytes_out += block->function[function].bytes_out;
        total->bytes_in += block->function[function].bytes_in;
        total->ticks += block->function[function].ticks;
    }
    return total->calls;
}

static uint8_t *put_functions(uint8_t *at, const struct xw_spool *spool, uint32_t n)
{
    const uint64_t hz = spool->header->tick_hz;
    struct xw_quad total;
    uint32_t previous = 0;
    at = xw_put_varint(at, n);
    for (uint32_t f = 0; f < XW_N_FUNCTIONS; f++) {
        if (!sum_function(spool, f, &total))
            continue;
        at = xw_put_varint(at, f - previous);
        at = xw_put_varint(at, total.calls);
        at = xw_put_varint(at, total.bytes_out);
        at = xw_put_varint(at, total.bytes_in);
        at = xw_put_varint(at, hz ? (uint64_t)((double)total.ticks * 1e9 / (double)hz) : 0);
        previous = f + 1;
    }
    return at;
}

static uint32_t count_functions(const struct xw_spool *spool)
{
    struct xw_quad total;
    uint32_t n = 0;
    for (uint32_t f = 0; f < XW_N_FUNCTIONS; f++)
        n += sum_function(spool, f, &total) != 0;
    return n;
}

static uint32_t encode(struct xw_process *process, enum xw_state state, const struct xw_instant *end, uint32_t functions, uint8_t *payload)
{
    const struct xw_spool_header *header = process->spool.header;
    xw_sum_groups(&process->spool, end->tick, process->groups);
    xw_process_stats_read_clocks(&process->stats);
    xw_snapshot_fill(&process->snapshot, process->groups, &process->stats, &process->perf);
    uint8_t *at = payload;
    at = xw_put_varint(at, process->pid);
    at = xw_put_varint(at, (uint64_t)xw_syscall(SYS_getppid));
    at = xw_put_varint(at, (uint64_t)(header->rank + 1));
    at = xw_put_varint(at, state);
    at = xw_put_varint(at, header->start.real_ns);
    at = xw_put_varint(at, end->mono_ns - header->start.mono_ns);
    at = put_name(at);
    at = put_columns(at, &process->snapshot, header->tick_hz);
    at = put_functions(at, &process->spool, functions);
    return (uint32_t)(at - payload);
}

/* --- the log ----------------------------------------------------------------------------------------------------------- */

/* JOB.STEP.uUID.CHECK.xwl; CHECK tells apart what the harmless characters no longer do, and other versions of the table. */
static void log_name(char *name, size_t size)
{
    uint32_t check = xw_crc32c((const uint8_t *)xw_table_text, xw_table_size);
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

/* Make the log complete with header and table under another name, then give it its own: nobody ever sees half of one. */
static void make_log(int directory, const char *name, struct xw_process *process)
{
    char temporary[64];
    struct xw_text text = xw_text_begin(temporary, sizeof temporary);
    xw_text_add(&text, ".making.");
    xw_text_number(&text, process->pid);
    xw_text_char(&text, '.');
    xw_text_number(&text, process->spool.header->start.real_ns);
    long fd = xw_syscall(SYS_openat, directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (xw_failed(fd))
        return;
    static union {
        struct xw_spool_header header;
        uint8_t page[XW_HEADER_SIZE];
    } first;
    xw_spool_fill_header(&first.header, &xw_config, &process->spool.header->start);
    memcpy(first.header.magic, XW_SHORT_MAGIC, sizeof first.header.magic);
    int good = xw_syscall(SYS_write, fd, first.page, XW_HEADER_SIZE) == XW_HEADER_SIZE &&
               xw_syscall(SYS_write, fd, xw_table_text, xw_table_size) == (long)xw_table_size;
    xw_syscall(SYS_close, fd);
    if (good)
        xw_syscall(SYS_linkat, directory, temporary, directory, name, 0);
    xw_syscall(SYS_unlinkat, directory, temporary, 0);
}

/* The log, opened for appending; negative when it can't be had, is not ours, or is full. */
static int open_log(struct xw_process *process)
{
    int directory = xw_spool_open_directory(xw_config.spool);
    if (directory < 0)
        return -1;
    char name[224];
    log_name(name, sizeof name);
    const long flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    long fd = xw_syscall(SYS_openat, directory, name, flags);
    if (fd == -2 /* ENOENT */) {
        make_log(directory, name, process);
        fd = xw_syscall(SYS_openat, directory, name, flags);
    }
    xw_syscall(SYS_close, directory);
    if (xw_failed(fd))
        return -1;
    struct stat st;
    if (!xw_failed(xw_syscall(SYS_fstat, fd, &st)) && S_ISREG(st.st_mode) && st.st_uid == (uint32_t)xw_syscall(SYS_geteuid) &&
        st.st_size < MAX_LOG_BYTES)
        return (int)fd;
    xw_syscall(SYS_close, fd);
    return -1;
}

void xw_short_append(struct xw_process *process, enum xw_state state, const struct xw_instant *end)
{
    static uint8_t record[8 + MAX_PAYLOAD + 3]; /* one thread ends a process */
    const uint32_t functions = count_functions(&process->spool);
    if (!functions)
        return;
    int fd = open_log(process);
    if (fd < 0)
        return;
    uint32_t length = encode(process, state, end, functions, record + 8);
    uint32_t crc = xw_crc32c(record + 8, length);
    memcpy(record, &length, 4);
    memcpy(record + 4, &crc, 4);
    xw_syscall(SYS_write, fd, record, 8 + (length + 3u) / 4u * 4u);
    xw_syscall(SYS_close, fd);
}
