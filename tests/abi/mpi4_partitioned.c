/* Partitioned communication (MPI 4) around a ring: bytes count at creation, as with all persistent operations. */
#include "mpi_expect.h"

#define PARTITIONS 4
#define COUNT 5

int main(int argc, char **argv)
{
    int rank, size, flag;
    static double data[PARTITIONS * COUNT], room[PARTITIONS * COUNT];
    const long bytes = sizeof data;
    int last = PARTITIONS - 1;
    MPI_Request requests[2];

    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    DO(MPI_Psend_init, bytes, 0, data, PARTITIONS, COUNT, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD,
       MPI_INFO_NULL, &requests[0]);
    DO(MPI_Precv_init, 0, bytes, room, PARTITIONS, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
       MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PARTITIONS * COUNT; i++)
            data[i] = rank + round + i;
        DO(MPI_Startall, 0, 0, 2, requests);
        DO(MPI_Pready, 0, 0, 0, requests[0]);
        DO(MPI_Pready_range, 0, 0, 1, last - 1, requests[0]);
        DO(MPI_Pready_list, 0, 0, 1, &last, requests[0]);
        DO(MPI_Parrived, 0, 0, requests[1], last, &flag); /* once, whatever it says */
        DO(MPI_Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
        check("what arrived", room[3] != (rank + size - 1) % size + round + 3);
    }
    DO(MPI_Request_free, 0, 0, &requests[0]);
    DO(MPI_Request_free, 0, 0, &requests[1]);
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
