/*
 * The spool file of one process: creating it, growing it, appending to its logs. The layout is format.h's.
 *
 * No descriptor is kept: the file is created, allocated, mapped and closed at once. Room is always allocated before it is
 * mapped, so that a full file system can never raise SIGBUS. Where no file can be made, the same layout lies in
 * anonymous memory: the process is counted, and nobody reads it later.
 */
#ifndef XW_SPOOL_H
#define XW_SPOOL_H

#include "config.h"
#include "counters.h"

#define XW_FIRST_THREADS 3u /* blocks in a new file, the shared one among them */

/* One log: the chunk that is written now. One writer; see format.h for the commit. */
struct xw_log {
    uint32_t kind;
    uint32_t chunk; /* number in the chunk table; 0 with base NULL: none yet */
    uint8_t *base;
    uint32_t size;
    uint32_t used;
};

struct xw_spool {
    struct xw_spool_header *header;
    uint8_t *chunk[XW_MAX_CHUNKS]; /* where each chunk is mapped; entries below header->n_chunks are set */
    uint64_t file_size;
    uint64_t device, inode; /* of the file, to know it again when it grows; 0: in memory only */
    struct xw_log slices;
    struct xw_log segments;
    uint32_t free_blocks; /* thread blocks that nobody has; a hint */
    char path[384];
};

/* Make the file (or its stand-in in memory) and fill in the header. Returns 0 when not even memory could be had. */
int xw_spool_create(struct xw_spool *spool, const struct xw_config *config, const struct xw_instant *now) XW_HIDDEN;

/* Add a chunk of the kind, `size` rounded up to pages. Only one thread may do so at a time: the helper, or another thread
   while no helper runs. Opens the file for a moment. Returns 0 when there is no room. */
int xw_spool_grow(struct xw_spool *spool, uint32_t kind, uint32_t size) XW_HIDDEN;

/* Make sure that a record of at most `length` bytes fits, moving on to the next chunk of the log's kind where it does not. Returns
   whether the record will be the first of its chunk (1 or 0), -1 when there is no room. */
int xw_log_begin(struct xw_spool *spool, struct xw_log *log, uint32_t length) XW_HIDDEN;
/* Write and commit the record, after xw_log_begin with at least its length. */
void xw_log_append(struct xw_log *log, const uint8_t *payload, uint32_t length) XW_HIDDEN;
/* Bytes that the log can still take in the chunks it has. */
uint64_t xw_log_room(const struct xw_spool *spool, const struct xw_log *log) XW_HIDDEN;

/* Thread block number i over all THREADS chunks, NULL behind the last. Block 0 is the shared one. */
struct xw_thread_block *xw_spool_block(const struct xw_spool *spool, unsigned i) XW_HIDDEN;

uint32_t xw_crc32c(const uint8_t *data, size_t length) XW_HIDDEN;

#endif
