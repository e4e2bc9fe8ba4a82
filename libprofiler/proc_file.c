#include "proc_file.h"

#include <fcntl.h>

#include "proc_dir.h"

size_t xw_proc_read(int directory, const char *path, char *text, size_t size)
{
    long fd = xw_syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC);
    if (xw_failed(fd))
        return 0;
    long length = xw_syscall(SYS_read, fd, text, size);
    xw_syscall(SYS_close, fd);
    return length > 0 ? (size_t)length : 0;
}

uint64_t xw_proc_stat_field(const char *text, const char *end, int field)
{
    const char *at = end;
    while (at > text && at[-1] != ')')
        at--;
    for (int n = 2; at < end && n < field; at++)
        n += *at == ' ';
    return xw_parse_number(&at, end);
}
