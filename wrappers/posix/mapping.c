/*
 * Files mapped into memory: how often, how much, and how long msync takes. What is read and written through a mapping
 * needs no call, so nobody sees it here. Mappings without a file are the allocators' and are passed on untouched.
 *
 * Allocators call mmap before any constructor has run, and jemalloc does from within a look-up. So the real function is
 * looked up in the constructor only; until then the raw system call does the same. munmap and mremap are not wrapped:
 * they do not say which file they are about, and allocators call them often.
 */
#include <sys/mman.h>

#include "wrap.h"

/*
 * Where shared writable mappings lie and of which class their files are, for msync, which is given an address. The
 * newest take the place of the oldest. A reader that meets an entry being written takes it for another class, no more.
 */
enum { MAPPINGS = 64 };
static struct {
    uintptr_t begin, end;
    enum xw_class class;
} mappings[MAPPINGS];
static uint32_t mappings_made;

static void remember(uintptr_t begin, size_t length, enum xw_class class)
{
    unsigned i = __atomic_fetch_add(&mappings_made, 1, __ATOMIC_RELAXED) % MAPPINGS;
    __atomic_store_n(&mappings[i].end, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&mappings[i].class, class, __ATOMIC_RELAXED);
    __atomic_store_n(&mappings[i].begin, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&mappings[i].end, begin + length, __ATOMIC_RELEASE);
}

static enum xw_class class_of_address(uintptr_t address)
{
    uint32_t made = __atomic_load_n(&mappings_made, __ATOMIC_RELAXED);
    for (uint32_t back = 1; back <= MAPPINGS; back++) { /* newest first: addresses are used again */
        unsigned i = (made - back) % MAPPINGS;
        if (address < __atomic_load_n(&mappings[i].end, __ATOMIC_ACQUIRE) &&
            address >= __atomic_load_n(&mappings[i].begin, __ATOMIC_RELAXED))
            return __atomic_load_n(&mappings[i].class, __ATOMIC_RELAXED);
    }
    return XW_CLASS_OTHER;
}

/* --- the functions --- */

typedef void *mmap_function(void *, size_t, int, int, int, off_t);
static mmap_function *real_mmap, *real_mmap64;

static void *raw_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)xw_libc_result(xw_syscall(SYS_mmap, address, length, protection, flags, fd, offset));
}

static void *map_file(mmap_function *real, void *address, size_t length, int protection, int flags, int fd,
                      off_t offset)
{
    const enum xw_class class = xw_class_of_fd(fd);
    const unsigned group = XW_G_POSIX(class, XW_OP_POSIX_MAP);
    const struct xw_call call = xw_enter_posix(XW_F_mmap, group);
    void *result = real(address, length, protection, flags, fd, offset);
    if (result != MAP_FAILED) {
        xw_count_in_group(call, group, 0, 0, length);
        if ((flags & MAP_SHARED) && (protection & PROT_WRITE))
            remember((uintptr_t)result, length, class);
    }
    xw_leave(call, XW_F_mmap, group, 0, 0);
    return result;
}

#define MMAP(name)                                                                                                     \
    XW_EXPORT void *name(void *address, size_t length, int protection, int flags, int fd, off_t offset)                \
    {                                                                                                                  \
        mmap_function *real = __atomic_load_n(&real_##name, __ATOMIC_RELAXED);                                         \
        if (XW_UNLIKELY(!real))                                                                                        \
            real = raw_mmap;                                                                                           \
        if (XW_LIKELY((flags & MAP_ANONYMOUS) || fd < 0))                                                              \
            return real(address, length, protection, flags, fd, offset);                                               \
        return map_file(real, address, length, protection, flags, fd, offset);                                         \
    }

MMAP(mmap)
MMAP(mmap64)

XW_EXPORT int msync(void *address, size_t length, int flags)
{
    static __typeof__(msync) *real_msync;
    if (XW_UNLIKELY(!XW_REAL(real_msync, "msync")))
        return (int)xw_libc_result(xw_syscall(SYS_msync, address, length, flags));
    const unsigned group = XW_G_POSIX(class_of_address((uintptr_t)address), XW_OP_POSIX_MAP);
    const struct xw_call call = xw_enter_posix(XW_F_msync, group);
    int result = real_msync(address, length, flags);
    if (result == 0)
        xw_count_in_group(call, group, 0, 0, length);
    xw_leave(call, XW_F_msync, group, 0, 0);
    return result;
}

__attribute__((constructor)) static void look_up_early(void)
{
    (void)XW_REAL(real_mmap, "mmap");
    (void)XW_REAL(real_mmap64, "mmap64");
}
