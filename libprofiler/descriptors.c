#include "descriptors.h"

#include <linux/close_range.h>
#include <sched.h>

#include "proc_dir.h"

/* Close what the directory lists, but the directory itself. Returns how many there were. */
static int close_listed(char *scratch, size_t size)
{
    struct xw_proc_dir dir;
    int closed = 0;
    if (!xw_proc_dir_open(&dir, "/proc/thread-self/fd", scratch, size))
        return -1;
    for (int fd; (fd = xw_proc_dir_next(&dir)) >= 0;)
        if (fd != dir.fd && !xw_failed(xw_syscall(SYS_close, fd)))
            closed++;
    xw_proc_dir_close(&dir);
    return closed;
}

int xw_descriptors_leave_one_by_one(char *scratch, size_t size)
{
    if (xw_failed(xw_syscall(SYS_unshare, CLONE_FILES)))
        return 0;
    while (close_listed(scratch, size) > 0) { /* again until none is left: closing while listing may skip some */
    }
    return 1;
}

int xw_descriptors_leave(char *scratch, size_t size)
{
    return !xw_failed(xw_syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE)) ||
           xw_descriptors_leave_one_by_one(scratch, size);
}
