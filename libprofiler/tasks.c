#include "tasks.h"

#include <fcntl.h>

/* struct linux_dirent64: inode 8, offset 8, record length 2, type 1, name */
enum { DIRENT_LENGTH = 16, DIRENT_NAME = 19 };

int xw_tasks_open(struct xw_tasks *tasks, char *buffer, size_t size)
{
    tasks->fd = (int)xw_syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tasks->buffer = buffer;
    tasks->size = size;
    tasks->filled = tasks->at = 0;
    return tasks->fd >= 0;
}

/* The next entry of the directory; NULL after the last, or when the kernel says something that makes no sense. */
static const char *next_entry(struct xw_tasks *tasks)
{
    if (tasks->at >= tasks->filled) {
        long filled = xw_syscall(SYS_getdents64, tasks->fd, tasks->buffer, tasks->size);
        if (filled <= 0)
            return NULL;
        tasks->filled = (size_t)filled;
        tasks->at = 0;
    }
    const char *entry = tasks->buffer + tasks->at;
    uint16_t length;
    __builtin_memcpy(&length, entry + DIRENT_LENGTH, sizeof length);
    if (length <= DIRENT_NAME || length > tasks->filled - tasks->at)
        return NULL;
    tasks->at += length;
    return entry;
}

int xw_tasks_next(struct xw_tasks *tasks)
{
    const char *entry;
    while ((entry = next_entry(tasks))) {
        const char *name = entry + DIRENT_NAME;
        uint64_t tid = xw_parse_number(&name, tasks->buffer + tasks->at);
        if (tid && tid <= INT32_MAX) /* not "." and ".." */
            return (int)tid;
    }
    return 0;
}

void xw_tasks_close(struct xw_tasks *tasks)
{
    if (tasks->fd >= 0)
        xw_syscall(SYS_close, tasks->fd);
    tasks->fd = -1;
}

uint64_t xw_parse_number(const char **text, const char *end)
{
    uint64_t number = 0;
    for (; *text < end && **text >= '0' && **text <= '9'; (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : 10 * number + digit;
    }
    return number;
}
