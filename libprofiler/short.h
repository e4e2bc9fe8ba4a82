/*
 * The log of short processes (format.h): what a process leaves that ends before it was worth a spool file.
 */
#ifndef XW_SHORT_H
#define XW_SHORT_H

#include "process.h"

/* Append this process's record to the log of its job step, making the log if it is the first. Nothing is written for a
   process in which nothing was counted. Opens the directory and the log for a moment. */
void xw_short_append(struct xw_process *process, enum xw_state state, const struct xw_instant *end) XW_HIDDEN;

#endif
