/* MPI-IO on the file that the second argument names, and one-sided communication. */
#include "mpi_expect.h"

#define N 64
static int rank, size;
static int data[N], room[N];

static void files(char *path)
{
    MPI_File file;
    MPI_Offset bytes;
    MPI_Request request;
    const long block = N * (long)sizeof(int);
    DO(MPI_File_open, 0, 0, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    DO(MPI_File_write_at, block, 0, file, rank * block, data, N, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_write_at_all, block, 0, file, (size + rank) * block, data, N, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_sync, 0, 0, file);
    DO(MPI_File_get_size, 0, 0, file, &bytes);
    DO(MPI_File_read_at, 0, block, file, rank * block, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_read_at_all, 0, block, file, rank * block, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_seek, 0, 0, file, 0, MPI_SEEK_SET);
    DO(MPI_File_read, 0, 40, file, room, 10, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_iwrite_at, block, 0, file, (2 * size + rank) * block, data, N, MPI_INT, &request);
    DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE);
    DO(MPI_File_close, 0, 0, &file);
}

static void one_sided(void)
{
    MPI_Win window;
    int target = (rank + 1) % size;
    DO(MPI_Win_create, 0, 0, room, sizeof room, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Put, 16, 0, data, 4, MPI_INT, target, 0, 4, MPI_INT, window);
    DO(MPI_Put, 0, 0, data, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Get, 0, 12, data, 3, MPI_INT, target, 8, 3, MPI_INT, window);
    DO(MPI_Accumulate, 4, 0, data + 8, 1, MPI_INT, target, 16, 1, MPI_INT, MPI_SUM, window);
    DO(MPI_Win_fence, 0, 0, 0, window);
    DO(MPI_Win_free, 0, 0, &window);
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    files(argv[2]);
    one_sided();
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
