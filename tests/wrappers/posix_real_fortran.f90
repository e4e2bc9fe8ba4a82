! What Fortran programs do with files: formatted, list-directed, unformatted, stream and direct access.
program posix_real_fortran
  implicit none
  integer :: i, status
  real(8) :: number, block(10000)

  open (10, file='numbers')
  open (11, file='formatted')
  do
    read (10, *, iostat=status) i, number
    if (status /= 0) exit
    write (11, '(i8,f16.8)') i, number
  end do
  close (10)
  close (11)
  block = 1.5d0
  open (12, file='sequential', form='unformatted')
  write (12) block
  write (12) block(1:100)
  rewind (12)
  read (12) block
  close (12)
  open (13, file='stream', form='unformatted', access='stream')
  write (13) block
  read (13, pos=81) block(1:10)
  close (13)
  open (14, file='direct', form='unformatted', access='direct', recl=800)
  do i = 1, 50
    write (14, rec=i) block(1:100)
  end do
  read (14, rec=7) block(1:100)
  close (14)
  print *, number
end program
