/*
 * A log of the spool file: records appended one after the other, each committed by itself (format.h). One writer.
 */
#ifndef XW_LOG_H
#define XW_LOG_H

#include "os.h"

struct xw_spool;

/* Where the next record goes. */
struct xw_log {
    uint32_t kind;  /* enum xw_chunk_kind */
    uint32_t chunk; /* number in the chunk table; 0 with base NULL: none yet */
    uint8_t *base;
    uint32_t size;
    uint32_t used;
};

/* Make sure that a record of at most `length` bytes fits, moving on to the next chunk of the log's kind where it does
   not. Returns whether the record will be the first of its chunk (1 or 0), -1 when there is no room. */
int xw_log_begin(struct xw_spool *spool, struct xw_log *log, uint32_t length) XW_HIDDEN;
/* Write and commit the record, after xw_log_begin with at least its length. */
void xw_log_append(struct xw_log *log, const uint8_t *payload, uint32_t length) XW_HIDDEN;
/* Bytes that the log can still take in the chunks it has. */
uint64_t xw_log_room(const struct xw_spool *spool, const struct xw_log *log) XW_HIDDEN;

#endif
