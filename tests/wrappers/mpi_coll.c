/* Collectives of all shapes and forms (MPI-4 brought the persistent ones), with MPI_IN_PLACE, on sub- and
 * inter-communicators. */
#include "mpi_expect.h"

#define MAX 64
static int rank, size;
static int mine[MAX * MAX], all[MAX * MAX];
static const long INT = sizeof(int);

/* Rank r contributes r + 1 elements to a v-collective. */
static count_t counts[MAX], same[MAX];
static place_t displacements[MAX], strides[MAX];
static long total;

static void set_counts(int n)
{
    total = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = r + 1;
        displacements[r] = (place_t)total;
        total += counts[r];
        same[r] = 2;
        strides[r] = 2 * r;
    }
}

static MPI_Request request;

static void complete(void) { DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE); }

#if MPI_VERSION >= 4
/* Once: MPICH 4.0.2 fails when some are started again. */
static void run_persistent(void)
{
    DO(MPI_Start, 0, 0, &request);
    complete();
    DO(MPI_Request_free, 0, 0, &request);
}
#define PERSISTENT(name, out, in, ...)                                                                                 \
    (DO_N(MPI_##name##_init, out, in, __VA_ARGS__, MPI_INFO_NULL, &request), run_persistent())
#else
#define PERSISTENT(name, out, in, ...) (void)0
#endif

/* One call of each form. */
#define FORMS(name, i_name, out, in, ...)                                                                              \
    do {                                                                                                               \
        DO_N(MPI_##name, out, in, __VA_ARGS__);                                                                        \
        DO_N(MPI_##i_name, out, in, __VA_ARGS__, &request);                                                            \
        complete();                                                                                                    \
        PERSISTENT(name, out, in, __VA_ARGS__);                                                                        \
    } while (0)

static void barrier(MPI_Comm comm)
{
    DO(MPI_Barrier, 0, 0, comm);
    DO(MPI_Ibarrier, 0, 0, comm, &request);
    complete();
#if MPI_VERSION >= 4
    DO(MPI_Barrier_init, 0, 0, comm, MPI_INFO_NULL, &request);
    run_persistent();
#endif
}

static void rooted(MPI_Comm comm, int me, int n)
{
    int root = n - 1;
    long is_root = me == root;
    FORMS(Bcast, Ibcast, is_root * 5 * INT, !is_root * 5 * INT, mine, 5, MPI_INT, root, comm);
    FORMS(Reduce, Ireduce, 5 * INT, is_root * 5 * INT, mine, all, 5, MPI_INT, MPI_SUM, root, comm);
    FORMS(Gather, Igather, 3 * INT, is_root * n * 3 * INT, mine, 3, MPI_INT, all, 3, MPI_INT, root, comm);
    FORMS(Scatter, Iscatter, is_root * n * 3 * INT, 3 * INT, all, 3, MPI_INT, mine, 3, MPI_INT, root, comm);
    FORMS(Gatherv, Igatherv, counts[me] * INT, is_root * total * INT, mine, counts[me], MPI_INT, all, counts,
          displacements, MPI_INT, root, comm);
    FORMS(Scatterv, Iscatterv, is_root * total * INT, counts[me] * INT, all, counts, displacements, MPI_INT, mine,
          counts[me], MPI_INT, root, comm);
}

/* What is not significant may be garbage: 0 and NULL for handles and pointers would abort the program if they were
 * looked at. */
static void rooted_with_insignificant_arguments(MPI_Comm comm, int me, int n)
{
    if (me == 0) {
        FORMS(Gather, Igather, 0, n * 3 * INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 3, MPI_INT, 0, comm);
        FORMS(Scatter, Iscatter, n * 3 * INT, 0, all, 3, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, 0, comm);
        FORMS(Reduce, Ireduce, 4 * INT, 4 * INT, MPI_IN_PLACE, all, 4, MPI_INT, MPI_SUM, 0, comm);
        FORMS(Gatherv, Igatherv, 0, total * INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, counts, displacements,
              MPI_INT, 0, comm);
    } else {
        FORMS(Gather, Igather, 3 * INT, 0, mine, 3, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, comm);
        FORMS(Scatter, Iscatter, 0, 3 * INT, NULL, -1, MPI_DATATYPE_NULL, mine, 3, MPI_INT, 0, comm);
        FORMS(Reduce, Ireduce, 4 * INT, 0, mine, NULL, 4, MPI_INT, MPI_SUM, 0, comm);
        FORMS(Gatherv, Igatherv, counts[me] * INT, 0, mine, counts[me], MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0,
              comm);
    }
}

static void all_to_all(MPI_Comm comm, int me, int n)
{
    MPI_Datatype types[MAX];
    count_t w_counts[MAX];
    place_t w_displacements[MAX];
    for (int r = 0; r < n; r++) {
        types[r] = r % 2 ? MPI_DOUBLE : MPI_INT;
        w_counts[r] = (r + me) % 2 ? 0 : 1; /* only between ranks of the same type */
        w_displacements[r] = 8 * r;
    }
    long w_bytes = 0;
    for (int r = 0; r < n; r++)
        w_bytes += w_counts[r] * (r % 2 ? 8 : INT);
    barrier(comm);
    FORMS(Allreduce, Iallreduce, 6 * INT, 6 * INT, mine, all, 6, MPI_INT, MPI_SUM, comm);
    FORMS(Allreduce, Iallreduce, 6 * INT, 6 * INT, MPI_IN_PLACE, all, 6, MPI_INT, MPI_SUM, comm);
    FORMS(Allgather, Iallgather, 2 * INT, n * 2 * INT, mine, 2, MPI_INT, all, 2, MPI_INT, comm);
    FORMS(Allgather, Iallgather, 2 * INT, n * 2 * INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 2, MPI_INT, comm);
    FORMS(Allgatherv, Iallgatherv, counts[me] * INT, total * INT, mine, counts[me], MPI_INT, all, counts, displacements,
          MPI_INT, comm);
    FORMS(Alltoall, Ialltoall, n * 2 * INT, n * 2 * INT, mine, 2, MPI_INT, all, 2, MPI_INT, comm);
    FORMS(Alltoall, Ialltoall, n * 2 * INT, n * 2 * INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 2, MPI_INT, comm);
    FORMS(Alltoallv, Ialltoallv, n * 2 * INT, n * 2 * INT, mine, same, strides, MPI_INT, all, same, strides, MPI_INT,
          comm);
    FORMS(Alltoallv, Ialltoallv, n * 2 * INT, n * 2 * INT, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, same,
          strides, MPI_INT, comm);
    FORMS(Alltoallw, Ialltoallw, w_bytes, w_bytes, mine, w_counts, w_displacements, types, all, w_counts,
          w_displacements, types, comm);
    FORMS(Reduce_scatter, Ireduce_scatter, total * INT, counts[me] * INT, mine, all, counts, MPI_INT, MPI_SUM, comm);
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, n * 2 * INT, 2 * INT, mine, all, 2, MPI_INT, MPI_SUM, comm);
    FORMS(Scan, Iscan, 4 * INT, 4 * INT, mine, all, 4, MPI_INT, MPI_SUM, comm);
    FORMS(Exscan, Iexscan, 4 * INT, 4 * INT, mine, all, 4, MPI_INT, MPI_SUM, comm);
}

/* A v-collective in which what a rank sends differs from what it receives: rank r sends r + 1 elements to each. */
static void uneven(MPI_Comm comm, int me, int n)
{
    count_t send_counts[MAX];
    place_t send_places[MAX];
    for (int r = 0; r < n; r++) {
        send_counts[r] = me + 1;
        send_places[r] = (me + 1) * r;
    }
    FORMS(Alltoallv, Ialltoallv, (long)n * (me + 1) * INT, total * INT, mine, send_counts, send_places, MPI_INT, all,
          counts, displacements, MPI_INT, comm);
}

/* Even against odd ranks. The root's group sends, the other receives. */
static void between_groups(MPI_Comm half, int n_odd)
{
    MPI_Comm bridge;
    int odd = rank % 2, n_even = size - n_odd, remote = odd ? n_even : n_odd;
    int root = odd ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    DO(MPI_Intercomm_create, 0, 0, half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 7, &bridge);
    DO_N(MPI_Bcast, rank == 0 ? 5 * INT : 0, odd ? 5 * INT : 0, mine, 5, MPI_INT, root, bridge);
    DO_N(MPI_Gather, odd ? 3 * INT : 0, rank == 0 ? n_odd * 3 * INT : 0, mine, odd ? 3 : -1,
         odd ? MPI_INT : MPI_DATATYPE_NULL, all, 3, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, root, bridge);
    DO_N(MPI_Allgather, 2 * INT, remote * 2 * INT, mine, 2, MPI_INT, all, 2, MPI_INT, bridge);
    DO(MPI_Comm_free, 0, 0, &bridge);
}

int main(int argc, char **argv)
{
    int provided, half_rank, half_size;
    MPI_Comm half;
    DO(MPI_Init_thread, 0, 0, &argc, &argv, MPI_THREAD_FUNNELED, &provided);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    set_counts(size);
    rooted(MPI_COMM_WORLD, rank, size);
    rooted_with_insignificant_arguments(MPI_COMM_WORLD, rank, size);
    all_to_all(MPI_COMM_WORLD, rank, size);
    uneven(MPI_COMM_WORLD, rank, size);

    DO(MPI_Comm_split, 0, 0, MPI_COMM_WORLD, rank % 2, rank, &half);
    DO(MPI_Comm_rank, 0, 0, half, &half_rank);
    DO(MPI_Comm_size, 0, 0, half, &half_size);
    set_counts(half_size);
    rooted(half, half_rank, half_size);
    all_to_all(half, half_rank, half_size);
    between_groups(half, size / 2);
    DO(MPI_Comm_free, 0, 0, &half);
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
