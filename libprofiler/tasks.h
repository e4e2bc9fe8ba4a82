/*
 * The threads of this process, from /proc/self/task. Raw system calls only; the caller gives the memory, 1 KiB
 * holds some 30 threads per system call.
 *
 *     struct xw_tasks tasks;
 *     if (xw_tasks_open(&tasks, buffer, sizeof buffer))
 *         while ((tid = xw_tasks_next(&tasks)))
 *             ...
 *     xw_tasks_close(&tasks);
 */
#ifndef XW_TASKS_H
#define XW_TASKS_H

#include "os.h"

struct xw_tasks {
    int fd; /* /proc/self/task, for openat(fd, "TID/file"); negative: there is no /proc */
    char *buffer;
    size_t size;
    size_t filled; /* bytes of directory entries in the buffer */
    size_t at;     /* where the next one begins */
};

/* Returns 0 when there is no /proc. `buffer` must stay until xw_tasks_close. */
int xw_tasks_open(struct xw_tasks *tasks, char *buffer, size_t size) XW_HIDDEN;
/* The next thread id, 0 after the last. */
int xw_tasks_next(struct xw_tasks *tasks) XW_HIDDEN;
void xw_tasks_close(struct xw_tasks *tasks) XW_HIDDEN;

/* Read the digits at *text, which ends before `end`, and step over them. Saturates at UINT64_MAX; 0 if there are none. */
uint64_t xw_parse_number(const char **text, const char *end) XW_HIDDEN;

#endif
