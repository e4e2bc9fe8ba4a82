/*
 * Sizes that need 64 bits, without the memory for them: persistent operations count at their creation, and these are
 * never started. That the large-count forms (MPI-4) count as the plain ones is tested by tests/wrappers/mpi_*.c.
 */
#define LARGE
#include "mpi_expect.h"

int main(int argc, char **argv)
{
    const MPI_Count huge = 3000000000;
    double data[1];
    int rank, size, right, left;
    MPI_Datatype block;
    MPI_Request request;
    MPI_Count bytes;

    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;

    DO_N(MPI_Send_init, huge, 0, data, huge, MPI_BYTE, right, 4, MPI_COMM_WORLD, &request);
    DO(MPI_Request_free, 0, 0, &request);
    DO_N(MPI_Recv_init, 0, huge * 8, data, huge, MPI_DOUBLE, left, 4, MPI_COMM_WORLD, &request);
    DO(MPI_Request_free, 0, 0, &request);

    DO_N(MPI_Type_contiguous, 0, 0, huge, MPI_BYTE, &block); /* a size that MPI_Type_size cannot tell */
    DO(MPI_Type_commit, 0, 0, &block);
    DO_N(MPI_Type_size, 0, 0, block, &bytes);
    check("the size of a large type", bytes != huge);
    DO(MPI_Send_init, 2 * huge, 0, data, 2, block, right, 4, MPI_COMM_WORLD, &request);
    DO(MPI_Request_free, 0, 0, &request);
    DO(MPI_Type_free, 0, 0, &block);

    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
