/*
 * What no row of functions.toml can say: the open family, whose mode is there only when the flags ask for it.
 */
#include "wrap.h"

#include <fcntl.h>
#include <stdarg.h>

#define NEEDS_MODE(flags) (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE)

#define TAKE_MODE(mode, flags) \
    mode_t mode = 0;           \
    if (NEEDS_MODE(flags)) {   \
        va_list arguments;     \
        va_start(arguments, flags); \
        mode = va_arg(arguments, mode_t); \
        va_end(arguments);     \
    }

/* The one body of all of them; `call_real` is the call of the real function, which is there if `found`. */
#define COUNTED_OPEN(function, dirfd, path, found, call_real, flags, mode)                              \
    if (XW_UNLIKELY(!(found)))                                                                           \
        return (int)xw_libc_result(xw_syscall(SYS_openat, dirfd, path, flags, mode));                    \
    const unsigned group = XW_G_POSIX(xw_class_of_path_at(dirfd, path), XW_OP_POSIX_META);               \
    const struct xw_call call = xw_enter_posix(function, group);                                         \
    int result = call_real;                                                                              \
    xw_class_forget(result);                                                                             \
    xw_leave(call, function, group, 0, 0);                                                               \
    return result;

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...);                                                                        \
    static int (*real_##name)(const char *, int, ...);                                                                 \
    XW_EXPORT int name(const char *path, int flags, ...)                                                               \
    {                                                                                                                  \
        TAKE_MODE(mode, flags)                                                                                         \
        COUNTED_OPEN(XW_F_open, AT_FDCWD, path, XW_REAL(real_##name, #name), real_##name(path, flags, mode), flags, mode) \
    }

#define OPENAT(name)                                                                                                   \
    int name(int dirfd, const char *path, int flags, ...);                                                             \
    static int (*real_##name)(int, const char *, int, ...);                                                            \
    XW_EXPORT int name(int dirfd, const char *path, int flags, ...)                                                    \
    {                                                                                                                  \
        TAKE_MODE(mode, flags)                                                                                         \
        COUNTED_OPEN(XW_F_openat, dirfd, path, XW_REAL(real_##name, #name), real_##name(dirfd, path, flags, mode), flags, mode) \
    }

/* The forms that fortified programs call when there is no mode. */
#define OPEN_2(name)                                                                                                   \
    int name(const char *path, int flags);                                                                             \
    static int (*real_##name)(const char *, int);                                                                      \
    XW_EXPORT int name(const char *path, int flags)                                                                    \
    {                                                                                                                  \
        COUNTED_OPEN(XW_F_open, AT_FDCWD, path, XW_REAL(real_##name, #name), real_##name(path, flags), flags, 0)       \
    }

#define OPENAT_2(name)                                                                                                 \
    int name(int dirfd, const char *path, int flags);                                                                  \
    static int (*real_##name)(int, const char *, int);                                                                 \
    XW_EXPORT int name(int dirfd, const char *path, int flags)                                                         \
    {                                                                                                                  \
        COUNTED_OPEN(XW_F_openat, dirfd, path, XW_REAL(real_##name, #name), real_##name(dirfd, path, flags), flags, 0) \
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
