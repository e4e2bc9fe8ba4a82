#include "write_signals.h"

#include <signal.h>
#include <sys/resource.h>

#define BIT(signal) (1ull << ((signal)-1))
static const uint64_t held = BIT(SIGXFSZ) | BIT(SIGPIPE) | BIT(SIGTTOU);

struct xw_write_signals xw_write_signals_hold(void)
{
    struct xw_write_signals before = {0, 0};
    xw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before.mask, sizeof before.mask);
    xw_syscall(SYS_rt_sigpending, &before.pending, sizeof before.pending);
    return before;
}

void xw_write_signals_release(const struct xw_write_signals *before)
{
    const uint64_t ours = (BIT(SIGXFSZ) | BIT(SIGPIPE)) & ~before->pending; /* those pending before are the program's */
    const int64_t at_once[2] = {0, 0};
    uint64_t pending = 0;
    xw_syscall(SYS_rt_sigpending, &pending, sizeof pending);
    if (pending & ours)
        xw_syscall(SYS_rt_sigtimedwait, &ours, 0, at_once, sizeof ours);
    xw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before->mask, 0, sizeof before->mask);
}

int xw_file_limit_allows(uint64_t size)
{
    uint64_t limit[2]; /* now, most */
    return xw_failed(xw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, limit)) || size <= limit[0];
}
