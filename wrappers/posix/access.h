/*
 * Access patterns, as wrappers count them: each read or write is told its class, way and amount (xw_count_request),
 * each move of a position is told where to. Positions are followed, never asked for: no system call is made. A position
 * that nothing has told yet counts as 0, which is wrong for an inherited descriptor until its first seek; that costs
 * one step, since only differences are looked at.
 */
#ifndef XW_POSIX_ACCESS_H
#define XW_POSIX_ACCESS_H

#include <stdio.h>

#include "process.h"

#define XW_NO_OFFSET ((int64_t)-1) /* the request is where the descriptor's position is */

#define XW_CLASSES_WITH_POSITIONS 3u /* net, disk, mem: regular files and block devices */
_Static_assert(XW_CLASS_NET == 0 && XW_CLASS_DISK == 1 && XW_CLASS_MEM == 2, "the classes of files come first");
_Static_assert((XW_WAY_POSIX_READ | XW_WAY_STDIO_READ) % 2 == 0 && XW_WAY_POSIX_WRITE % 2 && XW_WAY_STDIO_WRITE % 2,
               "the low bit of a way is its direction");

/* The descriptor's entry; NULL: it has none. */
static inline struct xw_descriptor *xw_descriptor(int fd)
{
    return (unsigned)fd < XW_ACCESS_FDS && xw_process ? &xw_process->descriptor[fd] : NULL;
}

/* Which word of the histogram: 0 for no byte, b for 2^(b-1) to 2^b - 1. */
static inline unsigned xw_size_bucket(uint64_t bytes)
{
    const unsigned bits = bytes ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
    return bits < XW_N_SIZES ? bits : XW_N_SIZES - 1;
}

/* A request that is no plain continuation of the one before; `shared`: the block is the one that threads share. */
void xw_count_step(struct xw_access *access, int shared, int fd, unsigned direction, int64_t offset,
                   uint64_t bytes) XW_HIDDEN;
void xw_count_request_shared(struct xw_access *access, enum xw_class class, int fd, unsigned direction, int64_t offset,
                             uint64_t bytes) XW_HIDDEN;

/* A read or write that moved `bytes`; `offset` as the call named it, else XW_NO_OFFSET. Behind xw_leave. */
static inline __attribute__((always_inline)) void
xw_count_request(struct xw_call call, enum xw_class class, enum xw_way way, int fd, int64_t offset, uint64_t bytes)
{
    struct xw_thread_block *block = xw_block_of(call);
    if (XW_UNLIKELY(!block))
        return;
    struct xw_access *access = &block->access[class][way];
    const unsigned direction = way & 1;
    if (XW_UNLIKELY(xw_is_shared(block))) {
        xw_count_request_shared(access, class, fd, direction, offset, bytes);
        return;
    }
    xw_add(&access->sizes[xw_size_bucket(bytes)], 1);
    if ((unsigned)class >= XW_CLASSES_WITH_POSITIONS || !bytes || XW_UNLIKELY((unsigned)fd >= XW_ACCESS_FDS))
        return;
    struct xw_descriptor *descriptor = &xw_process->descriptor[fd];
    struct xw_direction *last = &descriptor->direction[direction];
    const int64_t begin = offset < 0 ? descriptor->position : offset;
    if (XW_UNLIKELY(begin + 1 != last->next)) {
        xw_count_step(access, 0, fd, direction, offset, bytes);
        return;
    }
    xw_add(&access->steps[XW_STEP_NEXT], 1);
    last->begin = begin;
    last->next = begin + 1 + (int64_t)bytes;
    if (offset < 0)
        descriptor->position = begin + (int64_t)bytes;
}

/* Where a call began that moves `*offset` on, given what it returned. */
static inline int64_t xw_offset_before(const int64_t *offset, int64_t result)
{
    return offset && result > 0 ? *offset - result : XW_NO_OFFSET;
}

/* The position of a descriptor or stream is `position` now (negative: the call failed). */
static inline void xw_position_is(int fd, int64_t position)
{
    struct xw_descriptor *descriptor = xw_descriptor(fd);
    if (descriptor && position >= 0)
        descriptor->position = position;
}

/* fseek of a stream, if it succeeded. */
void xw_stream_sought(FILE *stream, int result, int64_t offset, int whence) XW_HIDDEN;
/* The position of a stream is what the structure says, if the call succeeded. */
void xw_stream_position_is(FILE *stream, int result, const fpos_t *position) XW_HIDDEN;

/* The descriptor was opened, with these flags. */
void xw_access_opened(int fd, int flags) XW_HIDDEN;
/* The descriptor is another one now, or none. */
void xw_access_forget(int fd) XW_HIDDEN;
/* It is open on this file (a file word without the bits of directions). */
void xw_access_file_is(int fd, uint64_t file) XW_HIDDEN;

#endif
