/*
 * time_target: two ranks. Rank 0 blocks 3 s in read() of a pipe, computes for 2 s, then waits 2 s in MPI_Recv; rank 1
 * makes it wait. Rank 0 prints, for each stretch, its name, begin and end in ns of UTC, and the CPU time it took.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t log_stretch(const char *name, int64_t begin)
{
    static int64_t cpu;
    const int64_t end = now(CLOCK_REALTIME), before = cpu;
    cpu = now(CLOCK_THREAD_CPUTIME_ID);
    printf("%s %lld %lld %lld\n", name, (long long)begin, (long long)end, (long long)(cpu - before));
    return now(CLOCK_REALTIME);
}

static void wait_and_measure(void)
{
    int ends[2], number;
    char byte;
    int64_t begin;
    if (pipe(ends))
        return;
    if (fork() == 0) {
        sleep(3);
        _exit(write(ends[1], "x", 1) != 1);
    }
    begin = now(CLOCK_REALTIME);
    if (read(ends[0], &byte, 1) != 1)
        return;
    wait(NULL);
    begin = log_stretch("io", begin);
    for (int64_t end = now(CLOCK_MONOTONIC) + 2000000000; now(CLOCK_MONOTONIC) < end;)
        ;
    begin = log_stretch("compute", begin);
    MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    log_stretch("mpi", begin);
}

int main(int argc, char **argv)
{
    int rank, number = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        wait_and_measure();
    } else {
        sleep(7);
        MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
