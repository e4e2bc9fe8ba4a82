/*
 * New processes and threads. The helper takes one of the tasks that a limit allows (RLIMIT_NPROC, the pids cgroup):
 * where the program is refused one, ours is given back and the call repeated once. These functions are not counted;
 * vfork and syscall are not wrapped at all, because each alone breaks programs.
 */
#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

#include "heartbeat.h"
#include "posix/wrap.h"

extern const char *Py_GetVersion(void) __attribute__((weak));

/* --- fork --- */

/* "3.12.1 (main, ...)" -> 312 */
static int python_version(const char *text)
{
    int major = 0, minor = 0;
    while (*text >= '0' && *text <= '9')
        major = 10 * major + *text++ - '0';
    if (*text++ != '.')
        return 0;
    while (*text >= '0' && *text <= '9')
        minor = 10 * minor + *text++ - '0';
    return 100 * major + minor;
}

/* Python counts the threads of the process after a fork and warns if there is more than one, from 3.12 on. */
static int warns_of_threads(void)
{
    static int known; /* 1: no, 2: yes */
    if (!known) {
        const char *(*version)(void) = Py_GetVersion ? Py_GetVersion : (__typeof__(version))xw_next("Py_GetVersion");
        known = version && python_version(version()) >= 312 ? 2 : 1;
    }
    return known == 2;
}

static __typeof__(fork) *real_fork;

static pid_t call_fork(void)
{
    if (XW_REAL(real_fork, "fork"))
        return real_fork();
    xw_set_errno(ENOSYS);
    return -1;
}

XW_EXPORT pid_t fork(void)
{
    int stopped = xw_heartbeat_runs() && warns_of_threads();
    if (stopped)
        xw_heartbeat_inhibit();
    pid_t child = call_fork();
    if (child < 0 && xw_errno() == EAGAIN && xw_heartbeat_give_back())
        child = call_fork();
    if (stopped && child != 0) /* the child has no helper, and no inhibition either */
        xw_heartbeat_allow();
    return child;
}

/* --- threads and programs --- */

XW_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                             void *argument)
{
    static __typeof__(pthread_create) *real;
    if (!XW_REAL(real, "pthread_create"))
        return ENOSYS;
    int result = real(thread, attributes, start, argument);
    if (result == EAGAIN && xw_heartbeat_give_back())
        result = real(thread, attributes, start, argument);
    return result;
}

#define SPAWN(name)                                                                                                    \
    XW_EXPORT int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,                        \
                       const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])        \
    {                                                                                                                  \
        static __typeof__(name) *real;                                                                                 \
        if (!XW_REAL(real, #name))                                                                                     \
            return ENOSYS;                                                                                             \
        int result = real(pid, path, actions, attributes, arguments, environment);                                     \
        if (result == EAGAIN && xw_heartbeat_give_back())                                                              \
            result = real(pid, path, actions, attributes, arguments, environment);                                     \
        return result;                                                                                                 \
    }

SPAWN(posix_spawn)
SPAWN(posix_spawnp)
