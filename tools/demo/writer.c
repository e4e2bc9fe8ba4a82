/*
 * writer DIRECTORY SECONDS PERIOD   An MPI job that floods a disk for the second half of every PERIOD seconds.
 *
 * Each rank writes 1 MiB blocks to a file of its own, round and round in 64 MiB, each block followed by fsync.
 * Rank 0 says when a burst begins, and at its end what rate it reached.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, BLOCKS = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double when)
{
    double left = when - now();
    if (left > 0)
        usleep((useconds_t)(left * 1e6));
}

/* Write until `end`; the number of blocks written. */
static long burst(int fd, const char *block, double end)
{
    long n = 0;
    for (; now() < end; n++)
        if (pwrite(fd, block, BLOCK, (n % BLOCKS) * (off_t)BLOCK) != BLOCK || fsync(fd) != 0) {
            perror("writer");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    return n;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "usage: writer DIRECTORY SECONDS PERIOD\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double seconds = atof(argv[2]), half = atof(argv[3]) / 2;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char path[4096];
    snprintf(path, sizeof path, "%s/flood.%d", argv[1], rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char *block = malloc(BLOCK);
    if (fd < 0 || !block) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(block, 'x', BLOCK);

    double begin = now();
    for (double at = half; at < seconds; at += 2 * half) {
        double length = at + half < seconds ? half : seconds - at;
        sleep_until(begin + at);
        if (rank == 0)
            printf("flood at %.0f s\n", at);
        fflush(stdout);
        long mine = burst(fd, block, begin + at + length), all;
        MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("quiet at %.0f s after %.1f MB/s\n", at + length, (double)all * BLOCK / 1e6 / length);
        fflush(stdout);
    }
    sleep_until(begin + seconds);
    close(fd);
    unlink(path);
    MPI_Finalize();
    return 0;
}
