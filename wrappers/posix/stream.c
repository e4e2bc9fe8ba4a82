#include "stream.h"

#include <wchar.h>

#include "wrap.h"

#pragma weak stdin
#pragma weak stdout
#pragma weak stderr

/* --- descriptors --- */

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
FILE *xw_stderr(void) { return &stderr ? stderr : NULL; }

/* --- text --- */

size_t xw_string_length(const char *text)
{
    static __typeof__(strlen) *real_strlen;
    return XW_REAL(real_strlen, "strlen") ? real_strlen(text) : 0;
}

size_t xw_wide_length(const wchar_t *text)
{
    static __typeof__(wcslen) *real_wcslen;
    return XW_REAL(real_wcslen, "wcslen") ? real_wcslen(text) : 0;
}

/* --- what the inlined functions move --- */

struct xw_cursor xw_cursors[XW_CURSORS];
int xw_cursors_in_use;

/* A process that had several threads has one again after fork. */
void xw_cursors_use(int in_use)
{
    for (unsigned i = 0; i < XW_CURSORS; i++)
        xw_cursors[i].stream = NULL;
    __atomic_store_n(&xw_cursors_in_use, in_use, __ATOMIC_RELAXED);
}

static uint64_t between(const char *base, const char *cursor, const char *pointer)
{
    return base && base <= cursor && cursor <= pointer ? (uint64_t)(pointer - cursor) : 0;
}

static int is_wide(const FILE *stream) { return stream->_mode > 0; } /* its pointers are moved by conversions */

enum { IN_BACKUP = 0x100 }; /* glibc: the read pointers are those of characters that were pushed back */

void xw_stream_catch_up_slow(struct xw_call call, FILE *stream, struct xw_cursor *cursor)
{
    if (is_wide(stream) || stream->_flags & IN_BACKUP)
        return;
    uint64_t in = between(stream->_IO_read_base, cursor->read, stream->_IO_read_ptr);
    uint64_t out = between(stream->_IO_write_base, cursor->write, stream->_IO_write_ptr);
    enum xw_class class = xw_class_of_stream(stream);
    xw_count_apart(call, XW_F___uflow, XW_G_POSIX(class, XW_OP_STDIO_READ), 1, 0, in);
    xw_count_apart(call, XW_F___overflow, XW_G_POSIX(class, XW_OP_STDIO_WRITE), 1, out, 0);
}

/* What exit is about to write, as one more call of __overflow. */
void xw_stdout_ends(void)
{
    FILE *out = xw_stdout();
    if (!out || !xw_streams_are_followed() || xw_cursor_of(out)->stream != out ||
        xw_cursor_of(out)->write == out->_IO_write_ptr)
        return;
    const unsigned group = XW_G_POSIX(xw_class_of_stream(out), XW_OP_STDIO_WRITE);
    const struct xw_call call = xw_enter_posix(XW_F___overflow, group);
    xw_stream_catch_up(call, out);
    xw_stream_settle(out);
    xw_leave(call, XW_F___overflow, group, 0, 0);
}

/* --- what functions read that do not tell --- */

struct xw_stream_mark xw_stream_mark(const FILE *stream)
{
    if (!stream || !xw_is_glibc() || stream->_flags & IN_BACKUP)
        return (struct xw_stream_mark){NULL, NULL};
    return (struct xw_stream_mark){stream->_IO_read_ptr, stream->_IO_read_end};
}

/* Nothing where another thread is reading from the stream and the two do not belong together. */
static uint64_t distance(const char *from, const char *to) { return to > from ? (uint64_t)(to - from) : 0; }

uint64_t xw_stream_taken(const struct xw_stream_mark *before, const FILE *stream)
{
    const struct xw_stream_mark now = xw_stream_mark(stream);
    if (!now.read)
        return 0;
    if (now.end == before->end && now.read >= before->read)
        return (uint64_t)(now.read - before->read);
    return distance(before->read, before->end) + distance(stream->_IO_read_base, now.read);
}
