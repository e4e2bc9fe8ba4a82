/*
 * Small files in /proc, read as a whole with raw system calls.
 */
#ifndef XW_PROC_FILE_H
#define XW_PROC_FILE_H

#include "os.h"

/* Read what fits of a file; `directory` as in openat. Returns its length, 0 when it can't be read. */
size_t xw_proc_read(int directory, const char *path, char *text, size_t size) XW_HIDDEN;
/* Field `field` (4 or later) of the text of /proc/PID/stat. Its second field is the program's name in parentheses,
   which may hold anything. 0 if there is none. */
uint64_t xw_proc_stat_field(const char *text, const char *end, int field) XW_HIDDEN;

#endif
