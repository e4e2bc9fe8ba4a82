/* What mpi_tool.c is tried on: 30 MPI_Allreduce and 10 MPI_Send from even to odd ranks. Also as plug-ins:
   PLUGIN has all of it, LATE_PLUGIN only what lies between MPI_Init and MPI_Finalize; it tells its host. */
#include <mpi.h>

int exchange(void);
int exchange(void)
{
    int rank, size, number = 1, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 30; i++)
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        if (rank % 2 == 0 && rank + 1 < size)
            MPI_Send(&number, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
        else if (rank % 2 == 1)
            MPI_Recv(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return sum == size ? 0 : 1;
}

#if defined(LATE_PLUGIN)
extern int (*left_by_plugin)(void);
__attribute__((constructor)) static void tell(void) { left_by_plugin = exchange; }
#endif

#if defined(PLUGIN)
int run(int argc, char **argv);
int run(int argc, char **argv)
#elif !defined(LATE_PLUGIN)
int main(int argc, char **argv)
#endif
#ifndef LATE_PLUGIN
{
    MPI_Init(&argc, &argv);
    int error = exchange();
    MPI_Finalize();
    return error;
}
#endif
