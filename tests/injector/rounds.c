/* A program of known shape for the injector: N rounds of 2 ms computation and an MPI_Allreduce, and a write each tenth.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100, sum = 0;
    MPI_Init(&argc, &argv);
    int fd = open("/dev/null", O_WRONLY);
    for (int i = 0; i < rounds; i++) {
        for (double until = now() + 0.002; now() < until;)
            ;
        if (i % 10 == 9 && write(fd, "x", 1) != 1)
            return 1;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
