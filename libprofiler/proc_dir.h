/*
 * The numbered entries of a directory in /proc: the threads in /proc/self/task, the descriptors in /proc/self/fd. Raw
 * system calls only; the caller gives the memory, 1 KiB holds some 30 entries per system call.
 *
 *     struct xw_proc_dir tasks;
 *     if (xw_proc_dir_open(&tasks, "/proc/self/task", buffer, sizeof buffer))
 *         while ((tid = xw_proc_dir_next(&tasks)) >= 0)
 *             ...
 *     xw_proc_dir_close(&tasks);
 */
#ifndef XW_PROC_DIR_H
#define XW_PROC_DIR_H

#include "os.h"

struct xw_proc_dir {
    int fd; /* for openat(fd, "NUMBER/file"); negative: not open */
    char *buffer;
    size_t size;
    size_t filled; /* bytes of directory entries in the buffer */
    size_t at;     /* where the next one begins */
};

/* Returns 0 when there is no such directory. `buffer` must stay until xw_proc_dir_close. */
int xw_proc_dir_open(struct xw_proc_dir *dir, const char *path, char *buffer, size_t size) XW_HIDDEN;
/* The next number, -1 after the last. Entries that are no number are left out. */
int xw_proc_dir_next(struct xw_proc_dir *dir) XW_HIDDEN;
void xw_proc_dir_close(struct xw_proc_dir *dir) XW_HIDDEN;

/* Read the digits at *text, which ends before `end`, and step over them. Saturates at UINT64_MAX; 0 if there are none.
 */
uint64_t xw_parse_number(const char **text, const char *end) XW_HIDDEN;

#endif
