/*
 * Parallel HDF5: one file of all ranks, each with its rows of a data set, collective and independent.
 *
 *     posix_hdf5 FILE
 */
#include <hdf5.h>
#include <mpi.h>

enum { ROWS = 100, COLUMNS = 500 };

static int failed;
#define TRY(call) (failed |= (call) < 0)

static void transfer(hid_t set, int rank, H5FD_mpio_xfer_t how, double *rows)
{
    const hsize_t start[2] = {(hsize_t)rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    hid_t there = H5Dget_space(set), here = H5Screate_simple(2, count, NULL), plist = H5Pcreate(H5P_DATASET_XFER);
    TRY(H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL));
    TRY(H5Pset_dxpl_mpio(plist, how));
    TRY(H5Dwrite(set, H5T_NATIVE_DOUBLE, here, there, plist, rows));
    TRY(H5Dread(set, H5T_NATIVE_DOUBLE, here, there, plist, rows));
    H5Pclose(plist);
    H5Sclose(here);
    H5Sclose(there);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    static double rows[ROWS * COLUMNS];
    MPI_Init(&argc, &argv);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const hsize_t size[2] = {(hsize_t)ranks * ROWS, COLUMNS};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(2, size, NULL);
    TRY(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t set = H5Dcreate2(file, "rows", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    transfer(set, rank, H5FD_MPIO_COLLECTIVE, rows);
    transfer(set, rank, H5FD_MPIO_INDEPENDENT, rows);
    H5Dclose(set);
    H5Sclose(space);
    TRY(H5Fclose(file));
    H5Pclose(access);
    MPI_Finalize();
    return failed;
}
