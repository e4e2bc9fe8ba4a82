/*
 * An MPI program that knows what it calls: every call goes through DO, which states the bytes that the design's words
 * give. At the end each rank writes "function calls out in" lines to PREFIX.RANK, PREFIX being its first argument.
 *
 * Functions that have a large-count form are called through DO_N, with counts and places in arrays of count_t and
 * place_t: built with LARGE, the program calls those forms instead, which must count the same under the same names.
 */
#ifndef MPI_EXPECT_H
#define MPI_EXPECT_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expectation {
    char name[48];
    long calls, out, in;
};

static struct expectation expectations[512];
static int n_expectations;

static inline void expect(const char *name, long out, long in)
{
    int i = 0;
    while (i < n_expectations && strcmp(expectations[i].name, name))
        i++;
    if (i == n_expectations)
        snprintf(expectations[n_expectations++].name, sizeof expectations[i].name, "%s", name);
    expectations[i].calls++;
    expectations[i].out += out;
    expectations[i].in += in;
}

static inline void check(const char *what, int error)
{
    if (error == MPI_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, error);
    exit(3);
}

/* Call a function and state how many bytes it sends and receives in this process. */
#define DO(function, out, in, ...) (expect(#function, (out), (in)), check(#function, function(__VA_ARGS__)))

#ifdef LARGE
#define DO_N(function, out, in, ...) (expect(#function, (out), (in)), check(#function, function##_c(__VA_ARGS__)))
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#else
#define DO_N DO
typedef int count_t;
typedef int place_t;
#endif

static inline void write_expectations(const char *prefix, int rank)
{
    char path[512];
    snprintf(path, sizeof path, "%s.%d", prefix, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(4);
    for (int i = 0; i < n_expectations; i++)
        fprintf(file, "%s %ld %ld %ld\n", expectations[i].name, expectations[i].calls, expectations[i].out,
                expectations[i].in);
    if (fclose(file))
        exit(4);
}

#endif
