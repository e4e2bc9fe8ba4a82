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

static void add(const struct xw_thread_block *block, struct xw_quad *quad, uint64_t calls, uint64_t out, uint64_t in)
{
    if (XW_UNLIKELY(xw_is_shared(block))) {
        __atomic_fetch_add(&quad->calls, calls, __ATOMIC_RELAXED);
        __atomic_fetch_add(&quad->bytes_out, out, __ATOMIC_RELAXED);
        __atomic_fetch_add(&quad->bytes_in, in, __ATOMIC_RELAXED);
    } else {
        xw_add_quad(quad, calls, out, in, 0);
    }
}

void xw_count_in_group(struct xw_call call, unsigned group, uint64_t calls, uint64_t out, uint64_t in)
{
    struct xw_thread_block *block = xw_block_of(call);
    if (!block)
        return;
    add(block, &block->group[group], calls, out, in);
    if (!xw_is_shared(block))
        xw_count_inside(block, calls, 0); /* to a segment it is one call */
}

void xw_count_apart(struct xw_call call, unsigned function, unsigned group, uint64_t calls, uint64_t out, uint64_t in)
{
    struct xw_thread_block *block = out | in ? xw_block_of(call) : NULL;
    if (!block)
        return;
    add(block, &block->group[group], calls, out, in);
    add(block, &block->function[function], calls, out, in);
    if (!xw_is_shared(block))
        xw_count_inside(block, calls, call.owns_time ? 0 : out + in);
}

void xw_count_moved_from(struct xw_call call, int in_fd, int64_t offset, uint64_t bytes)
{
    if (!bytes)
        return;
    const enum xw_class class = xw_class_of_fd(in_fd);
    xw_count_in_group(call, XW_G_POSIX(class, XW_OP_POSIX_READ), 1, 0, bytes);
    xw_count_request(call, class, XW_WAY_POSIX_READ, in_fd, offset, bytes);
}
