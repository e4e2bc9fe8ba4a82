/*
 * longjmp out of a wrapped call, usually from a signal handler that ends a read(): the call will never return, so it
 * must not look as if it were still running, neither to the heartbeat nor to later calls further in on the stack.
 */
#include <setjmp.h>

#include "posix/wrap.h"

static void abandon_running_calls(void)
{
    if (!xw_tls_usable(xw_tls_self_offset) || !xw_thread.outermost)
        return;
    xw_thread.outermost = xw_thread.inner = 0;
    if (xw_has_own_block())
        __atomic_store_n(&xw_thread.block->head.call_group, 0, __ATOMIC_RELEASE);
}

#define JUMP(name)                                                                                                     \
    __attribute__((noreturn)) void name(struct __jmp_buf_tag target[1], int value);                                    \
    static __attribute__((noreturn)) void (*real_##name)(struct __jmp_buf_tag *, int);                                 \
    XW_EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag target[1], int value)                           \
    {                                                                                                                  \
        abandon_running_calls();                                                                                       \
        if (XW_REAL(real_##name, #name))                                                                               \
            real_##name(target, value);                                                                                \
        __builtin_trap(); /* a program that can call it has it: found by look_up_early */                              \
    }

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* Called from signal handlers, where a look-up is not safe. */
__attribute__((constructor)) static void look_up_early(void)
{
    xw_resolve((void **)&real_longjmp, "longjmp");
    xw_resolve((void **)&real__longjmp, "_longjmp");
    xw_resolve((void **)&real_siglongjmp, "siglongjmp");
    xw_resolve((void **)&real___longjmp_chk, "__longjmp_chk");
}
