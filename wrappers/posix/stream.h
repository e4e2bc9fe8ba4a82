/*
 * Streams of stdio as far as a wrapper must look into them. glibc's FILE is a public structure that has not changed
 * since 2.1 and is read in place; elsewhere libc's own functions do the looking, found at run time. In a process
 * without libc everything here answers "nothing". errno is preserved.
 */
#ifndef XW_STREAM_H
#define XW_STREAM_H

#include <dirent.h>
#include <stdio.h>

#include "counters.h"
#include "file_class.h"

/* glibc keeps a pointer to the thread's control block in its third word; that is how the core knows it (counters.h). */
static inline int xw_is_glibc(void) { return xw_tls_self_offset != 0; }

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

int xw_dir_fd(DIR *dir) XW_HIDDEN;
/* The standard streams as the program has them now; NULL in a process without stdio. */
FILE *xw_stdin(void) XW_HIDDEN;
FILE *xw_stdout(void) XW_HIDDEN;
/* Bytes that lie in the stream's read buffer. 0 outside glibc. */
size_t xw_stream_buffered(const FILE *stream) XW_HIDDEN;
/* strlen. */
size_t xw_length(const char *text) XW_HIDDEN;

static inline enum xw_class xw_class_of_stream(FILE *stream) { return xw_class_of_fd(xw_stream_fd(stream)); }

#endif
