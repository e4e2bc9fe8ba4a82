/*
 * Where the counters of one process live, and its spool file: creating it, growing it, appending to its logs. The
 * layout is format.h's.
 *
 * Every process begins in anonymous memory, with a header and a few thread blocks laid out as in the file. One that
 * proves worth it (MPI, or two seconds of life) is *published*: the file is made, and each thread takes a block in it
 * at its next call. What was counted before stays where it is and is carried over into the file's shared block, so
 * nothing is lost and nothing moves under a running thread. Where no file can be made the process stays in memory: it
 * is counted, and nobody reads it later.
 *
 * No descriptor is kept: the file is created, allocated, mapped and closed at once. Room is always allocated before it
 * is mapped, so that a full file system can never raise SIGBUS.
 */
#ifndef XW_SPOOL_H
#define XW_SPOOL_H

#include "config.h"
#include "counters.h"
#include "file_table.h"
#include "log.h"

#define XW_FIRST_THREADS 8u /* blocks at the start, in memory and again in the file; the shared one among them */

/* The counting words of a thread block: groups, functions, and (the plain words of the table text) access patterns. */
#define XW_PLAIN_WORDS (XW_N_CLASSES * XW_N_WAYS * sizeof(struct xw_access) / sizeof(uint64_t))
#define XW_BLOCK_WORDS ((XW_N_GROUPS + XW_N_FUNCTIONS) * sizeof(struct xw_quad) / sizeof(uint64_t) + XW_PLAIN_WORDS)

struct xw_spool {
    struct xw_spool_header *header; /* the file's, or the one in memory as long as there is no file */
    struct xw_spool_header *memory; /* the one in memory; its chunks' offsets are addresses */
    uint64_t file_size;
    uint64_t device, inode; /* of the file, to know it again when it grows; 0: not published */
    struct xw_log slices;
    struct xw_log blocks;
    struct xw_log sites;
    uint32_t growing;     /* someone adds a chunk */
    uint32_t free_blocks; /* thread blocks that nobody has; a hint */
    char path[384];
    uint8_t *chunk[XW_MAX_CHUNKS]; /* where each chunk of the file is mapped; entries below header->n_chunks are set */
    uint64_t carried[XW_BLOCK_WORDS]; /* how much of the early blocks is in the file's shared block already */
};

static inline uint64_t xw_tick_hz(const struct xw_spool_header *header)
{
    return __atomic_load_n(&header->tick_hz, __ATOMIC_RELAXED);
}

/* Lay out the header and the first thread blocks in memory. Returns 0 when there is no memory. */
int xw_spool_begin(struct xw_spool *spool, const struct xw_config *config, const struct xw_instant *now) XW_HIDDEN;

/* Make the file. Returns 0, and counts that, when none can be made. Once; after it all threads must be sent for new
 * blocks. */
int xw_spool_publish(struct xw_spool *spool, const struct xw_config *config) XW_HIDDEN;
int xw_spool_is_published(const struct xw_spool *spool) XW_HIDDEN;
/* Add what has been counted in memory since the last time to the file's shared block. By the thread that closes slices.
 */
void xw_spool_carry_over(struct xw_spool *spool) XW_HIDDEN;

/* Copy what is new in the process's table of files into the file's. By the thread that closes slices. */
void xw_spool_store_files(struct xw_spool *spool, const uint64_t files[XW_N_FILES]) XW_HIDDEN;

/* Add a chunk of the kind, `size` rounded up to pages. Opens the file for a moment. Returns 0 when there is no room, or
   when another thread adds one at this moment. */
int xw_spool_grow(struct xw_spool *spool, uint32_t kind, uint32_t size) XW_HIDDEN;
/* Where the first chunk of the kind is mapped; NULL: there is none, or no file. */
void *xw_spool_area(const struct xw_spool *spool, uint32_t kind) XW_HIDDEN;

/* Thread block number i over all THREADS chunks, NULL behind the last. Block 0 is the shared one. */
struct xw_thread_block *xw_spool_block(const struct xw_spool *spool, unsigned i) XW_HIDDEN;
/* The same over the blocks in memory, while and after the process was not published; NULL if it never had any or behind
 * the last. */
struct xw_thread_block *xw_spool_early_block(const struct xw_spool *spool, unsigned i) XW_HIDDEN;

#endif
