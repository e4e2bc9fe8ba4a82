/*
 * Streams of stdio as far as a wrapper must look into them. glibc's FILE is a public structure that has not changed
 * since 2.1 and is read in place, never written; elsewhere libc's own functions do the looking, found at run time. In a
 * process without libc everything here answers "nothing". errno is preserved.
 *
 * What putc_unlocked and getc_unlocked do is inlined by the compiler: they move the stream's pointers and call libc
 * only where the buffer ends. So every wrapper of a stream keeps where the pointers were when it returned
 * (xw_stream_settle), and the next one on that stream counts as moved what lies between there and now
 * (xw_stream_catch_up), as one call of __overflow or __uflow, where the inlined functions end. What nobody follows is
 * lost, nothing is counted twice. Only in processes of one thread: with more, another one's wrapper might be about to
 * count the same bytes.
 *
 *     _IO_write_base        cursor               _IO_write_ptr          _IO_write_end
 *     +---------------------+--------------------+----------------------+
 *     | counted             | to be counted      | free                 |      the read side likewise
 *     +---------------------+--------------------+----------------------+
 */
#ifndef XW_STREAM_H
#define XW_STREAM_H

#include <dirent.h>
#include <stdio.h>
#include <sys/single_threaded.h>

#include "counters.h"
#include "file_class.h"

/* glibc keeps a pointer to the thread's control block in its third word; that is how the core knows it (counters.h). */
static inline int xw_is_glibc(void) { return xw_tls_self_offset != 0; }

/* --- descriptors --- */

enum { XW_IS_FILEBUF = 0x2000 }; /* glibc: the stream has a descriptor (not a memory stream) */

/* Outside glibc, or for NULL. */
int xw_stream_fd_slow(FILE *stream) XW_HIDDEN;

/* The descriptor behind a stream or directory; -1: none (NULL, memory streams). */
static inline int xw_stream_fd(FILE *stream)
{
    if (XW_LIKELY(xw_is_glibc() && stream != NULL))
        return stream->_flags & XW_IS_FILEBUF ? stream->_fileno : -1;
    return xw_stream_fd_slow(stream);
}

static inline enum xw_class xw_class_of_stream(FILE *stream) { return xw_class_of_fd(xw_stream_fd(stream)); }

int xw_dir_fd(DIR *dir) XW_HIDDEN;
/* The standard streams as the program has them now; NULL in a process without stdio. */
FILE *xw_stdin(void) XW_HIDDEN;
FILE *xw_stdout(void) XW_HIDDEN;
FILE *xw_stderr(void) XW_HIDDEN;

/* --- text --- */

/* strlen and wcslen. */
size_t xw_string_length(const char *text) XW_HIDDEN;
size_t xw_wide_length(const wchar_t *text) XW_HIDDEN;
/* Whether fopen would make the file: "w..." and "a...". */
static inline int xw_mode_creates(const char *mode) { return *mode == 'w' || *mode == 'a'; }

/* --- what the inlined functions move --- */

struct xw_cursor {
    const FILE *stream; /* NULL: free */
    const char *read, *write;
};
/* By address: a memory stream has no descriptor, and what stands there was never written. A newcomer takes the place of
 * another, whose inlined calls are lost once. */
enum { XW_CURSOR_BITS = 5, XW_CURSORS = 1 << XW_CURSOR_BITS };
extern struct xw_cursor xw_cursors[XW_CURSORS] XW_HIDDEN;

#pragma weak __libc_single_threaded
extern int xw_cursors_in_use XW_HIDDEN;
void xw_cursors_use(int in_use) XW_HIDDEN;

/* Whether there is one thread, so that streams are followed. Where there are more, nothing that is remembered is kept.
 */
static inline int xw_streams_are_followed(void)
{
    int alone = xw_is_glibc() && &__libc_single_threaded && __libc_single_threaded;
    if (XW_UNLIKELY(alone != __atomic_load_n(&xw_cursors_in_use, __ATOMIC_RELAXED)))
        xw_cursors_use(alone);
    return alone;
}

static inline struct xw_cursor *xw_cursor_of(const FILE *stream)
{
    return &xw_cursors[(uintptr_t)stream * 0x9E3779B97F4A7C15u >> (64 - XW_CURSOR_BITS)];
}

void xw_stream_catch_up_slow(struct xw_call call, FILE *stream, struct xw_cursor *cursor) XW_HIDDEN;

/* Before the real call. Counts under other functions and groups than the call itself, as part of it. */
static inline void xw_stream_catch_up(struct xw_call call, FILE *stream)
{
    if (!stream || !xw_streams_are_followed())
        return;
    struct xw_cursor *cursor = xw_cursor_of(stream);
    if (cursor->stream == stream && (cursor->read != stream->_IO_read_ptr || cursor->write != stream->_IO_write_ptr))
        xw_stream_catch_up_slow(call, stream, cursor);
}

/* Behind it: all that was moved so far is counted. */
static inline void xw_stream_settle(FILE *stream)
{
    if (stream && xw_streams_are_followed())
        *xw_cursor_of(stream) = (struct xw_cursor){stream, stream->_IO_read_ptr, stream->_IO_write_ptr};
}

static inline void xw_stream_forget(const FILE *stream)
{
    if (stream && xw_streams_are_followed() && xw_cursor_of(stream)->stream == stream)
        xw_cursor_of(stream)->stream = NULL;
}

/* The process ends by exit: what lies in the buffer of standard output will be written. */
void xw_stdout_ends(void) XW_HIDDEN;

/* --- what functions read that do not tell --- */

struct xw_stream_mark {
    const char *read, *end;
};

/* Where the stream's reading is now. Empty outside glibc. */
struct xw_stream_mark xw_stream_mark(const FILE *stream) XW_HIDDEN;
/*
 * Bytes taken from the stream since. The buffer may have been filled again in between; when it was so more than once,
 * the bytes that came and went are not counted.
 */
uint64_t xw_stream_taken(const struct xw_stream_mark *before, const FILE *stream) XW_HIDDEN;

#endif
