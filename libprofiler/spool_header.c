#include "spool_header.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/utsname.h>

#include "counters.h"
#include "proc_file.h"
#include "text.h"

const char xw_table_text[] = XW_METRIC_TABLE_TEXT XW_FUNCTION_TABLE_TEXT;
const uint32_t xw_table_size = sizeof xw_table_text - 1;

static void read_line(const char *path, char *line, size_t size)
{
    size_t n = xw_proc_read(AT_FDCWD, path, line, size - 1);
    while (n && line[n - 1] == '\n')
        n--;
    line[n] = 0;
}

uint64_t xw_start_ticks(void)
{
    enum { START_TIME = 22 };
    char text[1024];
    return xw_proc_stat_field(text, text + xw_proc_read(AT_FDCWD, "/proc/self/stat", text, sizeof text), START_TIME);
}

/* Which PID namespace the process is in: the inode of its file, 0 if there is no such file. Nothing is opened. */
static uint64_t pid_namespace(void)
{
    struct statx x;
    const long result = xw_syscall(SYS_statx, AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &x);
    return xw_failed(result) ? 0 : x.stx_ino;
}

static void identify(struct xw_spool_header *header, const struct xw_config *config)
{
    header->pid = (uint32_t)xw_syscall(SYS_getpid);
    header->parent_pid = (uint32_t)xw_syscall(SYS_getppid);
    header->uid = (uint32_t)xw_syscall(SYS_geteuid);
    header->pid_namespace = pid_namespace();
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
    xw_copy(header->omp_num_threads, sizeof header->omp_num_threads, config->omp_num_threads);
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
