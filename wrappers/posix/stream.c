#include "stream.h"

#include "wrap.h"

#pragma weak stdin
#pragma weak stdout

/* fileno and dirfd set errno where there is no descriptor. */
static int keep_errno(int fd, int saved)
{
    if (fd < 0)
        xw_set_errno(saved);
    return fd;
}

int xw_stream_fd_slow(FILE *stream)
{
    static __typeof__(fileno) *real_fileno;
    if (!stream || !XW_REAL(real_fileno, "fileno"))
        return -1;
    int saved = xw_errno();
    return keep_errno(real_fileno(stream), saved);
}

int xw_dir_fd(DIR *dir)
{
    static __typeof__(dirfd) *real_dirfd;
    if (!dir || !XW_REAL(real_dirfd, "dirfd"))
        return -1;
    int saved = xw_errno();
    return keep_errno(real_dirfd(dir), saved);
}

FILE *xw_stdin(void) { return &stdin ? stdin : NULL; }
FILE *xw_stdout(void) { return &stdout ? stdout : NULL; }

size_t xw_stream_buffered(const FILE *stream)
{
    return xw_is_glibc() ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) : 0;
}

size_t xw_length(const char *text)
{
    static __typeof__(strlen) *real_strlen;
    return XW_REAL(real_strlen, "strlen") ? real_strlen(text) : 0;
}
