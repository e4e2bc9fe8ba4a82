/* The C part of mpi_fortran.F90: what it calls counts as calls from C, whatever Fortran has called before. */
#include <mpi.h>

void call_from_c(void);

void call_from_c(void)
{
    int rank, flag, *tag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag, &flag);
}
