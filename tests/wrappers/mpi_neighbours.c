/* Neighbourhood collectives in all their forms, on grids with and without edges, on graphs that are symmetric or not.
 */
#include "mpi_expect.h"

#define MAX 64
#pragma GCC diagnostic ignored "-Wstringop-overread" /* MPI_UNWEIGHTED is no array in MPICH */
static int rank, size;
static int mine[MAX * MAX], all[MAX * MAX];
static const long INT = sizeof(int), DOUBLE = sizeof(double);
static MPI_Request request;

static void complete(void) { DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE); }

#if MPI_VERSION >= 4
static void run_persistent(void)
{
    DO(MPI_Start, 0, 0, &request);
    complete();
    DO(MPI_Request_free, 0, 0, &request);
}
#define PERSISTENT(name, out, in, ...)                                                                                 \
    (DO_N(MPI_Neighbor_##name##_init, out, in, __VA_ARGS__, MPI_INFO_NULL, &request), run_persistent())
#else
#define PERSISTENT(name, out, in, ...) (void)0
#endif

/* One call of each form. */
#define FORMS(name, out, in, ...)                                                                                      \
    do {                                                                                                               \
        DO_N(MPI_Neighbor_##name, out, in, __VA_ARGS__);                                                               \
        DO_N(MPI_Ineighbor_##name, out, in, __VA_ARGS__, &request);                                                    \
        complete();                                                                                                    \
        PERSISTENT(name, out, in, __VA_ARGS__);                                                                        \
    } while (0)

/* Three elements to each of `n_out` neighbours, as many from each of `n_in`. */
static void even(MPI_Comm comm, long n_out, long n_in)
{
    FORMS(allgather, n_out * 3 * INT, n_in * 3 * INT, mine, 3, MPI_INT, all, 3, MPI_INT, comm);
    FORMS(alltoall, n_out * 3 * INT, n_in * 3 * INT, mine, 3, MPI_INT, all, 3, MPI_INT, comm);
}

/* A chain of ranks. Rank r tells each neighbour r + 1 elements; one goes to the left, two to the right. The counts for
 * the neighbours that the ends do not have are there, and mean nothing. */
static void uneven(MPI_Comm chain)
{
    const long left = rank > 0, right = rank < size - 1;
    count_t told[2] = {left ? rank : 50, right ? rank + 2 : 50};
    place_t told_places[2] = {0, 100};
    count_t to[2] = {left ? 1 : 50, right ? 2 : 50}, from[2] = {left ? 2 : 50, right ? 1 : 50};
    place_t places[2] = {0, 100};
    MPI_Aint byte_places[2] = {0, 400};
    MPI_Datatype types_to[2] = {MPI_INT, MPI_DOUBLE}, types_from[2] = {MPI_DOUBLE, MPI_INT};
    FORMS(allgatherv, (left + right) * (rank + 1) * INT, (left * rank + right * (rank + 2)) * INT, mine, rank + 1,
          MPI_INT, all, told, told_places, MPI_INT, chain);
    FORMS(alltoallv, (left + 2 * right) * INT, (2 * left + right) * INT, mine, to, places, MPI_INT, all, from, places,
          MPI_INT, chain);
    FORMS(alltoallw, left * INT + 2 * right * DOUBLE, 2 * left * DOUBLE + right * INT, mine, to, byte_places, types_to,
          all, from, byte_places, types_from, chain);
}

static void grids(void)
{
    const int sides[2] = {size, 1}, open[2] = {0, 0}, second_closed[2] = {0, 1}, closed[2] = {1, 1};
    const long beside = (rank > 0) + (rank < size - 1);
    MPI_Comm grid;
    DO(MPI_Cart_create, 0, 0, MPI_COMM_WORLD, 1, sides, open, 0, &grid);
    even(grid, beside, beside);
    uneven(grid);
    DO(MPI_Comm_free, 0, 0, &grid);
    DO(MPI_Cart_create, 0, 0, MPI_COMM_WORLD, 1, sides, closed, 0, &grid);
    even(grid, 2, 2);
    DO(MPI_Comm_free, 0, 0, &grid);
    DO(MPI_Cart_create, 0, 0, MPI_COMM_WORLD, 2, sides, second_closed, 0, &grid); /* twice its own neighbour */
    even(grid, beside + 2, beside + 2);
    DO(MPI_Comm_free, 0, 0, &grid);
}

/* The chain again, by its edges. */
static void graph(void)
{
    int index[MAX], edges[2 * MAX], n = 0;
    const long beside = (rank > 0) + (rank < size - 1);
    MPI_Comm chain;
    for (int r = 0; r < size; r++) {
        if (r > 0)
            edges[n++] = r - 1;
        if (r < size - 1)
            edges[n++] = r + 1;
        index[r] = n;
    }
    DO(MPI_Graph_create, 0, 0, MPI_COMM_WORLD, size, index, edges, 0, &chain);
    even(chain, beside, beside);
    DO(MPI_Comm_free, 0, 0, &chain);
}

/* Rank 0 sends to all others, who send to nobody. */
static void star(void)
{
    int centre = 0, others[MAX];
    const int n_in = rank != 0, n_out = rank == 0 ? size - 1 : 0;
    MPI_Comm directed;
    for (int r = 1; r < size; r++)
        others[r - 1] = r;
    DO(MPI_Dist_graph_create_adjacent, 0, 0, MPI_COMM_WORLD, n_in, &centre, MPI_UNWEIGHTED, n_out, others,
       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &directed);
    even(directed, n_out, n_in);
    DO(MPI_Comm_free, 0, 0, &directed);
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    grids();
    graph();
    star();
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
