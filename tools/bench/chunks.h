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

enum { MAX_CHUNKS = 1000, MAX_KINDS = 4 };

struct kind {
    const char *name;
    void (*body)(long calls);
    long calls;   /* in a chunk: some 2 ms of them */
    double units; /* what is measured per call of body's loop */
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
            kinds[k].body(kinds[k].calls);
            double end = now_ns();
            if (chunk >= 0)
                ns[k][chunk] = (end - begin) / (double)kinds[k].calls / kinds[k].units;
        }
    for (int k = 0; print && k < n_kinds; k++)
        for (int chunk = 0; chunk < chunks; chunk++)
            printf("%s %.3f\n", kinds[k].name, ns[k][chunk]);
}

#endif
