/*
 * What no row of functions.toml can say: functions with an argument that is there only sometimes, open and fcntl.
 * An open that may create the file counts as creat.
 */
#include "wrap.h"

#include <fcntl.h>
#include <stdarg.h>

#define CREATES(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)

#define TAKE_MODE(mode, flags)                                                                                         \
    mode_t mode = 0;                                                                                                   \
    if (CREATES(flags)) {                                                                                              \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

/* The one body of all of them. `arguments` are those of the real function, in parentheses. */
#define COUNTED_OPEN(name, plain, dirfd, path, flags, mode, arguments)                                                 \
    if (XW_UNLIKELY(!XW_REAL(real_##name, #name)))                                                                     \
        return (int)xw_libc_result(xw_syscall(SYS_openat, dirfd, path, flags, mode));                                  \
    const unsigned function = CREATES(flags) ? XW_F_creat : plain;                                                     \
    const unsigned group = XW_G_POSIX(xw_class_of_path_at(dirfd, path), XW_OP_POSIX_META);                             \
    const struct xw_call call = xw_enter_posix(function, group);                                                       \
    int result = real_##name arguments;                                                                                \
    xw_class_forget(result);                                                                                           \
    xw_access_opened(result, flags);                                                                                   \
    xw_leave(call, function, group, 0, 0);                                                                             \
    return result;

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...);                                                                        \
    static int (*real_##name)(const char *, int, ...);                                                                 \
    XW_EXPORT int name(const char *path, int flags, ...)                                                               \
    {                                                                                                                  \
        TAKE_MODE(mode, flags)                                                                                         \
        COUNTED_OPEN(name, XW_F_open, AT_FDCWD, path, flags, mode, (path, flags, mode))                                \
    }

#define OPENAT(name)                                                                                                   \
    int name(int dirfd, const char *path, int flags, ...);                                                             \
    static int (*real_##name)(int, const char *, int, ...);                                                            \
    XW_EXPORT int name(int dirfd, const char *path, int flags, ...)                                                    \
    {                                                                                                                  \
        TAKE_MODE(mode, flags)                                                                                         \
        COUNTED_OPEN(name, XW_F_openat, dirfd, path, flags, mode, (dirfd, path, flags, mode))                          \
    }

/* The forms that fortified programs call when there is no mode. */
#define OPEN_2(name)                                                                                                   \
    int name(const char *path, int flags);                                                                             \
    static int (*real_##name)(const char *, int);                                                                      \
    XW_EXPORT int name(const char *path, int flags)                                                                    \
    {                                                                                                                  \
        COUNTED_OPEN(name, XW_F_open, AT_FDCWD, path, flags, 0, (path, flags))                                         \
    }

#define OPENAT_2(name)                                                                                                 \
    int name(int dirfd, const char *path, int flags);                                                                  \
    static int (*real_##name)(int, const char *, int);                                                                 \
    XW_EXPORT int name(int dirfd, const char *path, int flags)                                                         \
    {                                                                                                                  \
        COUNTED_OPEN(name, XW_F_openat, dirfd, path, flags, 0, (dirfd, path, flags))                                   \
    }

OPEN(open)
OPEN(__open)
OPEN(open64)
OPEN(__open64)
OPEN_2(__open_2)
OPEN_2(__open64_2)
OPENAT(openat)
OPENAT(openat64)
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

/* --- fcntl --- */

static int is_lock(int command)
{
    return command == F_GETLK || command == F_SETLK || command == F_SETLKW || command == F_OFD_GETLK ||
           command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLEASE;
}

/* The third argument, where there is one, fills one register, whatever its type. */
#define FCNTL(name)                                                                                                    \
    int name(int fd, int command, ...);                                                                                \
    static int (*real_##name)(int, int, ...);                                                                          \
    XW_EXPORT int name(int fd, int command, ...)                                                                       \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, command);                                                                                  \
        void *argument = va_arg(arguments, void *);                                                                    \
        va_end(arguments);                                                                                             \
        if (XW_UNLIKELY(!XW_REAL(real_##name, #name)))                                                                 \
            return (int)xw_libc_result(xw_syscall(SYS_fcntl, fd, command, argument));                                  \
        const enum xw_op op = is_lock(command) ? XW_OP_POSIX_META : XW_OP_POSIX_LOCAL;                                 \
        const unsigned group = XW_G_POSIX(xw_class_of_fd(fd), op);                                                     \
        const struct xw_call call = xw_enter_posix(XW_F_fcntl, group);                                                 \
        int result = real_##name(fd, command, argument);                                                               \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)                                                          \
            xw_class_forget(result);                                                                                   \
        xw_leave(call, XW_F_fcntl, group, 0, 0);                                                                       \
        return result;                                                                                                 \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)

/* Called from signal handlers and children of vfork, where a look-up is not safe. */
__attribute__((constructor)) static void look_up_early(void)
{
    (void)XW_REAL(real_open, "open");
    (void)XW_REAL(real_open64, "open64");
    (void)XW_REAL(real_fcntl, "fcntl");
    (void)XW_REAL(real_fcntl64, "fcntl64");
}
