/*
 * Calls that libc or the kernel refuses, or does to one thread only, while there is a second thread that libc does not
 * know: the helper is gone while they run. These functions are not counted.
 *
 *     set*id, setgroups, capset    glibc makes all of its threads change; the helper would keep the old rights
 *     unshare, setns               fail with EINVAL in a process of several threads
 *     some options of prctl        change the calling thread only
 *     seccomp, PR_SET_NO_NEW_PRIVS a filter may kill the process for any system call of ours: none is made any more
 *     seccomp strict, PR_SET_TSC   take the cycle counter away, reading it is fatal: nothing is counted any more
 */
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "heartbeat.h"
#include "posix/wrap.h"

/* The one shape: `parameters` are declared, `arguments` passed on; `stand_in` is used without a real function. */
#define GUARDED(name, parameters, arguments, stand_in)                                                                 \
    int name parameters;                                                                                               \
    XW_EXPORT int name parameters                                                                                      \
    {                                                                                                                  \
        static int(*real) parameters;                                                                                  \
        int found = XW_REAL(real, #name);                                                                              \
        xw_heartbeat_inhibit();                                                                                        \
        int result = found ? real arguments : (int)(stand_in);                                                         \
        xw_heartbeat_allow();                                                                                          \
        return result;                                                                                                 \
    }

#define RAW(...) xw_libc_result(xw_syscall(__VA_ARGS__))

/* glibc's set*id reach all threads, a raw system call only one. */
static int refused(void)
{
    xw_set_errno(ENOSYS);
    return -1;
}

GUARDED(setuid, (uid_t uid), (uid), refused())
GUARDED(setgid, (gid_t gid), (gid), refused())
GUARDED(seteuid, (uid_t uid), (uid), refused())
GUARDED(setegid, (gid_t gid), (gid), refused())
GUARDED(setreuid, (uid_t real_uid, uid_t effective), (real_uid, effective), refused())
GUARDED(setregid, (gid_t real_gid, gid_t effective), (real_gid, effective), refused())
GUARDED(setresuid, (uid_t real_uid, uid_t effective, uid_t saved), (real_uid, effective, saved), refused())
GUARDED(setresgid, (gid_t real_gid, gid_t effective, gid_t saved), (real_gid, effective, saved), refused())
GUARDED(setfsuid, (uid_t uid), (uid), RAW(SYS_setfsuid, uid))
GUARDED(setfsgid, (gid_t gid), (gid), RAW(SYS_setfsgid, gid))
GUARDED(setgroups, (size_t n, const gid_t *groups), (n, groups), refused())
GUARDED(initgroups, (const char *user, gid_t group), (user, group), refused())
GUARDED(capset, (void *header, const void *data), (header, data), RAW(SYS_capset, header, data))
GUARDED(unshare, (int flags), (flags), RAW(SYS_unshare, flags))
GUARDED(setns, (int fd, int type), (fd, type), RAW(SYS_setns, fd, type))

/* --- prctl --- */

static __typeof__(prctl) *real_prctl;

static int call_prctl(int option, const unsigned long a[4])
{
    if (XW_REAL(real_prctl, "prctl"))
        return real_prctl(option, a[0], a[1], a[2], a[3]);
    return (int)RAW(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static int is_of_one_thread(int option)
{
    return option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT || option == PR_SET_SECUREBITS ||
           option == PR_SET_KEEPCAPS;
}

/* Calls that can only be survived without another system call of ours, or without reading the cycle counter either.
   Giving up new privileges is the step before a filter, which libseccomp installs by syscall(), unseen by us. */
static int is_sealing(int option, unsigned long value)
{
    return option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS ||
           (option == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

static int forbids_cycle_counter(int option, unsigned long value)
{
    return option == PR_SET_TSC || (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT);
}

/* No thread's block belongs to the changed generation, and in a sealed process none gets one that does. */
static void toggle_counting(void)
{
    if (xw_hot.generation)
        xw_hot.generation ^= 1ull << 63;
}

static int seal(int option, const unsigned long a[4])
{
    const int stops_counting = forbids_cycle_counter(option, a[0]);
    xw_heartbeat_forbid();
    if (stops_counting)
        toggle_counting();
    int result = call_prctl(option, a);
    if (result == 0)
        return 0;
    if (stops_counting)
        toggle_counting();
    xw_heartbeat_permit();
    return result;
}

XW_EXPORT int prctl(int option, ...)
{
    unsigned long a[4];
    va_list arguments;
    va_start(arguments, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);

    if (is_sealing(option, a[0]))
        return seal(option, a);
    if (!is_of_one_thread(option))
        return call_prctl(option, a);
    xw_heartbeat_inhibit();
    int result = call_prctl(option, a);
    xw_heartbeat_allow();
    return result;
}
