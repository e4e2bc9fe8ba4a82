/* One-sided communication: every way to move data and to synchronise, on windows of every kind. */
#include "mpi_expect.h"

enum { N = 64 };
static int rank, size, target;
static int data[N], room[N], result[N];
static const long INT = sizeof(int);

static void fenced(MPI_Win window)
{
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO_N(MPI_Put, 16, 0, data, 4, MPI_INT, target, 0, 4, MPI_INT, window);
    DO_N(MPI_Put, 0, 0, data, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO_N(MPI_Get, 0, 12, data, 3, MPI_INT, target, 8, 3, MPI_INT, window);
    DO_N(MPI_Accumulate, 4, 0, data + 8, 1, MPI_INT, target, 16, 1, MPI_INT, MPI_SUM, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
}

static void locked(MPI_Win window)
{
    MPI_Request requests[4];
    DO(MPI_Win_lock, 0, 0, MPI_LOCK_SHARED, target, 0, window);
    DO_N(MPI_Get_accumulate, 8, 8, data, 2, MPI_INT, result, 2, MPI_INT, target, 0, 2, MPI_INT, MPI_SUM, window);
    /* Nothing of the origin is looked at when nothing is to be done to the target. */
    DO_N(MPI_Get_accumulate, 8, 8, NULL, 0, MPI_INT, result, 2, MPI_INT, target, 0, 2, MPI_INT, MPI_NO_OP, window);
    DO(MPI_Win_flush, 0, 0, target, window);
    DO(MPI_Win_unlock, 0, 0, target, window);
    DO(MPI_Win_lock_all, 0, 0, 0, window);
    DO(MPI_Fetch_and_op, 4, 4, data, result, MPI_INT, target, 0, MPI_SUM, window);
    DO(MPI_Compare_and_swap, 4, 4, data, data + 1, result + 1, MPI_INT, target, 1, window);
    DO(MPI_Win_flush_local, 0, 0, target, window);
    DO_N(MPI_Rput, 12, 0, data, 3, MPI_INT, target, 8, 3, MPI_INT, window, &requests[0]);
    DO_N(MPI_Rget, 0, 16, result, 4, MPI_INT, target, 16, 4, MPI_INT, window, &requests[1]);
    DO_N(MPI_Raccumulate, 20, 0, data, 5, MPI_INT, target, 24, 5, MPI_INT, MPI_SUM, window, &requests[2]);
    DO_N(MPI_Rget_accumulate, 24, 24, data, 6, MPI_INT, result + 8, 6, MPI_INT, target, 32, 6, MPI_INT, MPI_SUM, window,
         &requests[3]);
    DO(MPI_Waitall, 0, 0, 4, requests, MPI_STATUSES_IGNORE);
    DO(MPI_Win_flush_all, 0, 0, window);
    DO(MPI_Win_flush_local_all, 0, 0, window);
    DO(MPI_Win_sync, 0, 0, window);
    DO(MPI_Win_unlock_all, 0, 0, window);
}

/* Each rank exposes its window to the one before it. */
static void posted(MPI_Win window)
{
    MPI_Group all, origins, targets;
    int origin = (rank + size - 1) % size, flag = 0;
    DO(MPI_Win_get_group, 0, 0, window, &all);
    DO(MPI_Group_incl, 0, 0, all, 1, &origin, &origins);
    DO(MPI_Group_incl, 0, 0, all, 1, &target, &targets);
    for (int round = 0; round < 2; round++) {
        DO(MPI_Win_post, 0, 0, origins, 0, window);
        DO(MPI_Win_start, 0, 0, targets, 0, window);
        DO_N(MPI_Put, INT, 0, data, 1, MPI_INT, target, 0, 1, MPI_INT, window);
        DO(MPI_Win_complete, 0, 0, window);
        if (round == 0)
            DO(MPI_Win_wait, 0, 0, window);
        else
            while (!flag)
                DO(MPI_Win_test, 0, 0, window, &flag);
    }
    DO(MPI_Group_free, 0, 0, &all);
    DO(MPI_Group_free, 0, 0, &origins);
    DO(MPI_Group_free, 0, 0, &targets);
}

static void windows(void)
{
    MPI_Win window;
    MPI_Info info;
    MPI_Aint bytes;
    void *base;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
#ifdef LARGE
    MPI_Aint unit;
#else
    int unit;
#endif
    DO_N(MPI_Win_create, 0, 0, room, sizeof room, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    fenced(window);
    locked(window);
    posted(window);
    DO(MPI_Win_set_name, 0, 0, window, "room");
    DO(MPI_Win_get_name, 0, 0, window, name, &length);
    DO(MPI_Win_get_info, 0, 0, window, &info);
    DO(MPI_Win_set_info, 0, 0, window, info);
    DO(MPI_Info_free, 0, 0, &info);
    DO(MPI_Win_free, 0, 0, &window);
    DO_N(MPI_Win_allocate, 0, 0, sizeof room, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    fenced(window);
    DO(MPI_Win_free, 0, 0, &window);
    DO_N(MPI_Win_allocate_shared, 0, 0, sizeof room, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    DO_N(MPI_Win_shared_query, 0, 0, window, target, &bytes, &unit, &base);
    DO(MPI_Win_free, 0, 0, &window);
    DO(MPI_Win_create_dynamic, 0, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    DO(MPI_Win_attach, 0, 0, window, room, sizeof room);
    DO(MPI_Win_detach, 0, 0, window, room);
    DO(MPI_Win_free, 0, 0, &window);
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    target = (rank + 1) % size;
    windows();
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
