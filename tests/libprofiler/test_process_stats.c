/* What the process statistics say, against what the test itself has just done. */
#include "unit.h"

#include "proc_dir.h"
#include "process_stats.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, PAGE = 4096 };

static char scratch[XW_PROCESS_STATS_SCRATCH];

static struct xw_process_stats read_stats(int self_tid)
{
    static struct xw_process_stats stats;
    memset(stats.value, 0xa5, sizeof stats.value); /* whatever was there must not shine through */
    stats.available = ~0u;
    xw_process_stats_read(&stats, self_tid, scratch, sizeof scratch);
    return stats;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(clockid_t clock, uint64_t ns)
{
    uint64_t end = clock_ns(clock) + ns;
    while (clock_ns(clock) < end)
        ;
}

static uint64_t grown(const struct xw_process_stats *before, const struct xw_process_stats *after,
                      enum xw_os_sample sample)
{
    assert_true(before->available & 1u << sample);
    assert_true(after->available & 1u << sample);
    return after->value[sample] - before->value[sample];
}

static void test_parse_number(void **unused)
{
    (void)unused;
    char text[] = "123 18446744073709551615 99999999999999999999 x";
    const char *at = text, *end = text + strlen(text);
    assert_true(xw_parse_number(&at, end) == 123 && at == text + 3);
    at++;
    assert_true(xw_parse_number(&at, end) == UINT64_MAX && *at == ' ');
    at++;
    assert_true(xw_parse_number(&at, end) == UINT64_MAX && *at == ' ');
    at++;
    assert_true(xw_parse_number(&at, end) == 0 && *at == 'x');
    at = text;
    assert_true(xw_parse_number(&at, text + 2) == 12 && at == text + 2);
    assert_true(xw_parse_number(&at, at) == 0);
}

static void test_cpu_time(void **unused)
{
    (void)unused;
    uint64_t clock_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct xw_process_stats before = read_stats(0);
    spin(CLOCK_THREAD_CPUTIME_ID, 100000000);
    struct xw_process_stats after = read_stats(0);
    uint64_t clock_after = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t cpu = grown(&before, &after, XW_OS_CPU_TIME);
    assert_in_range(cpu, 100000000, clock_after - clock_before);

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t system = (uint64_t)usage.ru_stime.tv_sec * 1000000000u + (uint64_t)usage.ru_stime.tv_usec * 1000u;
    assert_in_range(after.value[XW_OS_CPU_SYSTEM_TIME], 0, system);
    assert_true(system - after.value[XW_OS_CPU_SYSTEM_TIME] < 20000000);
}

static void test_faults_and_memory(void **unused)
{
    (void)unused;
    enum { PAGES = 64 * MIB / PAGE };
    char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, 64 * MIB, MADV_NOHUGEPAGE);
    struct xw_process_stats before = read_stats(0);
    for (int page = 0; page < PAGES; page++)
        __asm__ volatile("movb $1, (%0)"
                         :
                         : "r"(memory + (size_t)page * PAGE)
                         : "memory"); /* sanitizers don't see it */
    struct xw_process_stats after = read_stats(0);
    munmap(memory, 64 * MIB);
    assert_in_range(grown(&before, &after, XW_OS_FAULTS_MINOR), PAGES, PAGES + 200);
    assert_in_range(grown(&before, &after, XW_OS_RSS), 62 * MIB, 68 * MIB);
    assert_true(after.available & 1u << XW_OS_FAULTS_MAJOR);
}

static void test_context_switches(void **unused)
{
    (void)unused;
    struct xw_process_stats before = read_stats(0);
    for (int i = 0; i < 50; i++)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    struct xw_process_stats after = read_stats(0);
    assert_in_range(grown(&before, &after, XW_OS_CTX_VOLUNTARY), 50, 60);
    assert_in_range(grown(&before, &after, XW_OS_CTX_INVOLUNTARY), 0, 10000);
}

static void test_io(void **unused)
{
    (void)unused;
    static char data[MIB];
    int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
    struct xw_process_stats before = read_stats(0);
    assert_int_equal(write(null, data, sizeof data), sizeof data);
    assert_int_equal(read(zero, data, sizeof data / 2), sizeof data / 2);
    struct xw_process_stats after = read_stats(0);
    close(null);
    close(zero);
    assert_int_equal(grown(&before, &after, XW_OS_PROC_WRITE_BYTES), MIB);
    uint64_t own_reading = grown(&before, &after, XW_OS_PROC_READ_BYTES) - MIB / 2;
    assert_in_range(own_reading, 1, 1000);
    assert_true(after.available & 1u << XW_OS_STORAGE_READ_BYTES);
}

/* Bytes that reach a disk: written with fsync to the file system of the working directory. */
static void test_storage(void **unused)
{
    (void)unused;
    static char data[MIB];
    char path[] = "storage-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    struct xw_process_stats before = read_stats(0);
    assert_int_equal(write(fd, data, sizeof data), sizeof data);
    int synced = fsync(fd);
    struct xw_process_stats after = read_stats(0);
    close(fd);
    assert_int_equal(synced, 0);
    uint64_t stored = grown(&before, &after, XW_OS_STORAGE_WRITE_BYTES);
    if (stored == 0) {
        print_message("skipped: the build folder is on a file system without storage accounting (tmpfs)\n");
        skip();
    }
    assert_in_range(stored, MIB, MIB + 64 * PAGE);
}

enum { MOST_MEMBERS = 2048 };

/* Threads that spin or sleep until they are told to stop. */
struct crew {
    pthread_t thread[MOST_MEMBERS];
    int tid[MOST_MEMBERS];
    pthread_barrier_t ready;
    int stop;
    int spinning; /* else asleep */
    int n;
};

struct member {
    struct crew *crew;
    int number;
};

static void *crew_member(void *argument)
{
    const struct member *member = argument;
    struct crew *crew = member->crew;
    crew->tid[member->number] = gettid();
    pthread_barrier_wait(&crew->ready);
    while (!__atomic_load_n(&crew->stop, __ATOMIC_RELAXED))
        if (!crew->spinning)
            usleep(20000);
    return NULL;
}

/* All of its threads run when it returns. */
static void crew_start(struct crew *crew, int n, int spinning)
{
    struct member members[n + 1];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    crew->stop = 0;
    crew->spinning = spinning;
    crew->n = n;
    pthread_barrier_init(&crew->ready, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        members[i] = (struct member){crew, i};
        assert_int_equal(pthread_create(&crew->thread[i], &attributes, crew_member, &members[i]), 0);
    }
    pthread_barrier_wait(&crew->ready);
    pthread_attr_destroy(&attributes);
}

static void crew_stop(struct crew *crew)
{
    __atomic_store_n(&crew->stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < crew->n; i++)
        pthread_join(crew->thread[i], NULL);
    pthread_barrier_destroy(&crew->ready);
}

/* Threads of the process without a crew: sanitizers start one of their own with the first. */
static uint64_t idle_threads(void)
{
    static struct crew first;
    crew_start(&first, 1, 0);
    crew_stop(&first);
    return read_stats(0).value[XW_OS_THREADS];
}

static void test_threads(void **unused)
{
    (void)unused;
    enum { MANY = XW_THREADS_LOOKED_AT + 100 };
    static struct crew crew;
    uint64_t idle = idle_threads();
    assert_in_range(idle, 1, 2);
    crew_start(&crew, 8, 0);
    assert_int_equal(read_stats(0).value[XW_OS_THREADS], idle + 8);
    assert_int_equal(read_stats(crew.tid[3]).value[XW_OS_THREADS], idle + 7);
    crew_stop(&crew);
    crew_start(&crew, MANY, 0); /* beyond what is looked at, and beyond one getdents */
    struct xw_process_stats many = read_stats(0);
    assert_int_equal(read_stats(crew.tid[3]).value[XW_OS_THREADS], idle + MANY - 1);
    crew_stop(&crew);
    assert_int_equal(many.value[XW_OS_THREADS], idle + MANY);
    assert_true(many.available & 1u << XW_OS_RUN_DELAY);
}

/* Four threads that spin on one processor: what they did not run they have waited. */
static void check_run_delay(void)
{
    enum { N = 4 };
    static struct crew crew;
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    crew_start(&crew, N, 1);
    struct xw_process_stats before = read_stats(0);
    uint64_t wall = clock_ns(CLOCK_MONOTONIC);
    usleep(600000);
    struct xw_process_stats after = read_stats(0);
    wall = clock_ns(CLOCK_MONOTONIC) - wall;
    crew_stop(&crew);
    sched_setaffinity(0, sizeof all, &all);
    uint64_t ran = grown(&before, &after, XW_OS_CPU_TIME);
    uint64_t waited = grown(&before, &after, XW_OS_RUN_DELAY);
    print_message("4 spinning threads on one processor: %.3f s wall, ran %.3f s, waited %.3f s\n", (double)wall * 1e-9,
                  (double)ran * 1e-9, (double)waited * 1e-9);
    uint64_t expected = N * wall - ran;
    /* The kernel adds a wait when it ends: each thread may bring one from before, longer where others want the
     * processor. */
    assert_in_range(waited, expected - expected / 20, expected + expected / 4);
}

/* Twice: the delay of the first crew, which has ended, must neither hide that of the second nor be taken back. */
static void test_run_delay(void **unused)
{
    (void)unused;
    check_run_delay();
    uint64_t total = read_stats(0).value[XW_OS_RUN_DELAY];
    check_run_delay();
    assert_true(read_stats(0).value[XW_OS_RUN_DELAY] > total + 1000000000);
}

static void read_clocks(const struct crew *crew, double *cpu_ns)
{
    for (int i = 0; i < crew->n; i++) {
        clockid_t clock;
        assert_int_equal(pthread_getcpuclockid(crew->thread[i], &clock), 0);
        cpu_ns[i] = (double)clock_ns(clock) - cpu_ns[i];
    }
}

/* Some threads spin, some sleep. However unfairly the processors are shared, the threads' own clocks tell. */
static void check_busy_threads(int spinning, int sleeping)
{
    static struct crew spinners, sleepers;
    double cpu_ns[8] = {0}, sum = 0, sum2 = 0;
    crew_start(&sleepers, sleeping, 0);
    crew_start(&spinners, spinning, 1);
    read_stats(0);
    read_clocks(&spinners, cpu_ns);
    usleep(500000);
    uint64_t busy = read_stats(0).value[XW_OS_THREADS_BUSY];
    read_clocks(&spinners, cpu_ns);
    crew_stop(&spinners);
    crew_stop(&sleepers);
    for (int i = 0; i < spinning; i++) {
        sum += cpu_ns[i];
        sum2 += cpu_ns[i] * cpu_ns[i];
    }
    uint64_t expected = (uint64_t)(1000 * sum * sum / sum2);
    print_message("%d threads spin, %d sleep: %.2f at work, by their own clocks %.2f\n", spinning, sleeping,
                  (double)busy * 1e-3, (double)expected * 1e-3);
    assert_in_range(busy, expected - expected / 10, expected + expected / 10);
    assert_in_range(busy, 1000, 1000 * (uint64_t)spinning + 100);
}

static void *spin_and_end(void *unused)
{
    (void)unused;
    spin(CLOCK_THREAD_CPUTIME_ID, 5000000);
    return NULL;
}

static void test_busy_threads(void **unused)
{
    (void)unused;
    check_busy_threads(1, 8);
    check_busy_threads(2, 8);
    check_busy_threads(6, 2);
    read_stats(0);
    usleep(50000);
    assert_int_equal(read_stats(0).value[XW_OS_THREADS_BUSY], 0); /* what reading takes is no work */
    for (int i = 0; i < 20; i++) { /* each ends before the slice does: together they are one thread's work */
        pthread_t thread;
        pthread_create(&thread, NULL, spin_and_end, NULL);
        pthread_join(thread, NULL);
    }
    assert_in_range(read_stats(0).value[XW_OS_THREADS_BUSY], 1000, 1500);
}

/* What the helper used is no work of the program. This thread plays the helper, twice. */
static void test_helper_is_not_counted(void **unused)
{
    (void)unused;
    struct xw_process_stats stats;
    memset(&stats, 0, sizeof stats);
    const uint64_t own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t before = xw_process_stats_cpu_ns(&stats) - own;
    spin(CLOCK_THREAD_CPUTIME_ID, 100000000);
    xw_process_stats_helper_ran(&stats);
    assert_in_range(xw_process_stats_cpu_ns(&stats) + 1000000, before, before + 10000000);
    xw_process_stats_helper_ends(&stats);
    assert_in_range(xw_process_stats_cpu_ns(&stats) + 1000000, before, before + 10000000);
}

/* A process without /proc: what system calls tell stays, the rest is absent and zero. */
static int without_proc(void)
{
    char directory[] = "/tmp/no-proc-XXXXXX";
    if (!mkdtemp(directory) || chroot(directory))
        return 77;
    struct xw_process_stats stats = read_stats(0);
    uint32_t expected = 1u << XW_OS_CPU_TIME | 1u << XW_OS_CPU_SYSTEM_TIME | 1u << XW_OS_CTX_VOLUNTARY |
                        1u << XW_OS_CTX_INVOLUNTARY | 1u << XW_OS_FAULTS_MINOR | 1u << XW_OS_FAULTS_MAJOR;
    for (unsigned i = 0; i < XW_N_OS; i++)
        if (!(expected & 1u << i) && stats.value[i])
            return 2;
    return stats.available == expected ? 0 : 1;
}

static void test_no_proc(void **unused)
{
    (void)unused;
    pid_t child = fork();
    if (child == 0)
        _exit(without_proc());
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: chroot needs root\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_cost(void **unused)
{
    (void)unused;
    static struct crew crew;
    static const int counts[] = {0, 8, 64, 1024};
    for (unsigned i = 0; i < 4; i++) {
        crew_start(&crew, counts[i], 0);
        uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int k = 0; k < 100; k++)
            read_stats(0);
        uint64_t cost = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 100;
        crew_stop(&crew);
        print_message("%d threads: %.1f us CPU a reading\n", counts[i] + 1, (double)cost * 1e-3);
        assert_in_range(cost, 1, 50000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_number),
        cmocka_unit_test(test_cpu_time),
        cmocka_unit_test(test_faults_and_memory),
        cmocka_unit_test(test_context_switches),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_run_delay),
        cmocka_unit_test(test_busy_threads),
        cmocka_unit_test(test_helper_is_not_counted),
        cmocka_unit_test(test_no_proc),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
