/*
 * Time of one call, chunk by chunk: what every benchmark program does. A chunk is some thousands of calls between two
 * readings of the clock; the kinds of call take turns, so that a disturbance hits them all. One line is printed per
 * chunk, "KIND NS", and run.py takes medians.
 */
#ifndef BENCH_CHUNKS_H
#define BENCH_CHUNKS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_CHUNKS = 1000, MAX_KINDS = 32 };

struct kind {
    const char *name;
    void (*body)(long rounds);
    long rounds; /* in a chunk: some 2 ms of them */
    int calls;   /* of wrapped functions in a round */
};

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The number of chunks, from the command line. */
static inline int parse_chunks(int argc, char **argv)
{
    int chunks = argc == 2 ? atoi(argv[1]) : 0;
    if (chunks < 1 || chunks > MAX_CHUNKS) {
        fprintf(stderr, "usage: %s CHUNKS\n", argv[0]);
        exit(2);
    }
    return chunks;
}

/* Measure `chunks` chunks of each kind, after one that warms up. Printing comes last: it would disturb. */
static inline void run_chunks(const struct kind *kinds, int n_kinds, int chunks, int print)
{
    static double ns[MAX_KINDS][MAX_CHUNKS];
    for (int chunk = -1; chunk < chunks; chunk++)
        for (int k = 0; k < n_kinds; k++) {
            double begin = now_ns();
            kinds[k].body(kinds[k].rounds);
            double end = now_ns();
            if (chunk >= 0)
                ns[k][chunk] = (end - begin) / (double)kinds[k].rounds / kinds[k].calls;
        }
    for (int k = 0; print && k < n_kinds; k++)
        for (int chunk = 0; chunk < chunks; chunk++)
            printf("%s %.3f\n", kinds[k].name, ns[k][chunk]);
}

/* CALLS(X) has one row per kind: X(name, rounds in a chunk, wrapped calls in a round, statement). */
#define BENCH_BODY(name, rounds, calls, statement)                                                                     \
    static void do_##name(long n)                                                                                      \
    {                                                                                                                  \
        for (long i = 0; i < n; i++) {                                                                                 \
            statement;                                                                                                 \
        }                                                                                                              \
    }
#define BENCH_KIND(name, rounds, calls, statement) {#name, do_##name, rounds, calls},

#endif
