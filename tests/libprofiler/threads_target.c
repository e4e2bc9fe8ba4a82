/*
 * threads_target WHAT ...: programs of many threads that know what they did. The last line of the output is
 *     CPU_SECONDS WALL_SECONDS CALLS
 * the CPU time of all its threads by their own clocks, from the first to the last, and its finished calls of write.
 *
 *     busy N SECONDS IDLE   N threads compute, IDLE sleep
 *     omp N SECONDS         the same by OpenMP
 *     flock N AT_ONCE       N threads come and go, AT_ONCE at a time, each writes one byte three times
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int null;
static long calls;
static int64_t cpu_ns;
static double seconds;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void compute(void)
{
    const int64_t end = clock_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9);
    while (clock_ns(CLOCK_MONOTONIC) < end)
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void note(void) { __atomic_fetch_add(&cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED); }

static void *busy(void *unused)
{
    (void)unused;
    compute();
    note();
    return NULL;
}

static void *idle(void *unused)
{
    (void)unused;
    usleep((useconds_t)(seconds * 1e6));
    note();
    return NULL;
}

static void *writer(void *unused)
{
    (void)unused;
    long good = 0;
    for (int i = 0; i < 3; i++)
        good += write(null, "x", 1) == 1;
    __atomic_fetch_add(&calls, good, __ATOMIC_RELAXED);
    note();
    return NULL;
}

static pthread_t start(void *(*work)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    if (pthread_create(&thread, &attributes, work, NULL))
        exit(9);
    return thread;
}

static void crowd(int n, void *(*work)(void *), int others, void *(*other)(void *))
{
    pthread_t *threads = calloc((size_t)(n + others), sizeof *threads);
    for (int i = 0; i < n + others; i++)
        threads[i] = start(i < n ? work : other);
    for (int i = 0; i < n + others; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void parallel(int n)
{
#pragma omp parallel num_threads(n)
    {
        compute();
        __atomic_fetch_add(&cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
    }
}

int main(int argc, char **argv)
{
    const int64_t begin = clock_ns(CLOCK_MONOTONIC);
    const int n = atoi(argv[2]);
    null = open("/dev/null", O_WRONLY);
    seconds = atof(argv[3]);
    if (!strcmp(argv[1], "busy"))
        crowd(n, busy, argc > 4 ? atoi(argv[4]) : 0, idle);
    else if (!strcmp(argv[1], "omp"))
        parallel(n);
    else
        for (int done = 0; done < n; done += atoi(argv[3]))
            crowd(atoi(argv[3]), writer, 0, NULL);
    if (strcmp(argv[1], "omp") != 0) /* there the main thread has noted its own time */
        note();
    printf("%.6f %.6f %ld\n", (double)cpu_ns * 1e-9, (double)(clock_ns(CLOCK_MONOTONIC) - begin) * 1e-9, calls);
    return 0;
}
