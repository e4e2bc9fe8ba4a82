! Nonblocking collectives that end a segment where Fortran completes them: five in each of ten rounds.
#include "fortran_forms.h90"

program mpi_fortran_pending
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Request) :: request(3)
  integer :: error, round, rank, ranks, number, total, place, next, previous
  logical :: flag

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  do round = 1, 10
    call MPI_Iallreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1), error)
    call MPI_Wait(request(1), MPI_STATUS_IGNORE, error)
    call MPI_Ibarrier(MPI_COMM_WORLD, request(1), error)
    call MPI_Irecv(number, 1, MPI_INTEGER, previous, 0, MPI_COMM_WORLD, request(2), error)
    call MPI_Isend(rank, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD, request(3), error)
    call MPI_Waitall(3, request, MPI_STATUSES_IGNORE, error)
    call MPI_Ibarrier(MPI_COMM_WORLD, request(1), error)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(request(1), flag, MPI_STATUS_IGNORE, error)
    end do
    call MPI_Ibarrier(MPI_COMM_WORLD, request(1), error)
    call MPI_Ibarrier(MPI_COMM_WORLD, request(2), error)
    call MPI_Waitany(2, request, place, MPI_STATUS_IGNORE, error)
    call MPI_Waitany(2, request, place, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Finalize(error)
end program mpi_fortran_pending
