/*
 * PAPI in the application's thread: what it counts, and that nothing of the program is touched when the program takes
 * its descriptors away. Counting starts once per process, so each case runs in a child of its own.
 */
#include "unit.h"

#include "init.h"
#include "papi.h"
#include "perf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TASK_CLOCK = 1u << XW_PERF_SW_TASK_CLOCK, PAGE_FAULTS = 1u << XW_PERF_SW_PAGE_FAULTS };
enum { BOTH_SLOTS = 1u << XW_PAPI_INSTRUCTIONS | 1u << XW_PAPI_FLOPS };
static const char *const PAPI_LIBRARY = "libpapi.so.7.0";

/* What papi.c needs of the rest of the library. */
__thread struct xw_thread_state xw_thread;
static int lost[XW_N_LOST];
void xw_count_lost(enum xw_lost what) { lost[what]++; }

/* Asked of the kernel directly: a library that can open nothing must fail, not skip. */
static int kernel_has_software_events(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK};
    attr.exclude_kernel = 1;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    return fd >= 0 && close(fd) == 0;
}

/* --- each case in a child: 0 passed, else the line that failed --- */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static void run_in_child(int (*test)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(test());
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void need_papi(void)
{
    int status;
    pid_t child = fork(); /* loaded here it would count as the program's own */
    if (child == 0)
        _exit(dlopen(PAPI_LIBRARY, RTLD_NOW) == NULL);
    waitpid(child, &status, 0);
    if (status || !kernel_has_software_events()) {
        print_message("skipped: needs %s and perf software events\n", PAPI_LIBRARY);
        skip();
    }
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- cases --- */

static int counts_what_the_thread_does(void)
{
    enum { PAGES = 500, PAGE = 4096 };
    uint64_t before[XW_PAPI_N], after[XW_PAPI_N];
    char *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    CHECK(xw_papi_start(TASK_CLOCK | PAGE_FAULTS) == BOTH_SLOTS);
    CHECK(xw_papi_read(before));
    uint64_t begin = thread_cpu_ns(), end;
    do
        end = thread_cpu_ns();
    while (end < begin + 200000000);
    for (int page = 0; page < PAGES; page++)
        __asm__ volatile("movb $1, (%0)" : : "r"(memory + (size_t)page * PAGE) : "memory");
    end = thread_cpu_ns();
    CHECK(xw_papi_read(after));
    double ratio = (double)(after[XW_PAPI_INSTRUCTIONS] - before[XW_PAPI_INSTRUCTIONS]) / (double)(end - begin);
    uint64_t faults = after[XW_PAPI_FLOPS] - before[XW_PAPI_FLOPS];
    printf("task clock by PAPI / thread clock: %.4f; page faults: %d for %d pages\n", ratio, (int)faults, PAGES);
    CHECK(ratio > 0.98 && ratio < 1.02);
    CHECK(faults >= PAGES && faults < PAGES + 300); /* a sanitizer faults too */
    CHECK(lost[XW_LOST_PAPI] == 0);
    xw_papi_stop();
    CHECK(!xw_papi_read(after));
    return 0;
}

static int leaves_no_trace(void)
{
    cpu_set_t affinity_before, affinity_after;
    sched_getaffinity(0, sizeof affinity_before, &affinity_before);
    xw_thread.outermost = 4711;
    errno = EDOM;
    uint64_t values[XW_PAPI_N];
    CHECK(xw_papi_start(TASK_CLOCK) == 1u << XW_PAPI_INSTRUCTIONS);
    CHECK(errno == EDOM && xw_thread.outermost == 4711);
    CHECK(xw_papi_read(values) && values[XW_PAPI_FLOPS] == 0);
    CHECK(errno == EDOM && xw_thread.outermost == 4711);
    sched_getaffinity(0, sizeof affinity_after, &affinity_after);
    CHECK(CPU_EQUAL(&affinity_before, &affinity_after));
    CHECK(dlerror() == NULL);
    int events = 0;
    for (int fd = 3; fd < 100; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && !strcmp(target, "anon_inode:[perf_event]")) {
            events++;
            CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
    }
    CHECK(events > 0);
    return 0;
}

/* The program closes all descriptors and opens files of its own in their place. */
static int gives_up_stolen_descriptors(void)
{
    enum { FILES = 8 };
    static const char data[] = "this belongs to the program; nobody else may read a byte of it\n";
    uint64_t values[XW_PAPI_N];
    CHECK(xw_papi_start(TASK_CLOCK | PAGE_FAULTS) == BOTH_SLOTS);
    CHECK(xw_papi_read(values));
    close_range(3, ~0u, 0);
    int files[FILES];
    for (int i = 0; i < FILES; i++) {
        files[i] = memfd_create("mine", 0);
        CHECK(write(files[i], data, sizeof data) == sizeof data);
        CHECK(lseek(files[i], 0, SEEK_SET) == 0);
    }
    values[0] = values[1] = 99;
    CHECK(!xw_papi_read(values));
    CHECK(values[0] == 0 && values[1] == 0);
    CHECK(lost[XW_LOST_PAPI] == 1);
    CHECK(!xw_papi_read(values));
    xw_papi_stop();
    CHECK(lost[XW_LOST_PAPI] == 1);
    for (int i = 0; i < FILES; i++) {
        char text[sizeof data] = "";
        CHECK(lseek(files[i], 0, SEEK_CUR) == 0);
        CHECK(read(files[i], text, sizeof text) == sizeof data && !memcmp(text, data, sizeof data));
    }
    return 0;
}

/* Stopping closes descriptors: not those that are no longer PAPI's. */
static int stop_closes_no_stolen_descriptor(void)
{
    CHECK(xw_papi_start(TASK_CLOCK));
    close_range(3, ~0u, 0);
    int files[8];
    for (int i = 0; i < 8; i++)
        files[i] = memfd_create("mine", 0);
    xw_papi_stop();
    CHECK(lost[XW_LOST_PAPI] == 1);
    for (int i = 0; i < 8; i++)
        CHECK(fcntl(files[i], F_GETFD) >= 0);
    return 0;
}

static int stop_closes_own_descriptors(void)
{
    int lowest = dup(0);
    close(lowest);
    CHECK(xw_papi_start(TASK_CLOCK));
    xw_papi_stop();
    int lowest_after = dup(0);
    CHECK(lowest_after == lowest);
    CHECK(lost[XW_LOST_PAPI] == 0);
    return 0;
}

/* Another perf event of the program in the place of PAPI's: the same kind of descriptor, not the same event. */
static int another_perf_event_is_not_ours(void)
{
    uint64_t values[XW_PAPI_N];
    struct xw_perf own;
    memset(&own, 0, sizeof own);
    CHECK(xw_papi_start(TASK_CLOCK));
    close_range(3, ~0u, 0);
    for (int i = 0; i < 8; i++)
        xw_perf_open(&own, TASK_CLOCK, getpid(), 0), own.n_fds = 0;
    CHECK(!xw_papi_read(values));
    CHECK(lost[XW_LOST_PAPI] == 1);
    return 0;
}

static int not_loaded_without_events(void)
{
    uint64_t values[XW_PAPI_N] = {1, 1};
    CHECK(xw_papi_start(0) == 0);
    CHECK(xw_papi_start(1u << XW_PERF_HW_INSTRUCTIONS | 1u << XW_PERF_HW_FLOPS) == 0);
    CHECK(dlopen(PAPI_LIBRARY, RTLD_NOW | RTLD_NOLOAD) == NULL);
    CHECK(!xw_papi_read(values) && values[0] == 0 && values[1] == 0);
    CHECK(lost[XW_LOST_PAPI] == 0);
    xw_papi_stop();
    return 0;
}

static int program_keeps_its_own_papi(void)
{
    CHECK(dlopen(PAPI_LIBRARY, RTLD_NOW));
    CHECK(xw_papi_start(TASK_CLOCK) == 0);
    CHECK(lost[XW_LOST_PAPI] == 1);
    return 0;
}

#define CASE(name)                                                                                                     \
    static void test_##name(void **unused)                                                                             \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        need_papi();                                                                                                   \
        run_in_child(name);                                                                                            \
    }
CASE(counts_what_the_thread_does)
CASE(leaves_no_trace)
CASE(gives_up_stolen_descriptors)
CASE(stop_closes_no_stolen_descriptor)
CASE(stop_closes_own_descriptors)
CASE(another_perf_event_is_not_ours)
CASE(program_keeps_its_own_papi)

static void test_not_loaded_without_events(void **unused)
{
    (void)unused;
    if (xw_perf_probe(XW_PERF_HW_INSTRUCTIONS)) {
        print_message("skipped: this machine has hardware counters\n");
        skip();
    }
    run_in_child(not_loaded_without_events);
}

static int costs(void)
{
    uint64_t values[XW_PAPI_N], begin = thread_cpu_ns();
    CHECK(xw_papi_start(TASK_CLOCK | PAGE_FAULTS));
    uint64_t started = thread_cpu_ns();
    for (int i = 0; i < 10000; i++)
        xw_papi_read(values);
    printf("PAPI: %.2f ms to start, %.0f ns a reading of two events\n", (double)(started - begin) * 1e-6,
           (double)(thread_cpu_ns() - started) / 10000);
    return 0;
}
CASE(costs)

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_what_the_thread_does),
        cmocka_unit_test(test_leaves_no_trace),
        cmocka_unit_test(test_gives_up_stolen_descriptors),
        cmocka_unit_test(test_stop_closes_no_stolen_descriptor),
        cmocka_unit_test(test_stop_closes_own_descriptors),
        cmocka_unit_test(test_another_perf_event_is_not_ours),
        cmocka_unit_test(test_not_loaded_without_events),
        cmocka_unit_test(test_program_keeps_its_own_papi),
        cmocka_unit_test(test_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
