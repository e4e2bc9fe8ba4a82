/*
 * POSIX asynchronous I/O, as far as no row of functions.toml can say it. glibc moves the bytes in threads of its own by
 * calls that nobody sees. Requests count where they are made; their bytes where the program takes the result, which it
 * does once for each: aio_return. A program that never takes them is not charged for them.
 */
#include <aio.h>

#include "wrap.h"

/* Only glibc notes in a request what it asks for, with a bit of its own for the 64-bit forms. */
static int opcode(const struct aiocb *request) { return xw_is_glibc() ? request->aio_lio_opcode & 127 : LIO_NOP; }

static enum xw_class class_of(const struct aiocb *request) { return xw_class_of_fd(request->aio_fildes); }

/* The class of the first request in a list that may hold NULLs. */
static enum xw_class class_of_list(const struct aiocb *const list[], int n)
{
    for (int i = 0; i < n; i++)
        if (list[i])
            return class_of(list[i]);
    return XW_CLASS_OTHER;
}

static int refused(void)
{
    xw_set_errno(ENOSYS);
    return -1;
}

#define AIO_RETURN(name, type)                                                                                         \
    static __typeof__(name) *real_##name;                                                                              \
    XW_EXPORT ssize_t name(struct type *request)                                                                       \
    {                                                                                                                  \
        if (XW_UNLIKELY(!XW_REAL(real_##name, #name)))                                                                 \
            return refused();                                                                                          \
        const int what = opcode((const struct aiocb *)request);                                                        \
        const enum xw_class class = class_of((const struct aiocb *)request);                                           \
        const unsigned group = XW_G_POSIX(class, XW_OP_POSIX_LOCAL);                                                   \
        const struct xw_call call = xw_enter_posix(XW_F_aio_return, group);                                            \
        ssize_t result = real_##name(request);                                                                         \
        if (what == LIO_READ)                                                                                          \
            xw_count_apart(call, XW_F_aio_return, XW_G_POSIX(class, XW_OP_POSIX_READ), 0, 0, xw_positive(result));     \
        else if (what == LIO_WRITE)                                                                                    \
            xw_count_apart(call, XW_F_aio_return, XW_G_POSIX(class, XW_OP_POSIX_WRITE), 0, xw_positive(result), 0);    \
        xw_leave(call, XW_F_aio_return, group, 0, 0);                                                                  \
        return result;                                                                                                 \
    }

AIO_RETURN(aio_return, aiocb)
AIO_RETURN(aio_return64, aiocb64)

#define AIO_SUSPEND(name, type)                                                                                        \
    static __typeof__(name) *real_##name;                                                                              \
    XW_EXPORT int name(const struct type *const list[], int n, const struct timespec *timeout)                         \
    {                                                                                                                  \
        if (XW_UNLIKELY(!XW_REAL(real_##name, #name)))                                                                 \
            return refused();                                                                                          \
        const enum xw_class class = class_of_list((const struct aiocb *const *)list, n);                               \
        const unsigned group = XW_G_POSIX(class, XW_OP_POSIX_LOCAL);                                                   \
        const struct xw_call call = xw_enter_posix(XW_F_aio_suspend, group);                                           \
        int result = real_##name(list, n, timeout);                                                                    \
        xw_leave(call, XW_F_aio_suspend, group, 0, 0);                                                                 \
        return result;                                                                                                 \
    }

AIO_SUSPEND(aio_suspend, aiocb)
AIO_SUSPEND(aio_suspend64, aiocb64)

/* Each request of a list counts as a read or a write. Before they are made: a request is the program's again once it is
 * done, and what it is told by (SIGEV_THREAD) may free it while lio_listio still runs. */
static void count_requests(struct xw_call call, const struct aiocb *const list[], int n)
{
    for (int i = 0; i < n; i++) {
        if (!list[i] || list[i]->aio_lio_opcode == LIO_NOP)
            continue;
        const int writes = (list[i]->aio_lio_opcode & 127) == LIO_WRITE;
        const enum xw_op op = writes ? XW_OP_POSIX_WRITE : XW_OP_POSIX_READ;
        xw_count_in_group(call, XW_G_POSIX(class_of(list[i]), op), 1, 0, 0);
    }
}

#define LIO_LISTIO(name, type)                                                                                         \
    static __typeof__(name) *real_##name;                                                                              \
    XW_EXPORT int name(int mode, struct type *const list[], int n, struct sigevent *event)                             \
    {                                                                                                                  \
        if (XW_UNLIKELY(!XW_REAL(real_##name, #name)))                                                                 \
            return refused();                                                                                          \
        const struct aiocb *const *requests = (const struct aiocb *const *)list;                                       \
        const unsigned group = XW_G_POSIX(class_of_list(requests, n), XW_OP_POSIX_LOCAL);                              \
        const struct xw_call call = xw_enter_posix(XW_F_lio_listio, group);                                            \
        count_requests(call, requests, n);                                                                             \
        int result = real_##name(mode, list, n, event);                                                                \
        xw_leave(call, XW_F_lio_listio, group, 0, 0);                                                                  \
        return result;                                                                                                 \
    }

LIO_LISTIO(lio_listio, aiocb)
LIO_LISTIO(lio_listio64, aiocb64)

/* aio_return and aio_suspend may be called from signal handlers, where a look-up is not safe. */
__attribute__((constructor)) static void look_up_early(void)
{
    (void)XW_REAL(real_aio_return, "aio_return");
    (void)XW_REAL(real_aio_return64, "aio_return64");
    (void)XW_REAL(real_aio_suspend, "aio_suspend");
    (void)XW_REAL(real_aio_suspend64, "aio_suspend64");
}
