#include "proc_dir.h"

#include <fcntl.h>

/* struct linux_dirent64: inode 8, offset 8, record length 2, type 1, name */
enum { DIRENT_LENGTH = 16, DIRENT_NAME = 19 };

int xw_proc_dir_open(struct xw_proc_dir *dir, const char *path, char *buffer, size_t size)
{
    dir->fd = (int)xw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir->buffer = buffer;
    dir->size = size;
    dir->filled = dir->at = 0;
    return dir->fd >= 0;
}

/* The name of the next entry; NULL after the last, or when the kernel says something that makes no sense. */
static const char *next_name(struct xw_proc_dir *dir)
{
    if (dir->at >= dir->filled) {
        long filled = xw_syscall(SYS_getdents64, dir->fd, dir->buffer, dir->size);
        if (filled <= 0)
            return NULL;
        dir->filled = (size_t)filled;
        dir->at = 0;
    }
    const char *entry = dir->buffer + dir->at;
    uint16_t length;
    __builtin_memcpy(&length, entry + DIRENT_LENGTH, sizeof length);
    if (length <= DIRENT_NAME || length > dir->filled - dir->at)
        return NULL;
    dir->at += length;
    return entry + DIRENT_NAME;
}

int xw_proc_dir_next(struct xw_proc_dir *dir)
{
    const char *name;
    while ((name = next_name(dir))) {
        const char *at = name;
        uint64_t number = xw_parse_number(&at, dir->buffer + dir->at);
        if (at > name && number <= INT32_MAX)
            return (int)number;
    }
    return -1;
}

void xw_proc_dir_close(struct xw_proc_dir *dir)
{
    if (dir->fd >= 0)
        xw_syscall(SYS_close, dir->fd);
    dir->fd = -1;
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
