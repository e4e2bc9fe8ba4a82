/* MPI-IO in all its forms, on the file that the second argument names. */
#include "mpi_expect.h"

enum { N = 64 };
static int rank, size;
static int data[N], room[N];
static const long INT = sizeof(int), BLOCK = N * (long)sizeof(int);
static MPI_Request request;

static void complete(void) { DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE); }

/* The file as this part leaves it has 2 * size blocks. */
static void at_places(MPI_File file)
{
    MPI_Offset bytes;
    MPI_Status status;
    const MPI_Offset own = rank * BLOCK, second = (size + rank) * BLOCK, last = 2 * size * BLOCK - 10 * INT;
    DO_N(MPI_File_write_at, BLOCK, 0, file, own, data, N, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_write_at_all, BLOCK, 0, file, second, data, N, MPI_INT, MPI_STATUS_IGNORE);
    DO(MPI_File_sync, 0, 0, file);
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    DO(MPI_File_get_size, 0, 0, file, &bytes);
    DO_N(MPI_File_read_at, 0, BLOCK, file, own, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_at, 0, 10 * INT, file, last, room, N, MPI_INT, &status); /* the file ends */
    DO_N(MPI_File_read_at, 0, 10 * INT, file, last, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_at, 0, 0, file, bytes + 100, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_at, 0, 0, file, own, room, 0, MPI_INT, &status);
    DO_N(MPI_File_read_at_all, 0, BLOCK, file, own, room, N, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_iwrite_at, BLOCK, 0, file, own, data, N, MPI_INT, &request);
    complete();
    DO_N(MPI_File_iread_at, 0, BLOCK, file, own, room, N, MPI_INT, &request);
    complete();
    DO_N(MPI_File_iwrite_at_all, BLOCK, 0, file, own, data, N, MPI_INT, &request);
    complete();
    DO_N(MPI_File_iread_at_all, 0, BLOCK, file, own, room, N, MPI_INT, &request);
    complete();
}

/* Each rank with a pointer of its own. */
static void by_pointer(MPI_File file)
{
    MPI_Offset position;
    DO(MPI_File_seek, 0, 0, file, rank * 4 * BLOCK, MPI_SEEK_SET);
    DO_N(MPI_File_write, 10 * INT, 0, file, data, 10, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_write_all, 20 * INT, 0, file, data, 20, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_iwrite, 30 * INT, 0, file, data, 30, MPI_INT, &request);
    complete();
    DO_N(MPI_File_iwrite_all, 40 * INT, 0, file, data, 40, MPI_INT, &request);
    complete();
    DO(MPI_File_get_position, 0, 0, file, &position);
    DO(MPI_File_seek, 0, 0, file, rank * 4 * BLOCK, MPI_SEEK_SET);
    DO_N(MPI_File_read, 0, 10 * INT, file, room, 10, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_all, 0, 20 * INT, file, room, 20, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_iread, 0, 30 * INT, file, room, 30, MPI_INT, &request);
    complete();
    DO_N(MPI_File_iread_all, 0, 40 * INT, file, room, 40, MPI_INT, &request);
    complete();
}

/* Bytes count where the operation ends. */
static void split(MPI_File file)
{
    MPI_Status status;
    const MPI_Offset own = rank * BLOCK;
    DO_N(MPI_File_write_at_all_begin, 0, 0, file, own, data, N, MPI_INT);
    DO(MPI_File_write_at_all_end, BLOCK, 0, file, data, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_at_all_begin, 0, 0, file, own, room, N, MPI_INT);
    DO(MPI_File_read_at_all_end, 0, BLOCK, file, room, &status);
    DO(MPI_File_seek, 0, 0, file, own, MPI_SEEK_SET);
    DO_N(MPI_File_write_all_begin, 0, 0, file, data, N / 2, MPI_INT);
    DO(MPI_File_write_all_end, BLOCK / 2, 0, file, data, &status);
    DO(MPI_File_seek, 0, 0, file, own, MPI_SEEK_SET);
    DO_N(MPI_File_read_all_begin, 0, 0, file, room, N / 2, MPI_INT);
    DO(MPI_File_read_all_end, 0, BLOCK / 2, file, room, MPI_STATUS_IGNORE);
}

/* All with one pointer, in no order or in that of the ranks. */
static void shared(MPI_File file)
{
    MPI_Offset position;
    DO(MPI_File_seek_shared, 0, 0, file, 0, MPI_SEEK_SET);
    DO_N(MPI_File_write_shared, 5 * INT, 0, file, data, 5, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_iwrite_shared, 5 * INT, 0, file, data, 5, MPI_INT, &request);
    complete();
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    DO_N(MPI_File_write_ordered, 7 * INT, 0, file, data, 7, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_write_ordered_begin, 0, 0, file, data, 7, MPI_INT);
    DO(MPI_File_write_ordered_end, 7 * INT, 0, file, data, MPI_STATUS_IGNORE);
    DO(MPI_File_get_position_shared, 0, 0, file, &position);
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    DO(MPI_File_seek_shared, 0, 0, file, 0, MPI_SEEK_SET);
    DO_N(MPI_File_read_shared, 0, 5 * INT, file, room, 5, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_iread_shared, 0, 5 * INT, file, room, 5, MPI_INT, &request);
    complete();
    DO(MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    DO_N(MPI_File_read_ordered, 0, 7 * INT, file, room, 7, MPI_INT, MPI_STATUS_IGNORE);
    DO_N(MPI_File_read_ordered_begin, 0, 0, file, room, 7, MPI_INT);
    DO(MPI_File_read_ordered_end, 0, 7 * INT, file, room, MPI_STATUS_IGNORE);
}

static void administration(MPI_File file)
{
    MPI_Offset offset;
    MPI_Datatype etype, filetype;
    MPI_Info info;
    MPI_Group group;
    char representation[MPI_MAX_DATAREP_STRING];
    int mode, flag;
    DO(MPI_File_set_view, 0, 0, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    DO(MPI_File_get_view, 0, 0, file, &offset, &etype, &filetype, representation);
    DO(MPI_File_get_byte_offset, 0, 0, file, 3, &offset);
#ifdef LARGE
    MPI_Count extent;
#else
    MPI_Aint extent;
#endif
    DO_N(MPI_File_get_type_extent, 0, 0, file, MPI_DOUBLE, &extent);
    DO(MPI_File_get_amode, 0, 0, file, &mode);
    DO(MPI_File_get_group, 0, 0, file, &group);
    DO(MPI_Group_free, 0, 0, &group);
    DO(MPI_File_get_info, 0, 0, file, &info);
    DO(MPI_File_set_info, 0, 0, file, info);
    DO(MPI_Info_free, 0, 0, &info);
    DO(MPI_File_set_atomicity, 0, 0, file, 1);
    DO(MPI_File_get_atomicity, 0, 0, file, &flag);
    DO(MPI_File_preallocate, 0, 0, file, 100 * BLOCK);
    DO(MPI_File_set_size, 0, 0, file, BLOCK);
}

int main(int argc, char **argv)
{
    MPI_File file;
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    DO(MPI_File_open, 0, 0, MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    at_places(file);
    by_pointer(file);
    split(file);
    shared(file);
    administration(file);
    DO(MPI_File_close, 0, 0, &file);
    if (rank == 0)
        DO(MPI_File_delete, 0, 0, argv[2], MPI_INFO_NULL);
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
