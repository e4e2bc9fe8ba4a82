/*
 * What a process knows about its open descriptors, and the table of the files that it reads and writes, by which the
 * reader tells shared files from own ones. docs/access-patterns.md says what comes of it; wrappers/posix/access.h
 * is the hot path.
 */
#ifndef XW_FILE_TABLE_H
#define XW_FILE_TABLE_H

#include "os.h"

#define XW_ACCESS_FDS 1024u /* descriptors from here on have no positions: their requests count by size only */
#define XW_N_FILES 1024u    /* entries of the table of files */

/*
 * A file in one word, in the descriptor and in the table (the chunk XW_CHUNK_FILES is an array of them, 0: free):
 *
 *     63                                           8   7     6      5 .. 3    2       1        0
 *     +----------------------------------------------+-----+------+---------+-------+---------+------+
 *     | identity: hash of the file, 0: not known     | 0   | app. | class   | local | written | read |
 *     +----------------------------------------------+-----+------+---------+-------+---------+------+
 */
enum xw_file_bit {
    XW_FILE_READ = 1,
    XW_FILE_WRITTEN = 2,
    XW_FILE_LOCAL = 4,    /* the identity holds on this node only */
    XW_FILE_CLASS = 8,    /* times enum xw_class */
    XW_FILE_APPENDS = 64, /* opened with O_APPEND; never in the table */
    XW_FILE_IDENTITY = 256
};

static inline int xw_file_is_known(uint64_t file) { return file >= XW_FILE_IDENTITY; }

/* Requests in one direction: where the last one began and ended, how far the last jump was. */
struct xw_direction {
    int64_t begin;
    int64_t next; /* 1 + where it ended; 0: there was none */
    int64_t jump;
};

/*
 * What is known about an open descriptor; all zero: nothing. Threads write it without a lock: a race on one descriptor
 * may take a request for another step, no more. A vfork child shares it, any other child begins anew.
 */
struct xw_descriptor {
    uint64_t file;
    int64_t position;                 /* of the next request that names no offset; of a stream: as its user sees it */
    struct xw_direction direction[2]; /* reading, writing */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct xw_descriptor) == 64, "one cache line");

/* Note in the table that a file (one that is known) was read or written. Returns 0 when there is no room. Any thread.
 */
int xw_files_note(uint64_t table[XW_N_FILES], uint64_t file) XW_HIDDEN;
/* Copy what is new. */
void xw_files_copy(uint64_t to[XW_N_FILES], const uint64_t from[XW_N_FILES]) XW_HIDDEN;
/* The hash of the words that make a file what it is, as the identity of a file word. */
uint64_t xw_file_identity(const uint64_t *words, unsigned n) XW_HIDDEN;

#endif
