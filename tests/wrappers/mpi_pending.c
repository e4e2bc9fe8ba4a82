/*
 * Nonblocking and persistent collectives that end segments where they are completed, in every way to complete them,
 * among requests that end none. Rank 0 prints how many world-sized ones there were, and how many calls completed them.
 */
#include "mpi_expect.h"

#include <pthread.h>

enum { ROUNDS = 10, MANY = 70 };

static int rank, size, number, sums[2], all[64], collectives, cuts;
static MPI_Comm world, half;
static MPI_Request request[MANY];

static void done(int n_collectives, int n_cuts)
{
    collectives += n_collectives;
    cuts += n_cuts;
}

static void start_two(void)
{
    check("MPI_Iallreduce", MPI_Iallreduce(&number, &sums[0], 1, MPI_INT, MPI_SUM, world, &request[0]));
    check("MPI_Ibarrier", MPI_Ibarrier(MPI_COMM_WORLD, &request[1]));
}

/* Ranks ask for their two in different orders. */
static void waits(void)
{
    int index, n, indices[2];
    check("MPI_Iallgather", MPI_Iallgather(&number, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request[0]));
    check("MPI_Wait", MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    done(1, 1);
    start_two();
    check("MPI_Wait", MPI_Wait(&request[rank % 2], MPI_STATUS_IGNORE));
    check("MPI_Wait", MPI_Wait(&request[1 - rank % 2], MPI_STATUS_IGNORE));
    done(2, 2);
    start_two();
    check("MPI_Waitany", MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE));
    check("MPI_Waitany", MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE));
    check("MPI_Waitany", MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE)); /* none is left */
    done(2, 2);
    start_two();
    for (int left = 2; left; left -= n) {
        check("MPI_Waitsome", MPI_Waitsome(2, request, &n, indices, MPI_STATUSES_IGNORE));
        done(n, 1);
    }
}

static void tests(void)
{
    int flag = 0, index, n, indices[2];
    check("MPI_Ialltoall", MPI_Ialltoall(all, 1, MPI_INT, &all[32], 1, MPI_INT, MPI_COMM_WORLD, &request[0]));
    while (!flag)
        check("MPI_Test", MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
    check("MPI_Test", MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE)); /* true, and ends nothing */
    done(1, 1);
    start_two();
    for (flag = 0; !flag;)
        check("MPI_Testall", MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE));
    done(2, 1);
    start_two();
    for (int left = 2; left; left -= flag) {
        check("MPI_Testany", MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE));
        done(flag, flag);
    }
    start_two();
    for (int left = 2; left; left -= n) {
        check("MPI_Testsome", MPI_Testsome(2, request, &n, indices, MPI_STATUSES_IGNORE));
        done(n, n > 0);
    }
}

/* One call completes two collectives among messages and collectives that end nothing. */
static void together(void)
{
    int in, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    check("MPI_Irecv", MPI_Irecv(&in, 1, MPI_INT, previous, 0, world, &request[2]));
    check("MPI_Isend", MPI_Isend(&number, 1, MPI_INT, next, 0, world, &request[3]));
    check("MPI_Ibcast", MPI_Ibcast(&sums[1], 1, MPI_INT, 0, MPI_COMM_WORLD, &request[4]));
    check("MPI_Ibarrier", MPI_Ibarrier(half, &request[5]));
    start_two();
    check("MPI_Waitall", MPI_Waitall(6, request, MPI_STATUSES_IGNORE));
    done(2, 1);
    check("MPI_Ibarrier", MPI_Ibarrier(half, &request[0]));
    check("MPI_Wait", MPI_Wait(&request[0], MPI_STATUS_IGNORE));
}

/* More than the library follows: each still counts. */
static void too_many(void)
{
    for (int i = 0; i < MANY; i++)
        check("MPI_Ibarrier", MPI_Ibarrier(MPI_COMM_WORLD, &request[i]));
    check("MPI_Waitall", MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE));
    done(MANY, 1);
}

static void *wait_there(void *nothing)
{
    check("MPI_Wait", MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    return nothing;
}

static void *barrier_there(void *nothing)
{
    check("MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
    return nothing;
}

static void *start_and_wait_there(void *nothing)
{
    check("MPI_Ibarrier", MPI_Ibarrier(world, &request[0]));
    return wait_there(nothing);
}

static void in_another_thread(void *(*work)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

/* In another thread, on each rank at other times, as with `omp single`: the next cut counts it. */
static void elsewhere(void)
{
    check("MPI_Ibarrier", MPI_Ibarrier(MPI_COMM_WORLD, &request[0]));
    in_another_thread(wait_there);
    check("MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
    done(2, 1);
    for (int round = 0; round < ROUNDS; round++) {
        const int there = (rank + round) % 3 == 0;
        if (there)
            in_another_thread(barrier_there);
        else
            barrier_there(NULL);
        done(1, !there);
    }
    in_another_thread(start_and_wait_there);
    done(1, 0);
}

#if MPI_VERSION >= 4
static void persistent(void)
{
    check("MPI_Allreduce_init",
          MPI_Allreduce_init(&number, sums, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request[0]));
    check("MPI_Barrier_init", MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]));
    check("MPI_Barrier_init", MPI_Barrier_init(half, MPI_INFO_NULL, &request[2]));
    for (int i = 0; i < ROUNDS; i++) {
        check("MPI_Start", MPI_Start(&request[0]));
        check("MPI_Wait", MPI_Wait(&request[0], MPI_STATUS_IGNORE));
        check("MPI_Wait", MPI_Wait(&request[0], MPI_STATUS_IGNORE)); /* it does not run */
        done(1, 1);
        check("MPI_Startall", MPI_Startall(3, request));
        check("MPI_Waitall", MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
        done(2, 1);
    }
    for (int i = 0; i < 3; i++)
        check("MPI_Request_free", MPI_Request_free(&request[i]));
}
#else
static void persistent(void) {}
#endif

int main(int argc, char **argv)
{
    int provided;
    check("MPI_Init_thread", MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, rank != 0, 0, &half);
    for (int round = 0; round < ROUNDS; round++) {
        waits();
        tests();
        together();
    }
    too_many();
    persistent();
    if (provided == MPI_THREAD_MULTIPLE)
        elsewhere();
    printf("%d %d %d\n", rank, collectives, cuts);
    return MPI_Finalize();
}
