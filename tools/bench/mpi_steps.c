/*
 * mpi_steps STEPS WORK_US: STEPS times a computation of WORK_US, then MPI_Allreduce of one number. Rank 0 prints the
 * seconds that the steps took. The computation is a fixed number of operations, so that a disturbed run does the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALIBRATION_ROUNDS = 20, CALIBRATION_OPERATIONS = 200000 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The compiler may move arithmetic past a call that reads the clock: the value that goes in and the one that comes out
 * are volatile, and so are read and written where they stand. */
static double compute(double value, long operations)
{
    volatile double at_begin = value, at_end;
    value = at_begin;
    for (long i = 0; i < operations; i++)
        value = value * 0.999999 + 1e-6;
    at_end = value;
    return at_end;
}

/* Operations a second on an undisturbed processor: the best of some rounds. */
static double rate(void)
{
    double best = 0, value = 1;
    for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
        const double begin = now_s();
        value = compute(value, CALIBRATION_OPERATIONS);
        const double found = CALIBRATION_OPERATIONS / (now_s() - begin);
        best = found > best ? found : best;
    }
    return value < 0 ? 0 : best;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long steps = argc > 1 ? atol(argv[1]) : 0;
    double operations = argc > 2 ? rate() * atof(argv[2]) * 1e-6 : 0, value = 1, sum;
    MPI_Bcast(&operations, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    for (long i = 0; i < steps; i++) {
        value = compute(value, (long)operations);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.6f\n", now_s() - begin);
    MPI_Finalize();
    return 0;
}
