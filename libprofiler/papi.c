#include "papi.h"

#include "init.h"
#include "perf.h"
#include "proc_dir.h"
#include <fcntl.h>
#include <linux/perf_event.h>

/* --- libc and PAPI, found at run time; PAPI's header isn't needed to build --- */

extern void *dlopen(const char *name, int flags) __attribute__((weak));
extern void *dlsym(void *library, const char *name) __attribute__((weak));
extern char *dlerror(void) __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));
enum { DL_NOW = 2, DL_NOLOAD = 4 };

static struct {
    int (*library_init)(int version); /* returns the version when it is its own */
    int (*create_eventset)(int *eventset);
    int (*add_named_event)(int eventset, const char *name);
    int (*start)(int eventset);
    int (*read)(int eventset, long long *values);
    int (*stop)(int eventset, long long *values);
    int (*cleanup_eventset)(int eventset);
    int (*destroy_eventset)(int *eventset);
} papi;
enum { PAPI_OK = 0, PAPI_NULL = -1 };

static int load_functions(void *library)
{
    static const struct {
        const char *name;
        void *pointer;
    } functions[] = {
        {"PAPI_library_init", &papi.library_init},
        {"PAPI_create_eventset", &papi.create_eventset},
        {"PAPI_add_named_event", &papi.add_named_event},
        {"PAPI_start", &papi.start},
        {"PAPI_read", &papi.read},
        {"PAPI_stop", &papi.stop},
        {"PAPI_cleanup_eventset", &papi.cleanup_eventset},
        {"PAPI_destroy_eventset", &papi.destroy_eventset},
    };
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address)
            return 0;
        __builtin_memcpy(functions[i].pointer, &address, sizeof address);
    }
    return 1;
}

/* PAPI accepts only the version it was built as. */
static int initialise(void)
{
    static const int versions[] = {0x07020000, 0x07010000, 0x07000000, 0x06000000, 0x05070000, 0x05060000};
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (papi.library_init(versions[i]) == versions[i])
            return 1;
    return 0;
}

/* Load PAPI, unless the program has it already: the sets of one thread exclude each other, and the program's come
 * first. */
static int load(void)
{
    static const char *const names[] = {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0",
                                        "libpapi.so.7",   "libpapi.so.6.0", "libpapi.so.6",
                                        "libpapi.so.5.7", "libpapi.so.5.6", "libpapi.so.5"};
    enum { N_NAMES = sizeof names / sizeof names[0] };
    if (!dlopen || !dlsym)
        return 0;
    void *library = NULL;
    for (unsigned i = 0; i < N_NAMES; i++)
        if (dlopen(names[i], DL_NOW | DL_NOLOAD))
            return 0;
    for (unsigned i = 0; i < N_NAMES && !library; i++)
        library = dlopen(names[i], DL_NOW);
    if (dlerror)
        dlerror(); /* the program must not find the failures of our search */
    return library && load_functions(library) && initialise();
}

/* --- PAPI's descriptors --- */

enum { MAX_DESCRIPTORS = 16 };

struct descriptors {
    unsigned n; /* may exceed what is stored */
    int fd[MAX_DESCRIPTORS];
};

static int is_perf_event(int directory, int fd)
{
    static const char expected[] = "anon_inode:[perf_event]";
    char path[12], target[sizeof expected];
    unsigned length = 0, digits = 1;
    for (int rest = fd; rest >= 10; rest /= 10)
        digits++;
    for (length = digits; length--; fd /= 10)
        path[length] = (char)('0' + fd % 10);
    path[digits] = 0;
    if (xw_syscall(SYS_readlinkat, directory, path, target, sizeof target) != (long)sizeof expected - 1)
        return 0;
    for (unsigned i = 0; i < sizeof expected - 1; i++)
        if (target[i] != expected[i])
            return 0;
    return 1;
}

static int contains(const struct descriptors *set, int fd)
{
    for (unsigned i = 0; i < set->n && i < MAX_DESCRIPTORS; i++)
        if (set->fd[i] == fd)
            return 1;
    return 0;
}

/* All perf events in the descriptor table that are not in `without`. */
static void find_perf_events(struct descriptors *found, const struct descriptors *without)
{
    char buffer[1024];
    struct xw_proc_dir dir;
    found->n = 0;
    if (xw_proc_dir_open(&dir, "/proc/self/fd", buffer, sizeof buffer)) {
        for (int fd; (fd = xw_proc_dir_next(&dir)) >= 0;) {
            if (contains(without, fd) || !is_perf_event(dir.fd, fd))
                continue;
            if (found->n < MAX_DESCRIPTORS)
                found->fd[found->n] = fd;
            found->n++;
        }
    }
    xw_proc_dir_close(&dir);
}

/* The kernel's number of the event behind a descriptor; 0 if it is none. */
static uint64_t event_id(int fd)
{
    uint64_t id = 0;
    return xw_failed(xw_syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id)) ? 0 : id;
}

/* --- counting --- */

/* What may count into each slot, first that works. The software events are a test aid: machines without counters,
   virtual ones mostly, walk the same path with them. They must be asked for by name (CROSSWIND_EVENTS). */
static const struct {
    uint32_t wanted; /* enum xw_perf_sample */
    uint32_t slot;
    const char *name;
} candidates[] = {
    {XW_PERF_HW_INSTRUCTIONS, XW_PAPI_INSTRUCTIONS, "PAPI_TOT_INS"},
    {XW_PERF_HW_FLOPS, XW_PAPI_FLOPS, "PAPI_FP_OPS"},
    {XW_PERF_HW_FLOPS, XW_PAPI_FLOPS, "PAPI_DP_OPS"},
    {XW_PERF_SW_TASK_CLOCK, XW_PAPI_INSTRUCTIONS, "perf::TASK-CLOCK"},
    {XW_PERF_SW_PAGE_FAULTS, XW_PAPI_FLOPS, "perf::PAGE-FAULTS"},
};

/* Written by the thread that called MPI_Init only. */
static struct {
    int runs;
    int eventset;
    unsigned n_values;
    uint32_t slot[XW_PAPI_N]; /* of the values, in PAPI's order */
    unsigned n_descriptors;
    struct {
        int fd;
        uint64_t id;
    } descriptor[MAX_DESCRIPTORS];
} state;

/* PAPI reads and writes by functions that we wrap: while it does, nothing is counted, and errno stays the program's. */
struct silence {
    uintptr_t outermost;
    int error;
};

static struct silence silence_begin(void)
{
    struct silence before = {xw_thread.outermost, __errno_location ? *__errno_location() : 0};
    xw_thread.outermost = XW_MARK_SILENT;
    return before;
}

static void silence_end(struct silence before)
{
    xw_thread.outermost = before.outermost;
    if (__errno_location)
        *__errno_location() = before.error;
}

static uint32_t add_events(uint32_t wanted)
{
    uint32_t counted = 0;
    state.n_values = 0;
    for (unsigned i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        uint32_t slot = candidates[i].slot;
        if (!(wanted & 1u << candidates[i].wanted) || counted & 1u << slot)
            continue;
        if (papi.add_named_event(state.eventset, candidates[i].name) != PAPI_OK)
            continue;
        state.slot[state.n_values++] = slot;
        counted |= 1u << slot;
    }
    return counted;
}

/* Remember the descriptors that PAPI has opened, and keep them from the programs that this one starts. */
static int remember_descriptors(const struct descriptors *before)
{
    struct descriptors opened;
    find_perf_events(&opened, before);
    if (opened.n == 0 || opened.n > MAX_DESCRIPTORS)
        return 0;
    state.n_descriptors = opened.n;
    for (unsigned i = 0; i < opened.n; i++) {
        xw_syscall(SYS_fcntl, opened.fd[i], F_SETFD, FD_CLOEXEC);
        state.descriptor[i].fd = opened.fd[i];
        state.descriptor[i].id = event_id(opened.fd[i]);
    }
    return 1;
}

static int descriptors_are_ours(void)
{
    for (unsigned i = 0; i < state.n_descriptors; i++)
        if (!state.descriptor[i].id || event_id(state.descriptor[i].fd) != state.descriptor[i].id)
            return 0;
    return 1;
}

static void close_eventset(void)
{
    papi.cleanup_eventset(state.eventset);
    papi.destroy_eventset(&state.eventset);
}

static uint32_t start_counting(uint32_t wanted)
{
    struct descriptors before, none = {0};
    find_perf_events(&before, &none);
    if (before.n > MAX_DESCRIPTORS || !load())
        return 0;
    state.eventset = PAPI_NULL;
    if (papi.create_eventset(&state.eventset) != PAPI_OK)
        return 0;
    uint32_t counted = add_events(wanted);
    if (!counted || papi.start(state.eventset) != PAPI_OK) {
        close_eventset();
        return 0;
    }
    state.runs = remember_descriptors(&before);
    if (!state.runs) {
        long long ignored[XW_PAPI_N];
        papi.stop(state.eventset, ignored);
        close_eventset();
        return 0;
    }
    return counted;
}

uint32_t xw_papi_start(uint32_t wanted)
{
    uint32_t there = 0;
    for (uint32_t event = 0; event < XW_N_PERF; event++)
        if (wanted & 1u << event && xw_perf_probe(event))
            there |= 1u << event;
    if (!there || state.runs)
        return 0;
    struct silence before = silence_begin();
    uint32_t counted = start_counting(there);
    silence_end(before);
    if (!counted)
        xw_count_lost(XW_LOST_PAPI);
    return counted;
}

/* From here on PAPI is not called again: whatever it did with its descriptors would hit the program's files. */
static void give_up(void)
{
    state.runs = 0;
    xw_count_lost(XW_LOST_PAPI);
}

int xw_papi_read(uint64_t values[XW_PAPI_N])
{
    long long counts[XW_PAPI_N] = {0};
    for (unsigned i = 0; i < XW_PAPI_N; i++)
        values[i] = 0;
    if (!state.runs)
        return 0;
    struct silence before = silence_begin();
    if (!descriptors_are_ours() || papi.read(state.eventset, counts) != PAPI_OK)
        give_up();
    silence_end(before);
    for (unsigned i = 0; i < state.n_values && state.runs; i++)
        values[state.slot[i]] = (uint64_t)counts[i];
    return state.runs;
}

void xw_papi_stop(void)
{
    if (!state.runs)
        return;
    struct silence before = silence_begin();
    if (descriptors_are_ours()) {
        long long ignored[XW_PAPI_N];
        papi.stop(state.eventset, ignored);
        close_eventset();
        state.runs = 0;
    } else {
        give_up();
    }
    silence_end(before);
}
