# Fortran programs of the tests, each in the three forms, as NAME_mpifh.openmpi, NAME_usempi.openmpi, NAME_f08.openmpi and
# the same for MPICH. Included by the folder of the sources.
set(FORTRAN_FORMS mpifh usempi f08)
set(FORTRAN_DEFINE_mpifh FORM_MPIF)
set(FORTRAN_DEFINE_usempi FORM_MPI)
set(FORTRAN_DEFINE_f08 FORM_F08)

function(crosswind_fortran_program name mpi) # crosswind_fortran_program(NAME MPI SOURCE... [-- FLAG...])
  find_program(MPIF90_${mpi} mpif90.${mpi})
  find_program(MPICC_${mpi} mpicc.${mpi})
  if(NOT MPIF90_${mpi} OR NOT MPICC_${mpi})
    message(STATUS "no mpif90.${mpi} and mpicc.${mpi}: the Fortran tests of ${name} will be skipped")
    return()
  endif()
  set(sources ${ARGN})
  set(flags "")
  list(FIND ARGN -- split)
  if(NOT split EQUAL -1)
    list(SUBLIST ARGN 0 ${split} sources)
    math(EXPR split "${split} + 1")
    list(SUBLIST ARGN ${split} -1 flags)
  endif()
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(c_sources ${sources})
  set(f_sources ${sources})
  list(FILTER c_sources INCLUDE REGEX "\\.c$")
  list(FILTER f_sources EXCLUDE REGEX "\\.c$")
  foreach(form ${FORTRAN_FORMS})
    set(output ${TEST_PROGRAMS}/${name}_${form}.${mpi})
    set(objects ${CMAKE_CURRENT_BINARY_DIR}/${name}_${form}.${mpi}.objects)
    set(c_object "")
    set(compile_c "")
    if(c_sources)
      set(c_object ${objects}/c.o)
      set(compile_c COMMAND ${MPICC_${mpi}} -O1 -g -Wall -Wextra -c -o ${c_object} ${c_sources})
    endif()
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${objects}
      ${compile_c}
      COMMAND ${MPIF90_${mpi}} -O1 -g -w -fallow-argument-mismatch -D${FORTRAN_DEFINE_${form}} ${flags} -J ${objects}
              -o ${output} ${f_sources} ${c_object}
      DEPENDS ${sources} ${CMAKE_CURRENT_SOURCE_DIR}/fortran_forms.h90)
    add_custom_target(${name}_${form}.${mpi} ALL DEPENDS ${output})
  endforeach()
endfunction()

crosswind_fortran_program(mpi_fortran openmpi mpi_fortran.F90 mpi_fortran_c.c)
crosswind_fortran_program(mpi_fortran mpich mpi_fortran.F90 mpi_fortran_c.c -- -DSECTIONS -DLARGE_COUNTS)
foreach(mpi openmpi mpich)
  crosswind_fortran_program(mpi_fortran_sites ${mpi} mpi_fortran_sites.F90)
  crosswind_fortran_program(mpi_fortran_tool_linked ${mpi} mpi_fortran_sites.F90 mpi_fortran_tool.c)
endforeach()
crosswind_mpi_program(mpi_fortran_tool_preload mpi_fortran_tool.c -- -shared -fPIC)
