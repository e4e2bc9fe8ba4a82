#include "access.h"

#include <fcntl.h>

#include "file_class.h"
#include "init.h"
#include "stream.h"

#define FAR ((int64_t)1 << 62) /* behind everything: where SEEK_END leads, as far as anyone knows */

/* --- descriptors --- */

void xw_access_forget(int fd)
{
    struct xw_descriptor *descriptor = xw_descriptor(fd);
    /* Untouched pages stay untouched. An entry with a direction has a bit for it in its file word. */
    if (descriptor && (descriptor->file || descriptor->position))
        *descriptor = (struct xw_descriptor){0};
}

void xw_access_opened(int fd, int flags)
{
    struct xw_descriptor *descriptor = xw_descriptor(fd);
    if (descriptor && flags & O_APPEND)
        descriptor->file |= XW_FILE_APPENDS;
}

void xw_access_file_is(int fd, uint64_t file)
{
    struct xw_descriptor *descriptor = xw_descriptor(fd);
    if (descriptor)
        descriptor->file |= file;
}

/* The first request in a direction: which file is it? */
static void note_file(struct xw_descriptor *descriptor, int fd, unsigned direction)
{
    if (!xw_file_is_known(descriptor->file))
        descriptor->file |= xw_file_of_fd(fd);
    descriptor->file |= direction ? XW_FILE_WRITTEN : XW_FILE_READ;
    if (xw_file_is_known(descriptor->file) && !xw_files_note(xw_process->files, descriptor->file))
        xw_count_lost(XW_LOST_FILES);
}

/* --- steps --- */

static void add_one(uint64_t *word, int shared)
{
    if (shared)
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
    else
        xw_add_to_own(word, 1);
}

/* How the request relates to the last one; sets `strided`. */
static enum xw_step step_of(struct xw_direction *last, int64_t begin, int *strided)
{
    if (begin + 1 == last->next)
        return XW_STEP_NEXT;
    const int64_t jump = begin - last->begin;
    *strided = jump && jump == last->jump;
    last->jump = jump;
    return begin + 1 < last->next ? XW_STEP_BACK : XW_STEP_AHEAD;
}

void xw_count_step(struct xw_access *access, int shared, int fd, unsigned direction, int64_t offset, uint64_t bytes)
{
    struct xw_descriptor *descriptor = &xw_process->descriptor[fd];
    struct xw_direction *last = &descriptor->direction[direction];
    const int appends = direction && descriptor->file & XW_FILE_APPENDS; /* the kernel writes at the end, in any case */
    enum xw_step step = XW_STEP_FIRST;
    int64_t begin = offset < 0 ? descriptor->position : offset;
    int strided = 0;
    if (!last->next) {
        note_file(descriptor, fd, direction);
        last->jump = 0;
    } else {
        begin = appends ? last->next - 1 : begin;
        step = step_of(last, begin, &strided);
    }
    add_one(&access->steps[step], shared);
    if (strided)
        add_one(&access->steps[XW_STEP_STRIDED], shared);
    last->begin = begin;
    last->next = begin + 1 + (int64_t)bytes;
    if (offset < 0)
        descriptor->position = begin + (int64_t)bytes;
}

void xw_count_request_shared(struct xw_access *access, enum xw_class class, int fd, unsigned direction, int64_t offset,
                             uint64_t bytes)
{
    add_one(&access->sizes[xw_size_bucket(bytes)], 1);
    if ((unsigned)class < XW_CLASSES_WITH_POSITIONS && bytes && (unsigned)fd < XW_ACCESS_FDS)
        xw_count_step(access, 1, fd, direction, offset, bytes);
}

/* --- streams --- */

void xw_stream_sought(FILE *stream, int result, int64_t offset, int whence)
{
    const int fd = xw_stream_fd(stream);
    const struct xw_descriptor *descriptor = xw_descriptor(fd);
    if (!descriptor || result != 0)
        return;
    if (whence == SEEK_CUR)
        offset += descriptor->position;
    xw_position_is(fd, whence == SEEK_END ? FAR : offset);
}

void xw_stream_position_is(FILE *stream, int result, const fpos_t *position)
{
    if (result == 0 && xw_is_glibc())
        xw_position_is(xw_stream_fd(stream), position->__pos);
}
