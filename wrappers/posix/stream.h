/*
 * Streams of stdio as far as a wrapper must look into them. libc's own functions do the looking, found at run time; in a
 * process without libc everything here answers "nothing". errno is preserved.
 */
#ifndef XW_STREAM_H
#define XW_STREAM_H

#include <dirent.h>
#include <stdio.h>

#include "file_class.h"

/* The descriptor behind a stream or directory; -1: none (NULL, memory streams). */
int xw_stream_fd(FILE *stream) XW_HIDDEN;
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
