/*
 * mpi_end finalize   a sum over all ranks
 * mpi_end fail       rank 1 exits with 3
 * mpi_end leave      rank 1 exits with 3 before MPI_Finalize
 * mpi_end abort      rank 0 calls MPI_Abort(5)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, sum, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, sum %d\n", ranks, sum);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 2 && strcmp(argv[1], "leave") == 0 && rank == 1)
        exit(3);
    if (argc == 2 && strcmp(argv[1], "abort") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Finalize();
    return argc == 2 && strcmp(argv[1], "fail") == 0 && rank == 1 ? 3 : 0;
}
