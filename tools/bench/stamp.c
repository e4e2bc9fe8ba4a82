/*
 * Two preload libraries that stand around the one to be measured: LD_PRELOAD="stamp_after.so LIBRARY stamp_before.so".
 * The dynamic linker runs constructors from the last to the first and destructors the other way, so that the time
 * between the two is that of LIBRARY's own. stamp_before prints, when it is left last, CONSTRUCTOR_NS DESTRUCTOR_NS to
 * the file that BENCH_STAMPS names.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#ifdef STAMP_AFTER

double bench_constructors_end, bench_destructors_begin;
__attribute__((constructor)) static void stamp(void) { bench_constructors_end = now_ns(); }
__attribute__((destructor)) static void stamp_at_end(void) { bench_destructors_begin = now_ns(); }

#else

extern double bench_constructors_end, bench_destructors_begin;
static double begin;
__attribute__((constructor)) static void stamp(void) { begin = now_ns(); }

__attribute__((destructor)) static void stamp_at_end(void)
{
    const double end = now_ns();
    const char *path = getenv("BENCH_STAMPS");
    char line[64];
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    int n = snprintf(line, sizeof line, "%.0f %.0f\n", bench_constructors_end - begin, end - bench_destructors_begin);
    if (fd >= 0 && write(fd, line, (size_t)n) == n)
        close(fd);
}

#endif
