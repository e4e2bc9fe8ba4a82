/* What mpi_tool.c is tried on: 30 MPI_Allreduce and 10 MPI_Send from even to odd ranks. Also the body of the plug-in.
 */
#include <mpi.h>

#ifdef PLUGIN
int run(int argc, char **argv);
int run(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
    int rank, size, number = 1, sum;
    MPI_Init(&argc, &argv);
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
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
