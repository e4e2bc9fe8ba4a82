/*
 * The header of spool files and logs of short processes: layout, identity of the process and its host; and the table
 * text.
 */
#ifndef XW_SPOOL_HEADER_H
#define XW_SPOOL_HEADER_H

#include "config.h"
#include "format.h"

extern const char xw_table_text[] XW_HIDDEN;
extern const uint32_t xw_table_size XW_HIDDEN;

/* Fill in all but magic, chunks and what only a running process knows. `start`: the instant at which the process began.
 */
void xw_spool_fill_header(struct xw_spool_header *header, const struct xw_config *config,
                          const struct xw_instant *start) XW_HIDDEN;
/* Field 22 of /proc/self/stat: with the pid it names a process for as long as the machine runs. */
uint64_t xw_start_ticks(void) XW_HIDDEN;

#endif
