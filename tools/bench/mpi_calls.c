/* ns a call of the MPI functions that programs call most; two ranks. */
#include "chunks.h"

#include <mpi.h>

static int rank, other, flag;
static double ball, in = 1, out;
static MPI_Win window;
static MPI_File file;
static MPI_Request idle = MPI_REQUEST_NULL;

/* A round trip is MPI_Send and MPI_Recv on either rank, one after the other. */
static void round_trip(void)
{
    if (rank == 0)
        MPI_Send(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&ball, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
}

static void exchange(void)
{
    MPI_Request request[2];
    MPI_Irecv(&in, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
}

/* One-way calls are bounded by the window's synchronisation, once a chunk. */
static void put(long rounds)
{
    MPI_Win_fence(0, window);
    for (long i = 0; i < rounds; i++)
        MPI_Put(&out, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
}

#define CALLS(X)                                                                                                       \
    X(MPI_Comm_rank, 200000, 1, MPI_Comm_rank(MPI_COMM_WORLD, &flag))                                                  \
    X(MPI_Type_size, 200000, 1, MPI_Type_size(MPI_DOUBLE, &flag))                                                      \
    X(MPI_Test, 100000, 1, MPI_Test(&idle, &flag, MPI_STATUS_IGNORE))                                                  \
    X(MPI_Iprobe, 20000, 1, MPI_Iprobe(other, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE))                           \
    X(MPI_Send_Recv, 3000, 2, round_trip())                                                                            \
    X(MPI_Isend_Irecv_Wait, 2000, 4, exchange())                                                                       \
    X(MPI_Bcast, 5000, 1, MPI_Bcast(&ball, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD))                                          \
    X(MPI_Allreduce, 5000, 1, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))                        \
    X(MPI_Barrier, 5000, 1, MPI_Barrier(MPI_COMM_WORLD))                                                               \
    X(MPI_Win_fence, 1000, 1, MPI_Win_fence(0, window))                                                                \
    X(MPI_File_write_at, 1000, 1, MPI_File_write_at(file, 0, &out, 1, MPI_DOUBLE, MPI_STATUS_IGNORE))

CALLS(BENCH_BODY)

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {CALLS(BENCH_KIND){"MPI_Put", put, 5000, 1}};
    int chunks = parse_chunks(argc, argv), ranks;
    static double memory[1];
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    other = 1 - rank;
    if (ranks != 2) {
        fprintf(stderr, "%s: needs 2 ranks, has %d\n", argv[0], ranks);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    snprintf(name, sizeof name, "/dev/shm/crosswind-bench.%d.%ld", rank, (long)now_ns());
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_Barrier(MPI_COMM_WORLD);
    run_chunks(kinds, sizeof kinds / sizeof *kinds, chunks, rank == 0);
    MPI_File_close(&file);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
