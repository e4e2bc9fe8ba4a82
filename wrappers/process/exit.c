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
