/*
 * Programs without world-sized collectives in their loops, by name, with a number of steps and US microseconds of work
 * in each: sleeping, so that a busy machine matters little.
 *
 *   ring STEPS US SLOW    halo exchange in a ring; in every tenth stretch of 20 steps rank 0 sleeps for SLOW us more.
 *                         Prints for how many us it did
 *   grid STEPS US         Allreduce on rows and columns
 *   phases STEPS US       two loops of STEPS steps, with exchanges of their own
 *   master STEPS US       rank 0 gives STEPS tasks to the others, longer ones to higher ranks
 *   init STEPS US         STEPS exchanges first, then five times as many steps with an exchange and MPI_Allreduce each
 *   rare STEPS US         halo exchange, and MPI_Allreduce every 500 steps
 */
#include "mpi_expect.h"

#include <unistd.h>

static int rank, size, number, in;

static double work(double us)
{
    const double begin = MPI_Wtime();
    if (us > 0)
        usleep((useconds_t)us);
    return 1e6 * (MPI_Wtime() - begin);
}

static void shift(void)
{
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    check("MPI_Sendrecv",
          MPI_Sendrecv(&number, 1, MPI_INT, next, 0, &in, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check("MPI_Sendrecv",
          MPI_Sendrecv(&number, 1, MPI_INT, previous, 1, &in, 1, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The same with nonblocking calls. */
static void exchange(void)
{
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request request[4];
    int from[2];
    MPI_Irecv(&from[0], 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(&from[1], 1, MPI_INT, next, 3, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(&number, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(&number, 1, MPI_INT, previous, 3, MPI_COMM_WORLD, &request[3]);
    check("MPI_Waitall", MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
}

static void ring(int steps, double us, double slow)
{
    double slept = 0;
    for (int step = 0; step < steps; step++) {
        work(us);
        if (slow > 0 && rank == 0 && step / 20 % 10 == 9)
            slept += work(slow);
        exchange();
    }
    if (slow > 0 && rank == 0)
        printf("%.0f\n", slept);
}

static void grid(int steps, double us)
{
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    for (int step = 0; step < steps; step++) {
        work(us);
        MPI_Allreduce(&number, &in, 1, MPI_INT, MPI_SUM, row);
        MPI_Allreduce(&number, &in, 1, MPI_INT, MPI_SUM, column);
    }
}

static void phases(int steps, double us)
{
    ring(steps, us, 0);
    for (int step = 0; step < steps; step++) {
        work(2 * us);
        shift();
    }
}

static void master(int tasks, double us)
{
    enum { ASK, TASK };
    if (rank == 0) {
        MPI_Status status;
        for (int task = 0; task < tasks + size - 1; task++) {
            MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &status);
            number = task < tasks ? 1 + task * 7 % 3 : 0;
            MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
        }
        return;
    }
    for (in = 1; in; work(in * us * rank * rank)) {
        MPI_Send(&rank, 1, MPI_INT, 0, ASK, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void init(int steps, double us)
{
    for (int step = 0; step < steps; step++)
        exchange();
    for (int step = 0; step < 5 * steps; step++) {
        work(us);
        exchange();
        MPI_Allreduce(&number, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void rare(int steps, double us)
{
    for (int step = 0; step < steps; step++) {
        work(us);
        exchange();
        if (step % 500 == 499)
            MPI_Allreduce(&number, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    check("MPI_Init", MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int steps = atoi(argv[2]);
    const double us = atof(argv[3]);
    if (!strcmp(argv[1], "ring"))
        ring(steps, us, argc > 4 ? atof(argv[4]) : 0);
    else if (!strcmp(argv[1], "grid"))
        grid(steps, us);
    else if (!strcmp(argv[1], "phases"))
        phases(steps, us);
    else if (!strcmp(argv[1], "master"))
        master(steps, us);
    else if (!strcmp(argv[1], "init"))
        init(steps, us);
    else if (!strcmp(argv[1], "rare"))
        rare(steps, us);
    return MPI_Finalize();
}
