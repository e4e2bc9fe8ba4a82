#include "spool_dir.h"

#include <fcntl.h>
#include <sys/stat.h>

/*
 * Open the spool directory, making it if its parent lets us (open to all and sticky: every user's processes write
 * here). A directory that another user could have planted or could rename files in is refused.
 */
int xw_spool_open_directory(const char *path)
{
    const long flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    long fd = xw_syscall(SYS_open, path, flags);
    if (fd == -2 /* ENOENT */ && !xw_failed(xw_syscall(SYS_mkdir, path, 0700))) {
        fd = xw_syscall(SYS_open, path, flags);
        if (!xw_failed(fd))
            xw_syscall(SYS_fchmod, fd, 01777);
    }
    if (xw_failed(fd))
        return -1;
    struct stat st;
    uint32_t self = (uint32_t)xw_syscall(SYS_geteuid);
    if (xw_failed(xw_syscall(SYS_fstat, fd, &st)) || (st.st_uid != 0 && st.st_uid != self) ||
        ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))) {
        xw_syscall(SYS_close, fd);
        return -1;
    }
    return (int)fd;
}

void xw_spool_harmless(struct xw_text *text, const char *name)
{
    for (; *name; name++) {
        char c = *name;
        int harmless =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
        xw_text_char(text, harmless ? c : '_');
    }
}

void xw_spool_temporary_name(char *name, size_t size, uint64_t start_ns)
{
    struct xw_text text = xw_text_begin(name, size);
    xw_text_add(&text, ".making.");
    xw_text_number(&text, (uint64_t)xw_syscall(SYS_getpid));
    xw_text_char(&text, '.');
    xw_text_number(&text, start_ns);
}
