/*
 * MPI-IO of every kind on one shared file: independent and collective, explicit offsets and views.
 *
 *     posix_mpiio FILE
 */
#include <mpi.h>
#include <string.h>

enum { N = 5000, ROUNDS = 4 };

int main(int argc, char **argv)
{
    int rank, ranks;
    static double block[N];
    MPI_File file;
    MPI_Datatype strided;
    MPI_Init(&argc, &argv);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(block, rank, sizeof block);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < ROUNDS; i++)
        MPI_File_write_at(file, (MPI_Offset)(i * ranks + rank) * sizeof block, block, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROUNDS; i++)
        MPI_File_write_at_all(file, (MPI_Offset)((ROUNDS + i) * ranks + rank) * sizeof block, block, N, MPI_DOUBLE,
                              MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, 0, block, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_Type_vector(N / 10, 10, 10 * ranks, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_File_set_view(file, (MPI_Offset)rank * 10 * sizeof(double), MPI_DOUBLE, strided, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, block, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, block, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return 0;
}
