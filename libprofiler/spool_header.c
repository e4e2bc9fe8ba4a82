#include "spool_header.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include "counters.h"
#include "text.h"

const char xw_table_text[] = XW_METRIC_TABLE_TEXT XW_FUNCTION_TABLE_TEXT;
const uint32_t xw_table_size = sizeof xw_table_text - 1;

static void read_line(const char *path, char *line, size_t size)
{
    long fd = xw_syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);
    if (xw_failed(fd))
        return;
    long n = xw_syscall(SYS_read, fd, line, size - 1);
    xw_syscall(SYS_close, fd);
    n = xw_failed(n) ? 0 : n;
    while (n && line[n - 1] == '\n')
        n--;
    line[n] = 0;
}

/* The second field is the program's name in parentheses, which may hold anything. */
uint64_t xw_start_ticks(void)
{
    char line[1024] = "";
    read_line("/proc/self/stat", line, sizeof line);
    const char *at = line + xw_length(line);
    while (at > line && *at != ')')
        at--;
    for (int field = 2; *at && field < 22; at++)
        field += *at == ' ';
    uint64_t ticks = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    return ticks;
}

static void identify(struct xw_spool_header *header, const struct xw_config *config)
{
    header->pid = (uint32_t)xw_syscall(SYS_getpid);
    header->parent_pid = (uint32_t)xw_syscall(SYS_getppid);
    header->uid = (uint32_t)xw_syscall(SYS_geteuid);
    header->rank = config->rank;
    read_line("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof header->boot_id);
    struct utsname names;
    if (!xw_failed(xw_syscall(SYS_uname, &names)))
        xw_copy(header->host, sizeof header->host, names.nodename);
    char exe[512];
    long n = xw_syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
    exe[xw_failed(n) ? 0 : n] = 0;
    xw_copy(header->exe, sizeof header->exe, xw_basename(exe));
    xw_copy(header->job_id, sizeof header->job_id, config->job_id);
    xw_copy(header->step_id, sizeof header->step_id, config->step_id);
}

void xw_spool_fill_header(struct xw_spool_header *header, const struct xw_config *config,
                          const struct xw_instant *start)
{
    header->version = XW_SPOOL_VERSION;
    header->header_size = XW_HEADER_SIZE;
    header->table_offset = XW_HEADER_SIZE;
    header->table_size = xw_table_size;
    header->block_size = sizeof(struct xw_thread_block);
    header->n_groups = XW_N_GROUPS;
    header->n_functions = XW_N_FUNCTIONS;
    header->n_columns = XW_N_COLUMNS;
    header->n_lost = XW_N_LOST;
    header->state = XW_STATE_RUNNING;
    header->slice_ns = config->slice_ns;
    header->start = *start;
    identify(header, config);
}
