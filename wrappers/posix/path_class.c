#include "path_class.h"

enum { PAGE = 4096, MAX_DIRECTORY = 1024, MAX_PATH = 4096, ENTRIES = 256, EFAULT_RESULT = -14 };

/* One word an entry: upper 56 bits of the hash | 1 + class. A newcomer takes the place of another. */
static uint64_t directory_class[ENTRIES];
static uint64_t working_directory; /* counts changes of it; part of the hash of relative names */

void xw_class_forget_cwd(void) { __atomic_fetch_add(&working_directory, 1, __ATOMIC_RELAXED); }

/*
 * Whether the page of `at` can be read. Programs pass bad pointers to system calls, some on purpose, and get EFAULT; we
 * must not fault in their place. rt_sigprocmask copies 8 bytes from `at` first and then refuses its unknown `how`: the
 * cheapest way to ask (absl's AddressIsReadable does the same). valgrind prints a line about that; there mincore says
 * whether the page is mapped at all.
 */
static int page_is_readable(const char *at)
{
    unsigned char resident;
    if (XW_UNLIKELY(xw_runs_on_valgrind()))
        return !xw_failed(xw_syscall(SYS_mincore, (uintptr_t)at & ~(uintptr_t)(PAGE - 1), 1, &resident));
    uintptr_t inside = (uintptr_t)at & ~(uintptr_t)7;
    return xw_syscall(SYS_rt_sigprocmask, ~0, inside, 0, 8) != EFAULT_RESULT;
}

/* A name, walked once: its directory's length (with the slash; 0: none) and hash. */
struct directory {
    uint32_t length;
    uint64_t hash;
};

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u; }

static int find_directory(const char *path, struct directory *directory)
{
    if (!path || !page_is_readable(path))
        return 0;
    uint64_t hash = *path == '/' ? 1 : mix(2, __atomic_load_n(&working_directory, __ATOMIC_RELAXED));
    *directory = (struct directory){0, hash};
    for (uint32_t i = 0; i < MAX_PATH; i++) {
        if (i && (uintptr_t)(path + i) % PAGE == 0 && !page_is_readable(path + i))
            return 0;
        if (!path[i])
            return 1;
        hash = mix(hash, (uint8_t)path[i]);
        if (path[i] == '/')
            *directory = (struct directory){i + 1, hash};
    }
    return 0;
}

static enum xw_class ask(const char *path, uint32_t length)
{
    char name[MAX_DIRECTORY] = {'.', 0};
    if (length >= sizeof name)
        return XW_CLASS_OTHER;
    for (uint32_t i = 0; i < length; i++)
        name[i] = path[i];
    if (length)
        name[length] = 0;
    return xw_class_of_directory(name);
}

enum xw_class xw_path_class(const char *path)
{
    struct directory directory;
    if (!find_directory(path, &directory))
        return XW_CLASS_OTHER;
    uint64_t *entry = &directory_class[directory.hash >> 56];
    uint64_t known = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if ((known & 0xff) && (known ^ directory.hash) >> 8 == 0)
        return (enum xw_class)((known & 0xff) - 1);
    enum xw_class class = ask(path, directory.length);
    if (class != XW_CLASS_OTHER) /* a directory that is missing now may appear */
        __atomic_store_n(entry, (directory.hash & ~0xffull) | (1u + class), __ATOMIC_RELAXED);
    return class;
}

int xw_path_is_absolute(const char *path) { return path && page_is_readable(path) && *path == '/'; }
