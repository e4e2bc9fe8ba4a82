! The twin of fixed.c in Fortran: the same calls with the same sizes (expected.py), in one of three forms:
!   -DFORM_MPIF   include 'mpif.h'
!   -DFORM_MPI    use mpi
!   -DFORM_F08    use mpi_f08
!
!     fixed FILE        FILE is written and read by MPI-IO

#if defined(FORM_F08)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#define HANDLE(kind) type(kind)
#define STATUS_OF(name) type(MPI_Status) :: name
#elif defined(FORM_MPI)
#define USE_MPI use mpi
#define INCLUDE_MPI
#define HANDLE(kind) integer
#define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#define HANDLE(kind) integer
#define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#endif

module ring
  implicit none
  integer, parameter :: n = 64, element = 8
  integer :: rank, size, left, right, error
  double precision :: numbers(n), room(n)
end module ring

subroutine communicators()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Comm) :: copy, half
  integer :: half_rank

  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  call MPI_Comm_split(copy, mod(rank, 2), rank, half, error)
  call MPI_Comm_rank(half, half_rank, error)
  call MPI_Bcast(room, 3, MPI_DOUBLE_PRECISION, 0, half, error)
  call MPI_Comm_free(half, error)
  call MPI_Comm_free(copy, error)
end subroutine communicators

subroutine point_to_point()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Request) :: requests(2)
  HANDLE(MPI_Message) :: message
  STATUS_OF(status)
  logical :: flag
  integer :: count

  if (rank == 0) then ! the receiver expects more than it gets
    call MPI_Send(numbers, 10, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, error)
    call MPI_Recv(room, 20, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, status, error)
  else
    call MPI_Recv(room, 20, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Send(numbers, 10, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, error)
  end if
  call MPI_Send(numbers, 10, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
  call MPI_Sendrecv(numbers, 5, MPI_DOUBLE_PRECISION, right, 2, &
                    room, 20, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, status, error)

  call MPI_Irecv(room, 8, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, requests(1), error) ! 4 come
  call MPI_Isend(numbers, 4, MPI_DOUBLE_PRECISION, right, 3, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Test(requests(1), flag, status, error) ! an inactive request: at once

  call MPI_Isend(numbers, 7, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, requests(1), error)
  call MPI_Probe(left, 4, MPI_COMM_WORLD, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  call MPI_Recv(room, count, MPI_DOUBLE_PRECISION, left, 4, MPI_COMM_WORLD, status, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)

  call MPI_Isend(numbers, 3, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(1), error)
  call MPI_Mprobe(left, 5, MPI_COMM_WORLD, message, status, error)
  call MPI_Mrecv(room, 20, MPI_DOUBLE_PRECISION, message, status, error)
  call MPI_Wait(requests(1), status, error)
  call MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, flag, status, error)
end subroutine point_to_point

subroutine persistent()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Request) :: requests(2)
  integer :: i

  call MPI_Recv_init(room, 9, MPI_DOUBLE_PRECISION, left, 6, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send_init(numbers, 9, MPI_DOUBLE_PRECISION, right, 6, MPI_COMM_WORLD, requests(2), error)
  do i = 1, 3
    call MPI_Start(requests(1), error)
    call MPI_Start(requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)
end subroutine persistent

subroutine derived_type()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Datatype) :: triple

  call MPI_Type_contiguous(3, MPI_DOUBLE_PRECISION, triple, error)
  call MPI_Type_commit(triple, error)
  call MPI_Sendrecv(numbers, 2, triple, right, 7, room, 2, triple, left, 7, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, error)
  call MPI_Type_free(triple, error)
end subroutine derived_type

subroutine rooted_collectives()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: last, counts(n), places(n), r

  last = size - 1
  do r = 0, size - 1 ! rank r has r + 1 elements
    counts(r + 1) = r + 1
    places(r + 1) = 4 * r
  end do
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Bcast(room, 11, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Scatter(numbers, 2, MPI_DOUBLE_PRECISION, room, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Scatterv(numbers, counts, places, MPI_DOUBLE_PRECISION, room, rank + 1, MPI_DOUBLE_PRECISION, last, &
                    MPI_COMM_WORLD, error)
  call MPI_Gather(numbers, 3, MPI_DOUBLE_PRECISION, room, 3, MPI_DOUBLE_PRECISION, last, MPI_COMM_WORLD, error)
  if (rank == 0) then
    call MPI_Gather(MPI_IN_PLACE, 2, MPI_DOUBLE_PRECISION, room, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  else
    call MPI_Gather(numbers, 2, MPI_DOUBLE_PRECISION, room, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  end if
  call MPI_Gatherv(numbers, rank + 1, MPI_DOUBLE_PRECISION, room, counts, places, MPI_DOUBLE_PRECISION, 0, &
                   MPI_COMM_WORLD, error)
  call MPI_Reduce(numbers, room, 4, MPI_DOUBLE_PRECISION, MPI_SUM, last, MPI_COMM_WORLD, error)
  call MPI_Allgatherv(numbers, rank + 1, MPI_DOUBLE_PRECISION, room, counts, places, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, error)
end subroutine rooted_collectives

subroutine all_to_all_collectives()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Request) :: requests(2)
  double precision :: sums(n)

  call MPI_Allreduce(numbers, room, 5, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, room, 6, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  call MPI_Allgather(numbers, 2, MPI_DOUBLE_PRECISION, room, 2, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call MPI_Alltoall(numbers, 3, MPI_DOUBLE_PRECISION, room, 3, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call MPI_Reduce_scatter_block(numbers, room, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Scan(numbers, room, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Iallreduce(numbers, sums, 6, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
  call MPI_Ibcast(room, 7, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
end subroutine all_to_all_collectives

subroutine one_sided()
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  HANDLE(MPI_Win) :: window
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place

  bytes = n * element
  call MPI_Win_create(room, bytes, element, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call MPI_Win_fence(0, window, error)
  place = 0
  call MPI_Put(numbers, 4, MPI_DOUBLE_PRECISION, right, place, 4, MPI_DOUBLE_PRECISION, window, error)
  call MPI_Win_fence(0, window, error)
  place = 8
  call MPI_Get(numbers, 3, MPI_DOUBLE_PRECISION, right, place, 3, MPI_DOUBLE_PRECISION, window, error)
  call MPI_Win_fence(0, window, error)
  place = 16
  call MPI_Accumulate(numbers, 2, MPI_DOUBLE_PRECISION, right, place, 2, MPI_DOUBLE_PRECISION, MPI_SUM, window, error)
  call MPI_Win_fence(0, window, error)
  call MPI_Win_free(window, error)
end subroutine one_sided

subroutine file(path)
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  character(len=*), intent(in) :: path
  HANDLE(MPI_File) :: handle
  integer(kind=MPI_OFFSET_KIND) :: place

  place = rank * 5 * element
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, handle, error)
  call MPI_File_write_at(handle, place, numbers, 5, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
  call MPI_File_write_at_all(handle, place, numbers, 5, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
  call MPI_File_read_at(handle, place, room, 5, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
  call MPI_File_close(handle, error)
end subroutine file

program fixed
  use ring
  USE_MPI
  implicit none
  INCLUDE_MPI
  double precision :: total
  character(len=500) :: path
  integer :: i

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  do i = 1, n
    numbers(i) = rank + i - 1
  end do

  call communicators()
  call point_to_point()
  call persistent()
  call derived_type()
  call rooted_collectives()
  call all_to_all_collectives()
  call one_sided()
  call get_command_argument(1, path)
  call file(trim(path))

  call MPI_Reduce(room, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, f0.0)', 'fixed: ', size, ' ranks, sum ', total
  call MPI_Finalize(error)
end program fixed
