/*
 * An MPI program that knows what it calls: every call goes through DO, which states the bytes that the design's words
 * give. At the end each rank writes "function calls out in" lines to PREFIX.RANK, PREFIX being its first argument.
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

static struct expectation expectations[256];
static int n_expectations;

static void expect(const char *name, long out, long in)
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

static void check(const char *what, int error)
{
    if (error == MPI_SUCCESS)
        return;
    fprintf(stderr, "%s failed with %d\n", what, error);
    exit(3);
}

/* Call a function and state how many bytes it sends and receives in this process. */
#define DO(function, out, in, ...) (expect(#function, (out), (in)), check(#function, function(__VA_ARGS__)))

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
