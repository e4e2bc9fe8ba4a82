/*
 * Ends that run no destructor: the last slice is closed and the spool file says how the process ended. A vfork child
 * ends this way too; xw_process_ends tells it from its parent, whose memory it shares, by the process id.
 */
#include <stdlib.h>
#include <unistd.h>

#include "posix/wrap.h"

static __typeof__(_exit) *real__exit;

static __attribute__((noreturn)) void end(int status)
{
    xw_process_ends(XW_STATE_EXITED);
    if (XW_REAL(real__exit, "_exit"))
        real__exit(status);
    for (;;)
        xw_syscall(SYS_exit_group, status);
}

XW_EXPORT void _exit(int status) { end(status); }
XW_EXPORT void _Exit(int status) { end(status); }

/* A child of vfork or a signal handler may be the first to end this way, where a look-up is not safe. */
__attribute__((constructor)) static void look_up_early(void) { (void)XW_REAL(real__exit, "_exit"); }

/*
 * quick_exit is not wrapped: it has two versions in glibc, which treat thread-local destructors differently, and what
 * its handlers do should still count. Ours is registered before the program's and so runs after them. It takes one of
 * 32 places that glibc has ready; with more it allocates. musl fails there instead, has no function of this name, and
 * is left alone.
 */
extern int __cxa_at_quick_exit(void (*handler)(void *), void *dso) __attribute__((weak));

static void at_quick_exit_last(void *unused)
{
    (void)unused;
    xw_process_ends(XW_STATE_EXITED);
}

__attribute__((constructor)) static void watch_quick_exit(void)
{
    if (__cxa_at_quick_exit)
        __cxa_at_quick_exit(at_quick_exit_last, NULL);
}
