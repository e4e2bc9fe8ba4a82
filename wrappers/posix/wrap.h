/*
 * What every wrapper of this folder is made of: its real function, libc's errno, the amount of bytes. The generated
 * wrappers (generate.py) and those by hand (special.c) have one shape:
 *
 *     static __typeof__(read) *real_read;
 *     XW_EXPORT ssize_t read(int fd, void *buf, size_t n)
 *     {
 *         if (XW_UNLIKELY(!XW_REAL(real_read, "read")))
 *             return xw_libc_result(xw_syscall(SYS_read, fd, buf, n));
 *         const unsigned group = XW_G_POSIX(xw_class_of_fd(fd), XW_OP_POSIX_READ);
 *         const struct xw_call call = xw_enter_posix(XW_F_read, group);
 *         ssize_t result = real_read(fd, buf, n);
 *         xw_leave(call, XW_F_read, group, 0, xw_positive(result));
 *         return result;
 *     }
 */
#ifndef XW_WRAP_H
#define XW_WRAP_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "access.h"
#include "counters.h"
#include "file_class.h"
#include "init.h"
#include "stream.h"

#pragma weak __errno_location

/* errno, as far as the caller has a place for it. */
static inline int xw_errno(void) { return xw_tls_usable(xw_tls_self_offset) && __errno_location ? errno : 0; }
static inline void xw_set_errno(int value)
{
    if (xw_tls_usable(xw_tls_self_offset) && __errno_location)
        errno = value;
}

/* The result of a raw system call as libc gives it. */
static inline long xw_libc_result(long result)
{
    if (!xw_failed(result))
        return result;
    xw_set_errno((int)-result);
    return -1;
}

/*
 * The real function behind a wrapper, looked up once: true when there is one. Relaxed is enough: whoever looks finds
 * the same, and code is not published through it.
 */
#define XW_REAL(pointer, symbol)                                                                                       \
    (XW_LIKELY(__atomic_load_n(&(pointer), __ATOMIC_RELAXED) != NULL) || xw_resolve((void **)&(pointer), symbol))
int xw_resolve(void **pointer, const char *symbol) XW_HIDDEN;

static inline uint64_t xw_positive(int64_t result) { return result > 0 ? (uint64_t)result : 0; }

/* The bytes of the first `n` messages (n < 0: of none). */
static inline uint64_t xw_message_bytes(const struct mmsghdr *messages, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += messages[i].msg_len;
    return bytes;
}

/* Into another group than that of the running call, as part of it. */
void xw_count_in_group(struct xw_call call, unsigned group, uint64_t calls, uint64_t out, uint64_t in) XW_HIDDEN;
/* Bytes that went through another function and group than the running call's, in so many calls; none without bytes. */
void xw_count_apart(struct xw_call call, unsigned function, unsigned group, uint64_t calls, uint64_t out,
                    uint64_t in) XW_HIDDEN;
/* The reading side of a call that moves bytes from one descriptor to another; its writing side goes through xw_leave.
 */
void xw_count_moved_from(struct xw_call call, int in_fd, int64_t offset, uint64_t bytes) XW_HIDDEN;

#endif
