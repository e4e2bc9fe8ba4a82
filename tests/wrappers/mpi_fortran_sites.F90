! Messages from two places of the program in turn: what ends a segment is the same, what is in it is not.
#include "fortran_forms.h90"

program mpi_fortran_sites
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: error, i, a(4), b(4)

  call MPI_Init(error)
  a = 1
  do i = 1, 20
    if (mod(i, 2) == 0) then
      call MPI_Send(a, 4, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
    else
      call MPI_Send(a, 4, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
    end if
    call MPI_Allreduce(a, b, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program mpi_fortran_sites
