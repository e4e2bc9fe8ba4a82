/* Point-to-point communication in all its forms, on any number of ranks from 2; neighbours in a ring. */
#include "mpi_expect.h"

#define N 100
static int rank, size, right, left;
static double data[N], room[N];

static void blocking(void)
{
    MPI_Status status;
    const long bytes = N * (long)sizeof(double);
    static char buffer[N * sizeof(double) + MPI_BSEND_OVERHEAD];
    void *detached;
    count_t detached_size;
    if (rank % 2 == 0 && right != 0) {
        DO_N(MPI_Send, bytes, 0, data, N, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
        DO_N(MPI_Ssend, 40, 0, data, 10, MPI_FLOAT, right, 1, MPI_COMM_WORLD);
        DO_N(MPI_Buffer_attach, 0, 0, buffer, sizeof buffer);
        DO_N(MPI_Bsend, 7, 0, data, 7, MPI_CHAR, right, 1, MPI_COMM_WORLD);
        DO_N(MPI_Buffer_detach, 0, 0, &detached, &detached_size);
        DO_N(MPI_Send, 0, 0, data, 0, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    } else if (rank % 2 == 1) { /* shorter than posted, status wanted or not */
        DO_N(MPI_Recv, 0, bytes, room, N, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        DO_N(MPI_Recv, 0, 40, room, N, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        DO(MPI_Probe, 0, 0, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        DO_N(MPI_Recv, 0, 7, room, 50, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        DO_N(MPI_Recv, 0, 0, room, N, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &status);
    }
    DO_N(MPI_Send, 0, 0, data, N, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    DO_N(MPI_Recv, 0, 0, room, N, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void both_ways(void)
{
    MPI_Status status;
    DO_N(MPI_Sendrecv, 80, 80, data, 10, MPI_DOUBLE, right, 2, room, N, MPI_DOUBLE, left, 2, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
    DO_N(MPI_Sendrecv, 24, 24, data, 3, MPI_DOUBLE, right, 2, room, N, MPI_BYTE, left, 2, MPI_COMM_WORLD, &status);
    int to = right ? right : MPI_PROC_NULL, from = rank ? left : MPI_PROC_NULL; /* an open chain */
    DO_N(MPI_Sendrecv, right ? 16 : 0, rank ? 16 : 0, data, 2, MPI_DOUBLE, to, 2, room, N, MPI_DOUBLE, from, 2,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    DO_N(MPI_Sendrecv_replace, 32, 32, room, 4, MPI_DOUBLE, right, 2, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    MPI_Request requests[4];
    int index, flag, indices[4];
    DO_N(MPI_Irecv, 0, 8 * N, room, N, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]); /* counts what was posted */
    DO_N(MPI_Isend, 8, 0, data, 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
    DO_N(MPI_Irecv, 0, 0, room, N, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[2]);
    DO_N(MPI_Isend, 0, 0, data, N, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[3]);
    DO(MPI_Waitall, 0, 0, 4, requests, MPI_STATUSES_IGNORE);
    DO_N(MPI_Irecv, 0, 8, room, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]);
    DO_N(MPI_Issend, 8, 0, data, 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
    DO(MPI_Waitany, 0, 0, 2, requests, &index, MPI_STATUS_IGNORE);
    DO(MPI_Wait, 0, 0, &requests[!index], MPI_STATUS_IGNORE);
    DO_N(MPI_Irecv, 0, 8, room, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]);
    DO_N(MPI_Isend, 8, 0, data, 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
    for (int done = 0; done < 2; done += index) /* MPI_UNDEFINED never comes before both are done */
        DO(MPI_Waitsome, 0, 0, 2, requests, &index, indices, MPI_STATUSES_IGNORE);
    DO_N(MPI_Irecv, 0, 8, room, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]);
    DO_N(MPI_Isend, 8, 0, data, 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
    for (flag = 0; !flag;)
        DO(MPI_Test, 0, 0, &requests[0], &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        DO(MPI_Testall, 0, 0, 1, &requests[1], &flag, MPI_STATUSES_IGNORE);
}

/* The other modes. A ready send needs its receive posted: the ring does so before the barrier. */
static void modes(void)
{
    enum { LATE = 7 };
    MPI_Request requests[8];
    static char buffer[3 * (8 + MPI_BSEND_OVERHEAD)];
    void *detached;
    count_t detached_size;
    DO_N(MPI_Buffer_attach, 0, 0, buffer, sizeof buffer);
    for (int i = 0; i < 3; i++)
        DO_N(MPI_Irecv, 0, 8, room + i, 1, MPI_DOUBLE, left, LATE + i, MPI_COMM_WORLD, &requests[i]);
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    DO_N(MPI_Rsend, 8, 0, data, 1, MPI_DOUBLE, right, LATE, MPI_COMM_WORLD);
    DO_N(MPI_Irsend, 8, 0, data, 1, MPI_DOUBLE, right, LATE + 1, MPI_COMM_WORLD, &requests[3]);
    DO_N(MPI_Ibsend, 8, 0, data, 1, MPI_DOUBLE, right, LATE + 2, MPI_COMM_WORLD, &requests[4]);
    DO(MPI_Waitall, 0, 0, 5, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        DO_N(MPI_Recv_init, 0, 16, room + 2 * i, 2, MPI_DOUBLE, left, LATE + i, MPI_COMM_WORLD, &requests[i]);
    DO_N(MPI_Bsend_init, 8, 0, data, 1, MPI_DOUBLE, right, LATE, MPI_COMM_WORLD, &requests[3]);
    DO_N(MPI_Ssend_init, 16, 0, data, 2, MPI_DOUBLE, right, LATE + 1, MPI_COMM_WORLD, &requests[4]);
    DO_N(MPI_Rsend_init, 16, 0, data, 2, MPI_DOUBLE, right, LATE + 2, MPI_COMM_WORLD, &requests[5]);
    DO(MPI_Startall, 0, 0, 3, requests);
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    for (int i = 3; i < 6; i++)
        DO(MPI_Start, 0, 0, &requests[i]);
    DO(MPI_Waitall, 0, 0, 6, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 6; i++)
        DO(MPI_Request_free, 0, 0, &requests[i]);
    DO_N(MPI_Buffer_detach, 0, 0, &detached, &detached_size);
}

#if MPI_VERSION >= 4
static void of_mpi_4(void)
{
    enum { PARTS = 3 };
    MPI_Request requests[2];
    int list[1] = {2}, arrived = 0;
    DO_N(MPI_Isendrecv, 80, 8 * N, data, 10, MPI_DOUBLE, right, 9, room, N, MPI_DOUBLE, left, 9, MPI_COMM_WORLD,
         &requests[0]); /* counts what was posted */
    DO(MPI_Wait, 0, 0, &requests[0], MPI_STATUS_IGNORE);
    DO_N(MPI_Isendrecv_replace, 32, 32, room, 4, MPI_DOUBLE, right, 9, left, 9, MPI_COMM_WORLD, &requests[0]);
    DO(MPI_Wait, 0, 0, &requests[0], MPI_STATUS_IGNORE);
    DO(MPI_Psend_init, PARTS * 10 * 8, 0, data, PARTS, 10, MPI_DOUBLE, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
       &requests[0]);
    DO(MPI_Precv_init, 0, PARTS * 10 * 8, room, PARTS, 10, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
       &requests[1]);
    DO(MPI_Startall, 0, 0, 2, requests);
    DO(MPI_Pready, 0, 0, 0, requests[0]);
    DO(MPI_Pready_range, 0, 0, 1, 1, requests[0]);
    DO(MPI_Pready_list, 0, 0, 1, list, requests[0]);
    while (!arrived)
        DO(MPI_Parrived, 0, 0, requests[1], 0, &arrived);
    DO(MPI_Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
    DO(MPI_Request_free, 0, 0, &requests[0]);
    DO(MPI_Request_free, 0, 0, &requests[1]);
}
#endif

static void probes(void)
{
    MPI_Message message;
    MPI_Request request, matched;
    int flag = 0;
    DO_N(MPI_Isend, 20, 0, data, 20, MPI_CHAR, right, 4, MPI_COMM_WORLD, &request);
    while (!flag)
        DO(MPI_Iprobe, 0, 0, left, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    DO(MPI_Mprobe, 0, 0, left, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    DO_N(MPI_Mrecv, 0, 20, room, N, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE);
    DO_N(MPI_Isend, 20, 0, data, 20, MPI_CHAR, right, 4, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag;)
        DO(MPI_Improbe, 0, 0, left, 4, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    DO_N(MPI_Imrecv, 0, 30, room, 30, MPI_CHAR, &message, &matched);
    DO(MPI_Wait, 0, 0, &matched, MPI_STATUS_IGNORE);
    DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[2];
    DO_N(MPI_Recv_init, 0, 80, room, 10, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, &requests[0]);
    DO_N(MPI_Send_init, 80, 0, data, 10, MPI_DOUBLE, right, 5, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        DO(MPI_Startall, 0, 0, 2, requests);
        DO(MPI_Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
    }
    DO(MPI_Request_free, 0, 0, &requests[0]);
    DO(MPI_Request_free, 0, 0, &requests[1]);
}

/* Sizes of derived types, not extents; handles are used again after they are freed. */
static void derived_types(void)
{
    MPI_Datatype type;
    for (int block = 1; block <= 3; block++) {
        DO_N(MPI_Type_vector, 0, 0, 4, block, 5, MPI_DOUBLE, &type);
        DO(MPI_Type_commit, 0, 0, &type);
        DO_N(MPI_Sendrecv, 2 * 4 * block * 8, 2 * 4 * block * 8, data, 2, type, right, 6, room, 2, type, left, 6,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        DO(MPI_Type_free, 0, 0, &type);
    }
    DO_N(MPI_Sendrecv, 3 * 12, 3 * 12, data, 3, MPI_DOUBLE_INT, right, 6, room, 3, MPI_DOUBLE_INT, left, 6,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    DO_N(MPI_Sendrecv, 2 * 16, 2 * 16, data, 2, MPI_C_DOUBLE_COMPLEX, right, 6, room, 2, MPI_C_DOUBLE_COMPLEX, left, 6,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    blocking();
    both_ways();
    nonblocking();
    probes();
    persistent();
    modes();
#if MPI_VERSION >= 4
    of_mpi_4();
#endif
    derived_types();
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
