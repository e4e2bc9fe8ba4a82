/* ns a call of MPI_Comm_rank, of the four calls of a ping-pong's round trip, and of an MPI_Allreduce; two ranks. */
#include "chunks.h"

#include <mpi.h>

static int rank;

static void do_comm_rank(long calls)
{
    int got;
    for (long i = 0; i < calls; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &got);
}

/* A round trip is MPI_Send and MPI_Recv on either rank, one after the other. */
static void do_pingpong(long calls)
{
    double ball = 0;
    int other = 1 - rank;
    for (long i = 0; i < calls; i++) {
        if (rank == 0)
            MPI_Send(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        MPI_Recv(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    }
}

static void do_allreduce(long calls)
{
    double in = 1, out;
    for (long i = 0; i < calls; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {{"MPI_Comm_rank", do_comm_rank, 200000, 1},
                                        {"ping-pong", do_pingpong, 5000, 4},
                                        {"MPI_Allreduce", do_allreduce, 8000, 1}};
    int chunks = parse_chunks(argc, argv), ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "%s: needs 2 ranks, has %d\n", argv[0], ranks);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    run_chunks(kinds, 3, chunks, rank == 0);
    MPI_Finalize();
    return 0;
}
