/*
 * A fixed MPI program: which functions each rank calls, how often and with how many bytes follows from this text alone
 * and is written down in expected.py, line by line. fixed.F90 is its twin in the three Fortran forms.
 *
 *     fixed FILE        FILE is written and read by MPI-IO
 *
 * No call depends on timing. Ranks form a ring; elements are 8 byte floating point numbers.
 */
#include <mpi.h>
#include <stdio.h>

#define N 64
#define ELEMENT 8

static int rank, size, left, right;
static double data[N], room[N];

static void communicators(void)
{
    MPI_Comm copy, half;
    int half_rank;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank % 2, rank, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Bcast(room, 3, MPI_DOUBLE, 0, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

static void point_to_point(void)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request requests[2];
    int flag, count;

    if (rank == 0) { /* the receiver expects more than it gets */
        MPI_Send(data, 10, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
        MPI_Recv(room, 20, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv(room, 20, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 10, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    }
    MPI_Send(data, 10, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Sendrecv(data, 5, MPI_DOUBLE, right, 2, room, 20, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &status);

    MPI_Irecv(room, 8, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]); /* 4 come */
    MPI_Isend(data, 4, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Test(&requests[0], &flag, &status); /* an inactive request: at once */

    MPI_Isend(data, 7, MPI_DOUBLE, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Probe(left, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Recv(room, count, MPI_DOUBLE, left, 4, MPI_COMM_WORLD, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    MPI_Isend(data, 3, MPI_DOUBLE, right, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(left, 5, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(room, 20, MPI_DOUBLE, &message, &status);
    MPI_Wait(&requests[0], &status);
    MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &status);
}

static void persistent(void)
{
    MPI_Request requests[2];

    MPI_Recv_init(room, 9, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(data, 9, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void derived_type(void)
{
    MPI_Datatype triple;

    MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
    MPI_Type_commit(&triple);
    MPI_Sendrecv(data, 2, triple, right, 7, room, 2, triple, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&triple);
}

static void rooted_collectives(void)
{
    int last = size - 1, counts[N], places[N];

    for (int r = 0; r < size; r++) { /* rank r has r + 1 elements */
        counts[r] = r + 1;
        places[r] = 4 * r;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(room, 11, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatter(data, 2, MPI_DOUBLE, room, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(data, counts, places, MPI_DOUBLE, room, rank + 1, MPI_DOUBLE, last, MPI_COMM_WORLD);
    MPI_Gather(data, 3, MPI_DOUBLE, room, 3, MPI_DOUBLE, last, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Gather(MPI_IN_PLACE, 2, MPI_DOUBLE, room, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(data, 2, MPI_DOUBLE, room, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(data, rank + 1, MPI_DOUBLE, room, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(data, room, 4, MPI_DOUBLE, MPI_SUM, last, MPI_COMM_WORLD);
    MPI_Allgatherv(data, rank + 1, MPI_DOUBLE, room, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void all_to_all_collectives(void)
{
    MPI_Request requests[2];
    double sums[N];

    MPI_Allreduce(data, room, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, room, 6, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allgather(data, 2, MPI_DOUBLE, room, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(data, 3, MPI_DOUBLE, room, 3, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(data, room, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(data, room, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(data, sums, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(room, 7, MPI_DOUBLE, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void one_sided(void)
{
    MPI_Win window;

    MPI_Win_create(room, N * ELEMENT, ELEMENT, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(data, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Get(data, 3, MPI_DOUBLE, right, 8, 3, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Accumulate(data, 2, MPI_DOUBLE, right, 16, 2, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void file(const char *path)
{
    MPI_File handle;
    MPI_Offset place = (MPI_Offset)rank * 5 * ELEMENT;

    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
    MPI_File_write_at(handle, place, data, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(handle, place, data, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at(handle, place, room, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&handle);
}

int main(int argc, char **argv)
{
    double sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < N; i++)
        data[i] = rank + i;

    communicators();
    point_to_point();
    persistent();
    derived_type();
    rooted_collectives();
    all_to_all_collectives();
    one_sided();
    file(argv[1]);

    MPI_Reduce(room, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("fixed: %d ranks, sum %.0f\n", size, sum);
    return MPI_Finalize();
}
