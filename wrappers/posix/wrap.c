#include "wrap.h"

/* dlsym needs thread-local storage; a caller that has none gets the raw system call instead (counters.h). */
int xw_resolve(void **pointer, const char *symbol)
{
    if (!xw_tls_usable(xw_tls_self_offset))
        return 0;
    int saved = xw_errno();
    void *real = xw_next(symbol);
    xw_set_errno(saved);
    if (real)
        __atomic_store_n(pointer, real, __ATOMIC_RELAXED);
    return real != NULL;
}

void xw_count_moved_from(struct xw_call call, int in_fd, uint64_t bytes)
{
    if (!call.block || !call.outermost || !bytes)
        return;
    struct xw_quad *quad = &call.block->group[XW_G_POSIX(xw_class_of_fd(in_fd), XW_OP_POSIX_READ)];
    if (XW_UNLIKELY(xw_is_shared(call.block))) {
        __atomic_fetch_add(&quad->calls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&quad->bytes_in, bytes, __ATOMIC_RELAXED);
    } else {
        xw_add_quad(quad, 1, 0, bytes, 0);
    }
}
