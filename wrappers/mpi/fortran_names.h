/* From the name that a Fortran call has in the program to the row of the table. */
#ifndef XW_MPI_FORTRAN_NAMES_H
#define XW_MPI_FORTRAN_NAMES_H

#include "os.h"

enum { XW_FORTRAN_MAX_SYMBOL = 48 };

/*
 * What compilers and bindings make of MPI_SEND: mpi_send, mpi_send_, mpi_send__, MPI_SEND; in the module mpi_f08
 * mpi_send_f08_, with descriptors mpi_send_f08ts_, for large counts mpi_send_f08ts_large_ or mpi_send_c_f08ts_. With a
 * P in front PMPI_SEND, in MPICH's mpi_f08 pmpir_send_f08_. -1: none of these, among them all C names.
 */
int xw_fortran_row(const char *symbol) XW_HIDDEN;

#endif
