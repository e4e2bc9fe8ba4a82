! What Fortran passes otherwise than C, and what bindings do on their own: addresses for MPI_IN_PLACE and
! MPI_STATUS_IGNORE, strings with hidden lengths, arrays of datatypes, callbacks, attributes, array sections. Like
! mpi_expect.h: every call is preceded by a line that states its bytes; at the end each rank writes PREFIX.RANK.
!
!     mpi_fortran PREFIX FILE
!
! -DSECTIONS: mpi_f08 takes array sections as they are. -DLARGE_COUNTS: and counts of 64 bits.
#include "fortran_forms.h90"

module expectations
  implicit none
  integer, parameter :: most = 128
  character(len=32) :: names(most)
  integer :: calls(most), outs(most), ins(most), known = 0

contains

  subroutine expect(name, bytes_out, bytes_in)
    character(len=*), intent(in) :: name
    integer, intent(in), optional :: bytes_out, bytes_in
    integer :: i
    do i = 1, known
      if (names(i) == name) exit
    end do
    if (i > known) then
      known = i
      names(i) = name
      calls(i) = 0
      outs(i) = 0
      ins(i) = 0
    end if
    calls(i) = calls(i) + 1
    if (present(bytes_out)) outs(i) = outs(i) + bytes_out
    if (present(bytes_in)) ins(i) = ins(i) + bytes_in
  end subroutine expect

  subroutine write_expectations(prefix, rank)
    character(len=*), intent(in) :: prefix
    integer, intent(in) :: rank
    character(len=520) :: path
    integer :: i
    write (path, '(a, a, i0)') prefix, '.', rank
    open (unit=20, file=trim(path), action='write')
    do i = 1, known
      write (20, '(a, 3(1x, i0))') trim(names(i)), calls(i), outs(i), ins(i)
    end do
    close (20)
  end subroutine write_expectations

  subroutine check(what, is_right)
    character(len=*), intent(in) :: what
    logical, intent(in) :: is_right
    if (.not. is_right) then
      write (0, '(a, a)') 'wrong: ', what
      call exit(3)
    end if
  end subroutine check

end module expectations

module callbacks
  implicit none
  integer :: n_copied = 0

contains

  ! A user's operation that calls MPI itself: inside MPI_Allreduce, so not counted.
#if defined(FORM_F08)
  subroutine add(in, inout, n, datatype)
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: datatype
    integer :: bytes
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    call MPI_Type_size(datatype, bytes)
    b = a + b
  end subroutine add
#else
  subroutine add(a, b, n, datatype)
    integer :: n, datatype, a(n), b(n)
    integer :: bytes, error
    external :: MPI_Type_size
    call MPI_Type_size(datatype, bytes, error)
    b = a + b
  end subroutine add
#endif

  ! Copies an attribute; called by MPI_Comm_dup.
  subroutine copy_attribute(comm, keyval, extra, value_in, value_out, flag, error)
    USE_MPI
    INCLUDE_MPI
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    integer :: size
    call MPI_Comm_size(comm, size, error)
    n_copied = n_copied + 1
    value_out = value_in + 1
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copy_attribute

end module callbacks

subroutine special_addresses(rank, size)
  use expectations
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank, size
  integer :: error, right, left, outcount, indices(2)
  integer :: values(8), many(8 * size)
  HANDLE(MPI_Request) :: requests(2)
  STATUS_OF(status)

  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  values = rank
  many = rank
  call expect('MPI_Allreduce', 16, 16)
  call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call check('MPI_IN_PLACE', values(1) == size * (size - 1) / 2)
  if (rank == 0) then
    call expect('MPI_Gather', 0, 12 * size)
    call MPI_Gather(MPI_IN_PLACE, 3, MPI_INTEGER, many, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  else
    call expect('MPI_Gather', 12, 0)
    call MPI_Gather(values, 3, MPI_INTEGER, many, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  end if
  call expect('MPI_Alltoall', 8 * size, 8 * size)
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, many, 2, MPI_INTEGER, MPI_COMM_WORLD, error)

  call expect('MPI_Irecv', 0, 32)
  call MPI_Irecv(values, 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), error)
  call expect('MPI_Isend', 20, 0)
  call MPI_Isend(many, 5, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), error)
  call expect('MPI_Waitall')
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call expect('MPI_Sendrecv', 12, 12) ! 3 come where there is room for 8
  call MPI_Sendrecv(many, 3, MPI_INTEGER, right, 2, values, 8, MPI_INTEGER, left, 2, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, error)
  call expect('MPI_Sendrecv', 12, 12)
  call MPI_Sendrecv(many, 3, MPI_INTEGER, right, 2, values, 8, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status, error)
  call expect('MPI_Sendrecv_replace', 8, 8)
  call MPI_Sendrecv_replace(values, 2, MPI_INTEGER, right, 3, left, 3, MPI_COMM_WORLD, status, error)

  call expect('MPI_Irecv', 0, 8)
  call MPI_Irecv(values, 2, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1), error)
  call expect('MPI_Send', 8, 0)
  call MPI_Send(many, 2, MPI_INTEGER, right, 4, MPI_COMM_WORLD, error)
  requests(2) = MPI_REQUEST_NULL
  call expect('MPI_Waitsome')
  call MPI_Waitsome(2, requests, outcount, indices, MPI_STATUSES_IGNORE, error)
  call check('MPI_Waitsome', outcount == 1) ! in mpi_f08 MPICH 4.0.2 gives indices from 0
end subroutine special_addresses

subroutine strings(path)
  use expectations
  USE_MPI
  implicit none
  INCLUDE_MPI
  character(len=*), intent(in) :: path
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=40) :: value
  logical :: flag
  integer :: error, length, n
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Comm) :: copy
  HANDLE(MPI_File) :: handle

  call expect('MPI_Error_string')
  call MPI_Error_string(MPI_ERR_TAG, text, length, error)
  call check('MPI_Error_string', length > 0 .and. index(text(:length), 'tag') > 0)
  call expect('MPI_Info_create')
  call MPI_Info_create(info, error)
  call expect('MPI_Info_set')
  call MPI_Info_set(info, 'key', 'some value  ', error)
  call expect('MPI_Info_get')
  call MPI_Info_get(info, 'key', 40, value, flag, error)
  call check('MPI_Info_get', flag .and. value == 'some value')
  call expect('MPI_Info_get_nkeys')
  call MPI_Info_get_nkeys(info, n, error)
  call check('MPI_Info_get_nkeys', n == 1)
  call expect('MPI_Comm_dup')
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  call expect('MPI_Comm_set_name')
  call MPI_Comm_set_name(copy, 'a copy', error)
  call expect('MPI_Comm_get_name')
  call MPI_Comm_get_name(copy, text(:MPI_MAX_OBJECT_NAME), length, error)
  call check('MPI_Comm_get_name', text(:length) == 'a copy')
  call expect('MPI_File_open')
  call MPI_File_open(copy, path // '   ', MPI_MODE_CREATE + MPI_MODE_RDWR, info, handle, error)
  call check('MPI_File_open', error == MPI_SUCCESS)
  call expect('MPI_File_close')
  call MPI_File_close(handle, error)
  call expect('MPI_Info_free')
  call MPI_Info_free(info, error)
  call expect('MPI_Comm_free')
  call MPI_Comm_free(copy, error)
end subroutine strings

! Where bindings ask for the number of processes or of dimensions first.
subroutine arrays(rank, size)
  use expectations
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank, size
  integer :: error, i, place, bytes(size), places(size), counts(size), numbers(size), shape(1)
  integer :: from(2 * size), to(2 * size)
  logical :: periods(1)
  HANDLE(MPI_Datatype) :: types(size)
  HANDLE(MPI_Comm) :: line

  counts = 2
  numbers = [(2 * i, i=0, size - 1)]
  bytes = 4 * numbers
  places = bytes
  do i = 1, size
    types(i) = MPI_INTEGER
  end do
  from = rank
  call expect('MPI_Alltoallw', 8 * size, 8 * size)
  call MPI_Alltoallw(from, counts, places, types, to, counts, places, types, MPI_COMM_WORLD, error)
  call check('MPI_Alltoallw', all(to(1:2 * size:2) == [(i, i=0, size - 1)]))
  call expect('MPI_Alltoallv', 8 * size, 8 * size)
  call MPI_Alltoallv(from, counts, numbers, MPI_INTEGER, to, counts, numbers, MPI_INTEGER, MPI_COMM_WORLD, error)
  call expect('MPI_Reduce_scatter', 8 * size, 8)
  call MPI_Reduce_scatter(from, to, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call expect('MPI_Gatherv', 8, merge(8 * size, 0, rank == 0))
  call MPI_Gatherv(from, 2, MPI_INTEGER, to, counts, numbers, MPI_INTEGER, 0, MPI_COMM_WORLD, error)

  shape = size
  periods = .true.
  call expect('MPI_Cart_create')
  call MPI_Cart_create(MPI_COMM_WORLD, 1, shape, periods, .false., line, error)
  call expect('MPI_Cart_rank')
  call MPI_Cart_rank(line, [rank], place, error)
  call check('MPI_Cart_rank', place == rank)
  call expect('MPI_Comm_free')
  call MPI_Comm_free(line, error)
end subroutine arrays

! Attributes: several bindings answer these without a C function.
subroutine callbacks_and_attributes()
  use expectations
  use callbacks
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: error, keyval, a(3), b(3), size
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  logical :: flag
  HANDLE(MPI_Op) :: sum
  HANDLE(MPI_Comm) :: copy

  call expect('MPI_Comm_size')
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call expect('MPI_Op_create')
  call MPI_Op_create(add, .true., sum, error)
  a = 1
  call expect('MPI_Allreduce', 12, 12)
  call MPI_Allreduce(a, b, 3, MPI_INTEGER, sum, MPI_COMM_WORLD, error)
  call check('user operation', all(b == size))
  call expect('MPI_Op_free')
  call MPI_Op_free(sum, error)

  extra = 0
  value = 41
  call expect('MPI_Comm_create_keyval')
  call MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, keyval, extra, error)
  call expect('MPI_Comm_set_attr')
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, error)
  call expect('MPI_Comm_dup')
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  call expect('MPI_Comm_get_attr')
  call MPI_Comm_get_attr(copy, keyval, value, flag, error)
  call check('copied attribute', flag .and. value == 42 .and. n_copied == 1)
  call expect('MPI_Comm_get_attr')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
  call check('MPI_TAG_UB', flag .and. value >= 32767)
  call from_c() ! right after a call that no C function was called for
  call expect('MPI_Comm_delete_attr')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, error)
  call expect('MPI_Comm_free')
  call MPI_Comm_free(copy, error)
  call expect('MPI_Comm_free_keyval')
  call MPI_Comm_free_keyval(keyval, error)

contains

  subroutine from_c()
    interface
      subroutine call_from_c() bind(c)
      end subroutine call_from_c
    end interface
    call expect('MPI_Comm_rank')
    call expect('MPI_Comm_get_attr')
    call call_from_c()
  end subroutine from_c

end subroutine callbacks_and_attributes

! Errors that come back, datatypes, packing; the clock is not counted.
subroutine the_rest(size)
  use expectations
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: size
  integer :: error, bytes, place, a(4)
  integer(kind=MPI_ADDRESS_KIND) :: where
  double precision :: time
  character(len=64) :: packed
  HANDLE(MPI_Datatype) :: pair

  call expect('MPI_Comm_set_errhandler')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call expect('MPI_Send', 0, 0)
  call MPI_Send(a, 4, MPI_INTEGER, size + 7, 0, MPI_COMM_WORLD, error)
  call check('an error that comes back', error /= MPI_SUCCESS)
  time = MPI_Wtime()
  call check('MPI_Wtime', MPI_Wtime() >= time)
  call expect('MPI_Type_vector')
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair, error)
  call expect('MPI_Type_commit')
  call MPI_Type_commit(pair, error)
  call expect('MPI_Type_size')
  call MPI_Type_size(pair, bytes, error)
  call check('MPI_Type_size', bytes == 8)
  place = 0
  a = 5
  call expect('MPI_Pack')
  call MPI_Pack(a, 1, pair, packed, 64, place, MPI_COMM_WORLD, error)
  call check('MPI_Pack', place > 0)
  call expect('MPI_Get_address')
  call MPI_Get_address(a, where, error)
  call check('MPI_Get_address', where /= 0)
  call expect('MPI_Type_free')
  call MPI_Type_free(pair, error)
end subroutine the_rest

#if defined(FORM_F08)
! Every second element, which a descriptor says or the compiler copies; each of them counts, no datatype of the binding.
subroutine sections(rank, size)
  use expectations
  use mpi_f08
  implicit none
  integer, intent(in) :: rank, size
  integer :: values(20), others(20)
  type(MPI_Request) :: request

  values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
  others = 0
  call expect('MPI_Sendrecv', 40, 40)
  call MPI_Sendrecv(values(1:20:2), 10, MPI_INTEGER, mod(rank + 1, size), 5, &
                    others(2:20:2), 10, MPI_INTEGER, mod(rank + size - 1, size), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check('sections', all(others(2:20:2) == values(1:20:2)) .and. all(others(1:20:2) == 0))
#if defined(SECTIONS)
  call expect('MPI_Irecv', 0, 40)
  call MPI_Irecv(others(1:20:2), 10, MPI_INTEGER, mod(rank + size - 1, size), 6, MPI_COMM_WORLD, request)
  call expect('MPI_Send', 40, 0)
  call MPI_Send(values(2:20:2), 10, MPI_INTEGER, mod(rank + 1, size), 6, MPI_COMM_WORLD)
  call expect('MPI_Wait')
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call check('sections that are received later', all(others(1:20:2) == values(2:20:2)))
#endif
#if defined(LARGE_COUNTS)
  call expect('MPI_Allreduce', 80, 80)
  call MPI_Allreduce(values, others, 20_MPI_COUNT_KIND, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call expect('MPI_Bcast', merge(40, 0, rank == 0), merge(0, 40, rank == 0))
  call MPI_Bcast(values(1:20:2), 10_MPI_COUNT_KIND, MPI_INTEGER, 0, MPI_COMM_WORLD)
#endif
end subroutine sections
#endif

program mpi_fortran
  use expectations
  USE_MPI
  implicit none
  INCLUDE_MPI
  character(len=500) :: prefix, path
  integer :: rank, size, error, provided

  call get_command_argument(1, prefix)
  call get_command_argument(2, path)
  call expect('MPI_Init_thread')
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, error)
  call expect('MPI_Comm_rank')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call expect('MPI_Comm_size')
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call special_addresses(rank, size)
  call strings(trim(path))
  call arrays(rank, size)
  call callbacks_and_attributes()
  call the_rest(size)
#if defined(FORM_F08)
  call sections(rank, size)
#endif
  call expect('MPI_Finalize')
  call MPI_Finalize(error)
  call write_expectations(trim(prefix), rank)
end program mpi_fortran
