/*
 * The class of a file: on what kind of storage a descriptor, a stream or a name lies (enum xw_class, metric_table.h).
 *
 * A descriptor is classed at its first use and remembered in a fixed table: one byte per descriptor, so a wrapper pays
 * one load. Everything that makes or closes a descriptor only forgets the entry. That is right for any order of events,
 * also for a vfork child, which shares the table: forgetting too much costs one look, remembering wrongly would
 * miscount.
 *
 * A name is classed by the directory that holds it, before the call, because the file need not exist yet. Directories
 * are remembered by a hash of their name.
 *
 * Nothing here touches errno or thread-local storage, so it may run anywhere, and no system call is made once the
 * process is sealed (seccomp): what is unknown then is XW_CLASS_OTHER.
 */
#ifndef XW_FILE_CLASS_H
#define XW_FILE_CLASS_H

#include "access.h"
#include "metric_table.h"
#include "os.h"

#define XW_CLASS_FDS 65536u /* descriptors from here on are looked at in each call */

extern uint8_t xw_fd_class[XW_CLASS_FDS] XW_HIDDEN; /* 1 + class; 0: not known */

/* Ask the kernel, and remember. */
enum xw_class xw_class_look(int fd) XW_HIDDEN;
/* Ask the kernel which file it is, as a file word (file_table.h); 0: not a regular one, or not known. */
uint64_t xw_file_of_fd(int fd) XW_HIDDEN;

static inline enum xw_class xw_class_of_fd(int fd)
{
    if (XW_LIKELY((unsigned)fd < XW_CLASS_FDS)) {
        uint8_t known = __atomic_load_n(&xw_fd_class[fd], __ATOMIC_RELAXED);
        if (XW_LIKELY(known))
            return (enum xw_class)(known - 1);
    }
    return xw_class_look(fd);
}

/* `fd` was opened or closed, or the call that should have done so failed (fd < 0). */
static inline void xw_class_forget(int fd)
{
    if ((unsigned)fd < XW_CLASS_FDS)
        __atomic_store_n(&xw_fd_class[fd], 0, __ATOMIC_RELAXED);
    xw_access_forget(fd);
}

void xw_class_forget_range(unsigned first, unsigned last) XW_HIDDEN;
/* Two new descriptors, if `result` says so. */
void xw_class_forget_pair(const int fds[2], int result) XW_HIDDEN;
/* The working directory has changed: relative names mean something else. */
void xw_class_forget_cwd(void) XW_HIDDEN;

/* `path` may be any pointer, a bad one too: that is the kernel's to complain about. */
enum xw_class xw_class_of_path(const char *path) XW_HIDDEN;
enum xw_class xw_class_of_path_at(int dirfd, const char *path) XW_HIDDEN;

/* The class of a file system by its f_type of statfs. */
enum xw_class xw_class_of_magic(uint64_t f_type) XW_HIDDEN;

#endif
