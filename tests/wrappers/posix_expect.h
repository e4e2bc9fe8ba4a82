/*
 * A test program that says what it does, next to doing it, and so knows what Crosswind must have counted.
 *
 *     DO(pread, 0, 5, pread64(fd, buf, 5, 0), 5);     call, and fail unless it returns 5; it is one call of `pread`, 5
 * bytes in int fd = (int)GET(open, open(name, O_RDONLY));  call, and fail if it returns -1; keep the result
 *     CALLED(fopen, 0, 0);                             for anything else
 *
 * expect_report() prints `function calls bytes_out bytes_in` a line, by raw system calls, which nobody counts.
 */
#ifndef POSIX_EXPECT_H
#define POSIX_EXPECT_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_FUNCTIONS = 256 };

static struct {
    const char *name;
    unsigned long calls, out, in;
} expected[MAX_FUNCTIONS];

static void raw_print(const char *text) { syscall(SYS_write, 1, text, strlen(text)); }

static void called(const char *name, unsigned long out, unsigned long in)
{
    int i = 0;
    while (expected[i].name && strcmp(expected[i].name, name) != 0)
        i++;
    expected[i].name = name;
    expected[i].calls++;
    expected[i].out += out;
    expected[i].in += in;
}

static long check(const char *what, long result, int right)
{
    if (!right) {
        char text[256];
        snprintf(text, sizeof text, "FAILED: %s gave %ld\n", what, result);
        raw_print(text);
        syscall(SYS_exit_group, 99);
    }
    return result;
}

static inline long do_(const char *what, const char *name, unsigned long out, unsigned long in, long result, long right)
{
    called(name, out, in);
    return check(what, result, result == right);
}

static inline long get_(const char *what, const char *name, long result)
{
    called(name, 0, 0);
    return check(what, result, result != -1);
}

#define CALLED(name, out, in) called(#name, out, in)
#define DO(name, out, in, call, right) do_(#call, #name, out, in, (long)(call), right)
#define GET(name, call) get_(#call, #name, (long)(call))
#define MUST(condition) check(#condition, 0, (condition) ? 1 : 0)

static inline void expect_report(void)
{
    char text[128];
    for (int i = 0; i < MAX_FUNCTIONS && expected[i].name; i++) {
        snprintf(text, sizeof text, "%s %lu %lu %lu\n", expected[i].name, expected[i].calls, expected[i].out,
                 expected[i].in);
        raw_print(text);
    }
}

#endif
