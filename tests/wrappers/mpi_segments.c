/* A known number of collectives that end a segment, among others that do not. */
#include "mpi_expect.h"

int main(int argc, char **argv)
{
    int rank, size, number = 0, sum;
    MPI_Comm pairs, copy;
    MPI_Request request;
    check("MPI_Init", MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int step = 0; step < 50; step++) {
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* cuts: 50 */
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, pairs);          /* cuts only if the pair is all there is */
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);                 /* does not synchronise */
        MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (step % 5 == 0)
            MPI_Barrier(copy); /* cuts: 10 */
    }
    return MPI_Finalize();
}
