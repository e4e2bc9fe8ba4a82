! Formatted, direct and stream files, a namelist; ends with STOP 3.
program units
  implicit none
  integer :: i, total, value, status
  real(8) :: block(100)
  character(len=20) :: word
  namelist /settings/ total, word
  open(10, file='formatted.txt', form='formatted', status='replace')
  do i = 1, 1000
    write(10, '(i8, f12.4)') i, i * 0.5
  end do
  rewind(10)
  total = 0
  do i = 1, 1000
    read(10, '(i8)') value
    total = total + value
  end do
  close(10)
  open(11, file='direct.dat', form='unformatted', access='direct', recl=800, status='replace')
  do i = 1, 50
    block = i
    write(11, rec=51 - i) block
  end do
  read(11, rec=1) block
  close(11)
  word = 'crosswind'
  open(12, file='settings.nml')
  write(12, nml=settings)
  close(12)
  open(13, file='missing/file', status='old', iostat=status)
  print *, total, int(block(1)), status /= 0
  stop 3
end program units
